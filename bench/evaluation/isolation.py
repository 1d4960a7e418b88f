"""The sandbox of a policy that is run on many instances, one after another."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from ratiobench.bench.family.contract import Family
from ratiobench.instances.io.errors import InputError
from ratiobench.online.policy_file import Policy
from ratiobench.online.referee import sandbox
from ratiobench.online.referee.process import preloadable, session
from ratiobench.online.remarks import BUBBLEWRAP, LANDLOCK, NO_ISOLATION
from ratiobench.online.run_context import Isolate


def share_sandboxes(stack: contextlib.ExitStack, families: Iterable[Family], isolate: Isolate) -> None:
    """Let the runs of a class or object that was handed over share sandboxes, where bubblewrap isolates them."""
    protocols = dict.fromkeys(each.environment.registry.protocol for each in families if each.environment is not None)
    inside = [each for each in protocols if sandbox.choose_for(each, isolate) == BUBBLEWRAP]
    if not inside:
        return
    # Where none starts each run has its own, with its own error.
    with contextlib.ExitStack() as opened, contextlib.suppress(InputError):
        shared = opened.enter_context(session())
        for each in inside:
            shared.prepare(each)
        stack.push(opened.pop_all())


def isolate_runs(
    stack: contextlib.ExitStack, family: Family, policy: Policy, isolate: Isolate, *, several: bool = False
) -> str:
    """Choose how a policy is isolated, and open the sandboxes that its runs share, if it is a file."""
    assert family.environment is not None
    protocol = family.environment.registry.protocol
    method = sandbox.choose_for(protocol, isolate)
    if method != BUBBLEWRAP or policy.algorithm is None:
        return method
    try:
        # The sandboxes of the policies that may follow are started ahead.
        opened = stack.enter_context(session(preloadable(policy.imports), spare=protocol * several))
        opened.prepare(protocol)
    except InputError:
        if sandbox.has_landlock() and isolate != BUBBLEWRAP:
            return LANDLOCK
        if isolate:
            raise
        return NO_ISOLATION
    return method
