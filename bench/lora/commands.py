"""The command that family `lora` alone has: `limit`, an algorithm on instances on which none can do well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ratiobench.bench import arguments as arg
from ratiobench.bench.arguments import Outcome, Steps, command
from ratiobench.bench.family.suite import REPEATS
from ratiobench.instances.io.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@command("running")
def limit(
    name: Annotated[str, arg.Option(arg.Anything("text"), "NAME")],
    algorithm: arg.Algorithms = (),
    *,
    repeat: Annotated[int, arg.Option(arg.Integer(1, REPEATS), "N")] = 1,
    limit: arg.Seconds = None,
    isolate: arg.Isolate = None,
    csv: arg.Output = None,
) -> Steps[pd.DataFrame]:
    """Run an algorithm on hard instances, beside the lower bound for every algorithm.

    Parameters
    ----------
    name : family of instances or recipe, as `list recipes` names them: rising, limit:rising:theta=20,K=1.
    algorithm : name[:key=value,...], as `list algorithms` names them, or package.module:Class; several are compared in
        a table; without any only the limits are printed. In Python also a class, an object of one, or a list of these.
    repeat : runs of a randomised algorithm, and orders of a random family with too many orders; ALG is the mean.
    limit : time limit of a run in seconds; a run that reaches it is not valid.
    csv : write one row per algorithm and prefix, with exact figures.

    Returns
    -------
    A row per algorithm and prefix: columns as `LIMIT_TYPES` (`opt` and `alg` in the unit of the family, `ratio`
    infinite if ALG is 0, `bound` the limit of every algorithm), and ``alg_exact``, ``ratio_exact`` (None: unbounded),
    ``bound_exact``. An algorithm without figures has one row, with its `state` and `reason`. ``attrs`` has ``recipe``,
    ``note``, ``theorem`` and ``bound`` (exact).

    Raises
    ------
    InputError : a family, key, algorithm or number that cannot be used.

    Examples
    --------
    >>> import ratiobench
    >>> table = ratiobench.limit("rising:theta=4,K=1", "greedy")
    >>> max(table["ratio_exact"])
    Fraction(4, 1)
    """
    from ratiobench.bench.family.registry import require_algorithms
    from ratiobench.bench.lora import FAMILY
    from ratiobench.bench.lora.theory import limits
    from ratiobench.bench.show import write_csv
    from ratiobench.online.referee import sandbox
    from ratiobench.online.run_context import RunContext, run_context
    from ratiobench.online.user_algorithm import name_algorithms

    names, own = name_algorithms(algorithm, FAMILY.secret_types())
    names = tuple(dict.fromkeys(names))
    if csv is not None and not names:
        raise InputError("--csv", "", "it has a row per algorithm and prefix, and no algorithm is named")
    sandbox.choose(isolate)
    case = limits.make_case(name, repeat)
    context = RunContext(limit, sandbox.requested(isolate), own)
    with run_context(context):
        require_algorithms(FAMILY, names)
    runs = [limits.run_prefixes(case, each, repeat, context) for each in names]
    yield Outcome(
        lambda: limits.make_table(case, runs),
        lambda: limits.make_document(case, runs),
        lambda: int(any(each.state == "failed" for each in runs)),
    )
    yield from limits.print_lines(case, runs)
    write_csv(csv, limits.list_rows(case, runs))


COMMANDS = {"limit": limit}
