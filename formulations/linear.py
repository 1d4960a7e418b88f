"""Mixed-integer linear models as arrays, and their MPS and LP texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_EXACT = 2.0**53


@dataclass(frozen=True, slots=True, eq=False)
class LinearModel:
    """Maximise objective @ x over row_lower <= A x <= row_upper, lower <= x <= upper, x integer where marked."""

    name: str  # a word without spaces
    objective: FloatArray  # objective, lower, upper: (n,) each
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray  # (n,) which columns are integer
    row_start: IntArray  # (m+1,) row j holds the entries row_start[j] .. row_start[j+1]-1 of the next two (CSR)
    index: IntArray  # index, value: (nnz,) columns and coefficients
    value: FloatArray
    row_lower: FloatArray  # row_lower, row_upper: (m,) with -inf and inf
    row_upper: FloatArray
    columns: tuple[str, ...]  # columns, rows: names: letters, digits and underscores, beginning with a letter
    rows: tuple[str, ...]

    def __post_init__(self) -> None:
        n, m = len(self.columns), len(self.rows)
        if any(len(array) != n for array in (self.objective, self.lower, self.upper, self.integer)):
            raise ValueError(f"{self.name}: column arrays are not all of length {n}")
        if len(self.row_start) != m + 1 or len(self.row_lower) != m or len(self.row_upper) != m:
            raise ValueError(f"{self.name}: row arrays do not fit {m} rows")
        if not (len(self.index) == len(self.value) == self.row_start[-1]):
            raise ValueError(f"{self.name}: {len(self.index)} indices, {len(self.value)} values, {self.row_start[-1]}")
        if len(self.index) and not (self.index.min() >= 0 and self.index.max() < n):
            raise ValueError(f"{self.name}: an index is not in 0..{n - 1}")
        if not (np.isfinite(self.objective).all() and np.isfinite(self.value).all()):
            raise ValueError(f"{self.name}: a coefficient is not finite")
        one_sided = np.isfinite(self.row_lower) != np.isfinite(self.row_upper)
        if not (one_sided | (self.row_lower == self.row_upper)).all():
            raise ValueError(f"{self.name}: a row is neither a one-sided inequality nor an equation")

    def row(self, j: int) -> tuple[IntArray, FloatArray]:
        """Columns and coefficients of a row."""
        span = slice(self.row_start[j], self.row_start[j + 1])
        return self.index[span], self.value[span]

    def relation(self, j: int) -> tuple[str, float]:
        """``=``, ``<=`` or ``>=``, and the side of a row."""
        low, high = float(self.row_lower[j]), float(self.row_upper[j])
        return ("=", low) if low == high else ("<=", high) if np.isfinite(high) else (">=", low)

    def largest_in_rows(self) -> float:
        arrays = (self.value, self.row_lower, self.row_upper)
        return max(float(np.abs(array[np.isfinite(array)]).max(initial=0.0)) for array in arrays)

    def reduced(self) -> tuple[LinearModel, int]:
        """An equivalent model, every row and the objective divided by the greatest common divisor of its integers."""
        # Right-hand sides are rounded inwards, which integer columns allow. Smaller numbers leave a solver's absolute
        # tolerances more digits.
        numbers = np.concatenate([self.objective, self.value])
        if not (self.integer.all() and (numbers == np.rint(numbers)).all() and (np.abs(numbers) <= _EXACT).all()):
            return self, 1
        step = max(1, int(np.gcd.reduce(self.objective.astype(np.int64), initial=0)))
        value, row_lower, row_upper = self.value.copy(), self.row_lower.copy(), self.row_upper.copy()
        for j, span in enumerate(map(slice, self.row_start[:-1], self.row_start[1:])):
            divisor = int(np.gcd.reduce(self.value[span].astype(np.int64), initial=0))
            equation = row_lower[j] == row_upper[j]
            if divisor <= 1 or (equation and row_lower[j] % divisor):
                continue
            value[span] = self.value[span] / divisor
            row_lower[j] = np.ceil(row_lower[j] / divisor)
            row_upper[j] = np.floor(row_upper[j] / divisor)
        small = replace(self, objective=self.objective / step, value=value, row_lower=row_lower, row_upper=row_upper)
        return small, step

    def violation(self, x: FloatArray) -> float:
        """The largest amount by which a vector breaks a row, a bound or integrality."""
        activity = np.zeros(len(self.rows))
        np.add.at(activity, np.repeat(np.arange(len(self.rows)), np.diff(self.row_start)), self.value * x[self.index])
        excess = [self.row_lower - activity, activity - self.row_upper, self.lower - x, x - self.upper]
        excess.append(np.where(self.integer, np.abs(x - np.rint(x)), 0.0))
        return max((float(part.max()) for part in excess if len(part)), default=0.0)

    def mps(self) -> str:
        """Write the model as free-format MPS: the *minimum* of the negated objective."""
        # Every reader understands a minimum. "Maximise" is an OBJSENSE section, which CBC skips without a message.
        return "\n".join(self._mps_lines()) + "\n"

    def _mps_lines(self) -> Iterator[str]:
        yield f"NAME {self.name}"
        yield "* maximisation written as minimisation: the optimum of the model is minus the optimum of this file"
        yield "ROWS"
        yield " N minus_objective"
        relations = [self.relation(j) for j in range(len(self.rows))]
        for name, (relation, _) in zip(self.rows, relations, strict=True):
            yield f" { {'=': 'E', '<=': 'L', '>=': 'G'}[relation] } {name}"
        yield "COLUMNS"
        row_of = np.repeat(np.arange(len(self.rows)), np.diff(self.row_start))
        order = np.argsort(self.index, kind="stable")
        at = np.searchsorted(self.index[order], np.arange(len(self.columns) + 1))
        marked = False
        for c, name in enumerate(self.columns):
            if bool(self.integer[c]) != marked:
                marked = not marked
                yield f"    MARKER{c} 'MARKER' '{'INTORG' if marked else 'INTEND'}'"
            # Also where it is 0, so that every column is declared, in order.
            yield f"    {name} minus_objective {_number(-self.objective[c])}"
            for e in order[at[c] : at[c + 1]]:
                yield f"    {name} {self.rows[row_of[e]]} {_number(self.value[e])}"
        if marked:
            yield "    MARKER 'MARKER' 'INTEND'"
        yield "RHS"
        for name, (_, side) in zip(self.rows, relations, strict=True):
            if side:
                yield f"    RHS {name} {_number(side)}"
        yield "BOUNDS"
        for c, name in enumerate(self.columns):
            yield from (f" {kind} BND {name}{value}" for kind, value in self._bounds(c))
        yield "ENDATA"

    def _bounds(self, c: int) -> Iterator[tuple[str, str]]:
        low, high = self.lower[c], self.upper[c]
        if self.integer[c] and low == 0 and high == 1:
            yield "BV", ""
        elif low == high:
            yield "FX", f" {_number(low)}"
        else:
            yield ("LO", f" {_number(low)}") if np.isfinite(low) else ("MI", "")
            yield ("UP", f" {_number(high)}") if np.isfinite(high) else ("PL", "")

    def lp(self) -> str:
        """Write the model in LP format (CPLEX's), as a maximisation."""
        return "\n".join(self._lp_lines()) + "\n"

    def _lp_lines(self) -> Iterator[str]:
        yield f"\\ {self.name}"
        yield "Maximize"
        yield f" objective:{_terms(self.objective, self.columns)}"
        yield "Subject To"
        for j, name in enumerate(self.rows):
            relation, side = self.relation(j)
            index, value = self.row(j)
            yield f" {name}:{_terms(value, [self.columns[c] for c in index])} {relation} {_number(side)}"
        yield "Bounds"
        for c, name in enumerate(self.columns):
            low = _number(self.lower[c]) if np.isfinite(self.lower[c]) else "-inf"
            high = _number(self.upper[c]) if np.isfinite(self.upper[c]) else "+inf"
            yield f" {low} <= {name} <= {high}"
        integers = [name for c, name in enumerate(self.columns) if self.integer[c]]
        if integers:
            yield "General"
            for first in range(0, len(integers), 8):
                yield " " + " ".join(integers[first : first + 8])
        yield "End"


def _terms(values: FloatArray, names: tuple[str, ...] | list[str]) -> str:
    """The linear expression, at most eight terms a line (readers limit the length of lines)."""
    terms = [f"{'-' if v < 0 else '+'} {_number(abs(v))} {name}" for v, name in zip(values, names, strict=True)]
    return "".join(("\n  " if k % 8 == 0 and k else " ") + term for k, term in enumerate(terms))


def _number(value: float) -> str:
    """The shortest text that reads back as the same double; integers without exponent."""
    value = float(value)
    return str(int(value)) if value == int(value) and abs(value) <= _EXACT else repr(value)


class RowBuilder:
    """Collects rows term by term or as whole blocks of a sparse matrix."""

    def __init__(self) -> None:
        # (rows, columns, values) and (lower, upper) sides of each block; the first one is empty.
        self._entries = [(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))]
        self._sides = [(np.zeros(0), np.zeros(0))]
        self.names: list[str] = []

    def block(
        self, names: list[str], row: IntArray, column: IntArray, value: FloatArray | IntArray, low: object, high: object
    ) -> None:
        """Add rows: (entries,) row of each entry, 0..m-1, its column and value; sides, a number or (m,) each."""
        self._entries.append((row + len(self.names), column, np.asarray(value, dtype=np.float64)))
        lower, upper = (np.broadcast_to(np.asarray(side, dtype=np.float64), (len(names),)) for side in (low, high))
        self._sides.append((lower, upper))
        self.names.extend(names)

    def row(self, name: str, column: Sequence[int] | IntArray, value: object, low: float, high: float) -> None:
        """Add one row, by its columns and coefficients."""
        index = np.asarray(column, dtype=np.int64)
        self.block([name], np.zeros_like(index), index, np.asarray(value, dtype=np.float64), low, high)

    def add(self, names: list[str], terms: Sequence[tuple[object, object, object]], low: object, high: object) -> None:
        """Add rows whose entries come in terms (row, column, value); a number is that of all entries of the term."""
        parts = zip(*(np.broadcast_arrays(*term) for term in terms), strict=True)  # type: ignore[arg-type]
        row, column, value = (np.concatenate(part) for part in parts)
        self.block(names, row, column, value, low, high)

    def model(
        self,
        name: str,
        objective: FloatArray,
        columns: Sequence[str],
        upper: FloatArray | float = np.inf,
        integer: BoolArray | bool = False,
    ) -> LinearModel:
        """Make a model of the rows, whose columns are 0 or more; `objective` is to be maximised."""
        size = len(columns)
        row, column, value = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        row_lower, row_upper = (np.concatenate(parts) for parts in zip(*self._sides, strict=True))
        order = np.lexsort((column, row))
        return LinearModel(
            name=name,
            objective=np.asarray(objective, dtype=np.float64),
            lower=np.zeros(size),
            upper=np.array(np.broadcast_to(upper, size), dtype=np.float64),
            integer=np.array(np.broadcast_to(integer, size), dtype=np.bool_),
            row_start=np.searchsorted(row[order], np.arange(len(self.names) + 1)),
            index=column[order],
            value=value[order],
            row_lower=row_lower,
            row_upper=row_upper,
            columns=tuple(columns),
            rows=tuple(self.names),
        )

    def binary_model(self, name: str, objective: FloatArray, columns: tuple[str, ...]) -> LinearModel:
        """Make a model of the rows, whose columns are all 0 or 1; `objective` is to be maximised."""
        return self.model(name, objective, columns, 1.0, True)
