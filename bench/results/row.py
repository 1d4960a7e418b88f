"""The row of an algorithm on a case, and the columns of results.csv."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, get_type_hints

from ratiobench.bench.storage.payload import Check
from ratiobench.online.outcome import Source
from ratiobench.online.remarks import Remarks

# Columns of results.csv by what they have: integers or fractions, floats, text, a word of a few
Exact = Annotated[Any, "exact"]
Double = Annotated[float | None, "float64"]
Text = Annotated[Any, "string"]
Word = Annotated[Any, "category"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An algorithm on a case; figures that are not known are None.

    Fields up to `counts` are the first columns of results.csv. Behind them stands a column per measure of the family,
    exact. Each check adds NAME (its verdict), NAME_left, NAME_right, NAME_reason and NAME_figures; one that separates a
    claim from the assumptions of its proof adds NAME_failing, names of those that fail on the run as a JSON list: []
    where they hold, empty where it does not say. Last come accounts and what is known of means of runs.
    """

    case: Text  # name of the case in the suite
    group: Text  # cases that are comparable
    instance: Text = ""  # SHA-256 of the instance's content
    algorithm: Text  # name with options, as asked for
    label: Text = ""  # name with its remarks
    algorithm_key: Text = None  # canonical name, options and code version
    state: Word = "missing"  # ok, invalid (the algorithm broke a rule), failed (see reason) or missing (not run yet)
    reason: Text = ""  # why it failed or is invalid
    opt_status: Word = "failed"  # optimal, interval or failed
    opt_lower: Exact = None  # OPT is no less: the best verified solution (a valid run's, too); of costs, a proved bound
    opt_lower_source: Text = ""  # of the verified end: solve, or the algorithm whose run beat the solver's solution
    opt_upper: Exact = None  # OPT is no more: a proved bound; of costs, the value of a verified solution
    opt_proof: Word = None  # where the bound comes from
    opt_formulation: Text = None  # formulation that was solved
    opt_backend: Text = None  # solver
    opt_solver: Text = None  # version of the solver, of runs that stored it
    opt_gap: Double = None  # (upper - lower) / |upper|
    opt_time_limited: Annotated[bool | None, "boolean"] = None  # a limit in seconds may have decided the interval
    welfare: Exact = None  # value of the algorithm's solution in the family's unit: welfare by bids (eq. 3), ...
    true_welfare: Exact = None  # the same by valuations
    revenue: Exact = None  # sum of payments; None without a payment rule
    admitted: Annotated[Any, "Int64"] = None  # admitted tasks; of means of runs a fraction
    ratio_kind: Word = None  # interval, open (at least ratio_lower), unbounded or undefined; estimate, of means of runs
    ratio_lower: Exact = None  # lower/ALG; where the least is best, ALG/upper
    ratio_upper: Exact = None  # upper/ALG; where the least is best, ALG/lower
    ratio_lower_float: Double = None
    ratio_upper_float: Double = None
    reached: Exact = None  # ALG/upper: at least this part of OPT; where the least is best, lower/ALG
    reached_float: Double = None
    behind_lower: Exact = None  # opt_lower - welfare; where the least is best, welfare - opt_upper
    behind_upper: Exact = None  # opt_upper - welfare; where the least is best, welfare - opt_lower
    constants: Text = None  # declared constants as JSON: name, value, source, detail
    constants_source: Word = None  # oracle (the instance under test), prior, history (the days before), given, or none
    arithmetic: Word = None  # exact, float or integer
    counts: Text = None  # things counted on the way, as JSON
    # Accounts, if the family gives any: what the vendors of the admitted tasks and their operation cost, the sum of
    # their bids, and revenue (without a payment rule: bids, the list prices) - vendors - energy
    vendors: Exact = None
    energy: Exact = None
    bids: Exact = None
    profit: Exact = None
    # Of means of runs: their number, the 95 % interval of E[ALG] (Student's t), and where the ratio of OPT and E[ALG]
    # lies if E[ALG] is in it; None where there is no upper end
    repetitions: Annotated[int | None, "Int64"] = None
    welfare_low: Double = None
    welfare_high: Double = None
    expected_ratio_low: Double = None
    expected_ratio_high: Double = None

    remarks: Remarks  # the facts beside the algorithm's name, which `label` has in words
    called: str = ""  # what a report calls the algorithm (`report --label`); empty for its name
    measures: Mapping[str, Fraction | None] = field(default_factory=dict)  # the family's measures, by name
    checks: Mapping[str, Check] = field(default_factory=dict)  # the checks, by name

    @property
    def name(self) -> str:
        return self.called or self.algorithm

    @property
    def is_oracle(self) -> bool:
        return Source.ORACLE in (self.constants_source or "").split("+")

    @property
    def is_mean(self) -> bool:
        return self.repetitions is not None and self.repetitions > 1

    def verdict(self, check: str) -> str | None:
        return self.checks[check].status.value if check in self.checks else None

    def failing(self, check: str) -> Sequence[str] | None:
        """The assumptions of a claim's proof that fail on the run; None if its check does not say."""
        return self.checks[check].failing if check in self.checks else None

    def cells(self) -> dict[str, Any]:
        cells = {name: getattr(self, name) for name in KINDS} | dict(self.measures)
        for name, check in self.checks.items():
            cells |= {name: check.status.value, f"{name}_left": check.left, f"{name}_right": check.right}
            cells |= {f"{name}_reason": check.reason, f"{name}_figures": json.dumps(check.figures)}
            if check.failing is not None:
                cells[f"{name}_failing"] = json.dumps(check.failing)
        return cells


# The kind of each column: a type of pandas, or ``exact``
_hints = get_type_hints(Row, include_extras=True).items()
KINDS: Mapping[str, str] = {name: hint.__metadata__[0] for name, hint in _hints if hasattr(hint, "__metadata__")}
ACCOUNTS = ("vendors", "energy", "bids", "profit")
REPEATED = ("repetitions", "welfare_low", "welfare_high", "expected_ratio_low", "expected_ratio_high")
COLUMNS = tuple(name for name in KINDS if name not in (*ACCOUNTS, *REPEATED))  # The first of results.csv
