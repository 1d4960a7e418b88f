"""All commands, in the order of the help."""

from __future__ import annotations

from ratiobench.bench.commands.audit import AUDIT
from ratiobench.bench.commands.bridge import as_command
from ratiobench.bench.commands.check import CHECK
from ratiobench.bench.commands.check_algorithm import CHECK_ALGORITHM
from ratiobench.bench.commands.command import Command, Group
from ratiobench.bench.commands.compare import COMPARE
from ratiobench.bench.commands.crosscheck import CROSSCHECK
from ratiobench.bench.commands.evaluate import EVALUATE
from ratiobench.bench.commands.explain import EXPLAIN
from ratiobench.bench.commands.export import EXPORT
from ratiobench.bench.commands.generate import GENERATE
from ratiobench.bench.commands.limit import LIMIT
from ratiobench.bench.commands.listing import LIST
from ratiobench.bench.commands.opt import OPT
from ratiobench.bench.commands.run import REPORT, RUN
from ratiobench.bench.commands.search import SEARCH
from ratiobench.bench.commands.simulate import SIMULATE
from ratiobench.bench.commands.standard import STANDARD
from ratiobench.bench.commands.warm import WARM
from ratiobench.bench.family.registry import families

_ALL: tuple[Command | Group, ...] = (
    LIST,
    GENERATE,
    OPT,
    CROSSCHECK,
    SIMULATE,
    EVALUATE,
    CHECK_ALGORITHM,
    AUDIT,
    EXPLAIN,
    SEARCH,
    LIMIT,
    CHECK,
    EXPORT,
    RUN,
    STANDARD,
    REPORT,
    COMPARE,
    WARM,
    *(as_command(function) for family in families().values() for function in family.commands),
)
COMMANDS = {each.name: each for each in _ALL}
