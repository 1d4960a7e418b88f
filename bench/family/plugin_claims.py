"""Claims that other installed packages add to a family (`ratiobench.instances.io.plugins`)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.plugins import CLAIMS, plugins_of

if TYPE_CHECKING:
    from ratiobench.bench.family.capabilities import Statement
    from ratiobench.bench.family.checks import Check
    from ratiobench.formulations.report import SolveReport
    from ratiobench.online.outcome import OnlineRun


class PluginCase(NamedTuple):
    """What the check of such a claim gets: a run on an instance, with the interval on OPT."""

    instance: Any
    run: OnlineRun
    reference: SolveReport


class PluginClaim(Protocol):
    """A claim, as `ratiobench.bench.theory.claim.Claim` is one."""

    @property
    def name(self) -> str:
        """Of its check."""
        ...

    def is_shown(self, run: OnlineRun) -> bool:
        """Whether a whole audit of the run shows it."""
        ...

    def check_run(self, case: Any) -> Check:
        """Check it on one run."""
        ...

    def state(self) -> Statement:
        """The claim in words."""
        ...


@cache
def plugin_claims(family: str) -> Sequence[PluginClaim]:
    """The claims of plug-ins about runs of a family."""
    found: list[PluginClaim] = []
    for name, plugin in plugins_of(CLAIMS, family).items():
        claim = plugin.load()
        if getattr(claim, "name", None) != name or not hasattr(claim, "check_run"):
            raise InputError(plugin.package, plugin.name, f"{plugin.value} is no claim of the name {name!r}")
        found.append(claim)
    return tuple(found)


def check_plugin_claims(
    claims: Sequence[PluginClaim], instance: Any, run: OnlineRun, reference: SolveReport, names: Collection[str]
) -> list[Check]:
    """Check claims on one run; `names` alone where it has any, else all that the run shows."""
    case = PluginCase(instance, run, reference)
    return [each.check_run(case) for each in claims if (each.name in names if names else each.is_shown(run))]
