"""What the readers of objects of Kubernetes share: names, times, conditions, and the GPUs of a pod."""

from __future__ import annotations

import re
from typing import NamedTuple

from ratiobench.instances.io.errors import shorten
from ratiobench.instances.lora.logs.base import NO_GPU
from ratiobench.instances.lora.logs.entries import Entry

GPUS = ("nvidia.com/gpu", "amd.com/gpu")  # Resources that are whole GPUs
MOST_PODS = 10**6
# Labels of nodes that name the type of their GPUs
PRODUCTS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "cloud.google.com/gke-accelerator",
    "karpenter.k8s.aws/instance-gpu-name",
)
_OTHERS = re.compile(r"gpu|mig-|gaudi|tpu|neuron")  # Resources that are accelerators, but no whole GPUs


class Condition(NamedTuple):
    """A condition that holds: since when, and why."""

    since: int
    reason: str


def find_conditions(status: Entry) -> dict[str, Condition]:
    """The conditions that hold, by their type."""
    found = {}
    for each in status.objects("conditions"):
        if each.text("status") == "True":
            since = each.moment("lastTransitionTime")
            if since is None:
                raise each.fail("lastTransitionTime", "the field is missing")
            found[each.text("type")] = Condition(since, each.text("reason"))
    return found


def count_pod_gpus(spec: Entry) -> int:
    """GPUs of a pod by its specification: the sum over its containers of what they request, else of their limits."""
    count = 0
    for container in spec.objects("containers"):
        resources = container.object("resources")
        for key in ("requests", "limits"):
            amounts = resources.object(key)
            found = [name for name in GPUS if amounts.data.get(name) is not None]
            for name in found:
                value = amounts.data[name]
                if not re.fullmatch("[0-9]{1,7}", str(value)) or isinstance(value, bool):
                    raise amounts.fail(name, f"{shorten(value)} is not a whole number of GPUs")
                count += int(value)
            if found:
                break
    return count


def no_gpu_rule(spec: Entry) -> str:
    """By which rule a pod without whole GPUs is left out: it names another accelerator that the pod asks for."""
    asked = {
        name
        for container in spec.objects("containers")
        for key in ("requests", "limits")
        for name in container.object("resources").object(key).data
        if name not in GPUS and _OTHERS.search(str(name))
    }
    if asked:
        return f"{NO_GPU} (they ask for {shorten(min(asked))}, which is not read)"
    return f"{NO_GPU} (their resource claims are not read)" if spec.items("resourceClaims") else NO_GPU


def asked_type(spec: Entry) -> str:
    """The type of GPU that a pod asks for by its node selector; empty where it asks for none."""
    selector = spec.object("nodeSelector")
    return next((found for name in PRODUCTS if (found := selector.text(name))), "")


def name_object(entry: Entry) -> tuple[str, str]:
    """Namespace and name of an object."""
    metadata = entry.object("metadata")
    return metadata.text("namespace"), metadata.text("name")


def submission_time(entry: Entry) -> int:
    """When an object was created."""
    metadata = entry.object("metadata")
    created = metadata.moment("creationTimestamp")
    if created is None:
        raise metadata.fail("creationTimestamp", "the field is missing")
    return created
