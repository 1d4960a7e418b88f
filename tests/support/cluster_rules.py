"""Listed policies of family `cluster` by name."""

from ratiobench.instances.cluster.model import Instance
from ratiobench.online.cluster.registry import REGISTRY
from ratiobench.online.cluster.replay import Replay, Rule, replay


def make_rule(text: str) -> Rule:
    spec = REGISTRY.parse(text)
    assert spec.entry is not None
    rule: Rule = spec.entry.make(spec.options)
    return rule


def run_policy(instance: Instance, name: str) -> Replay:
    return replay(instance, make_rule(name))
