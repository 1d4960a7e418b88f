"""A primal simplex method for column generation: linear programs with few coupling rows, in our own kernel.

maximise c x, with at most one unit per group (a task), and rows a x <= b that may be exceeded at a cost. It starts from
the basis where the last call ended, so that columns and rows can be added and costs changed in between. Everything is
computed in doubles, in loops of a fixed order, so that the answer is the same on every machine. No proof rests on it:
its prices are rounded to integers and evaluated exactly elsewhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.kernels import compiled
from instances.lora.model import IntArray

Floats = NDArray[np.float64]

EXCESS = 2**40
"""Basic variables: a column j is j, the slack of row i is -1-i, its excess is -1-EXCESS-i."""
PIVOT = 1e-9


@compiled
def maximise(binv, basis, rhs, group, cost, start, row, value, slack, excess, most, level, dual):  # type: ignore[no-untyped-def]
    """Pivot until no column improves; the number of pivots, `most` where they were not enough.

    Parameters
    ----------
    binv : (m, m) inverse of the basis; basis : (m,) its variables; both are changed.
    rhs : (m,) right-hand sides; the first rows are those of the groups.
    group, cost : (columns,) row of the group of each column and its objective.
    start, row, value : (columns+1,), (entries,), (entries,) the other entries of each column.
    slack : (m,) objective of a unit of slack; excess : (m,) cost of a unit above a row, infinite where none is allowed.
    level, dual : (m,) out: values of the basic variables, prices of the rows.
    """
    m = len(rhs)
    largest = 1.0
    for j in range(len(cost)):
        largest = max(largest, abs(cost[j]))
    least = max(1e-6, 1e-10 * largest)
    column = np.empty(m)
    for i in range(m):
        total = 0.0
        for k in range(m):
            total += binv[i, k] * rhs[k]
        level[i] = total
        dual[i] = 0.0
    for i in range(m):
        b = basis[i]
        if b >= 0:
            c = cost[b]
        elif b >= -EXCESS:
            c = slack[-1 - b]
        else:
            c = -excess[-1 - EXCESS - b]
        if c != 0.0:
            for k in range(m):
                dual[k] += c * binv[i, k]
    for pivots in range(most):
        best = least
        enter = 0
        found = False
        for j in range(len(cost)):
            d = cost[j] - dual[group[j]]
            for a in range(start[j], start[j + 1]):
                d -= dual[row[a]] * value[a]
            if d > best:
                best, enter, found = d, j, True
        for i in range(m):
            d = slack[i] - dual[i]
            if d > best:
                best, enter, found = d, -1 - i, True
            d = dual[i] - excess[i]
            if d > best:
                best, enter, found = d, -1 - EXCESS - i, True
        if not found:
            return pivots
        if enter >= 0:
            k = group[enter]
            for i in range(m):
                column[i] = binv[i, k]
            for a in range(start[enter], start[enter + 1]):
                k = row[a]
                for i in range(m):
                    column[i] += binv[i, k] * value[a]
        else:
            sign = 1.0
            k = -1 - enter
            if enter < -EXCESS:
                sign = -1.0
                k = -1 - EXCESS - enter
            for i in range(m):
                column[i] = sign * binv[i, k]
        leave = -1
        ratio = np.inf
        for i in range(m):
            if column[i] > 1e-9:
                here = max(0.0, level[i]) / column[i]
                if here < ratio or (here == ratio and column[i] > column[leave]):
                    ratio, leave = here, i
        if leave < 0:
            return most
        pivot = 1.0 / column[leave]
        line = binv[leave]
        for k in range(m):
            line[k] *= pivot
            dual[k] += best * line[k]
        for i in range(m):
            if i != leave and column[i] != 0.0:
                times = column[i]
                other = binv[i]
                for k in range(m):
                    other[k] -= times * line[k]
                level[i] -= times * ratio
        level[leave] = ratio
        basis[leave] = enter
    return most


@compiled
def invert(matrix, inverse):  # type: ignore[no-untyped-def]
    """Whether the matrix, which is destroyed, has an inverse: Gauss-Jordan elimination with row pivots."""
    m = len(matrix)
    for i in range(m):
        for k in range(m):
            inverse[i, k] = 1.0 if i == k else 0.0
    for c in range(m):
        best = c
        for i in range(c + 1, m):
            if abs(matrix[i, c]) > abs(matrix[best, c]):
                best = i
        if abs(matrix[best, c]) < 1e-9:
            return False
        if best != c:
            for k in range(m):
                matrix[c, k], matrix[best, k] = matrix[best, k], matrix[c, k]
                inverse[c, k], inverse[best, k] = inverse[best, k], inverse[c, k]
        scale = 1.0 / matrix[c, c]
        for k in range(m):
            matrix[c, k] *= scale
            inverse[c, k] *= scale
        for i in range(m):
            times = matrix[i, c]
            if i != c and times != 0.0:
                for k in range(m):
                    matrix[i, k] -= times * matrix[c, k]
                    inverse[i, k] -= times * inverse[c, k]
    return True


class Program:
    """A linear program that grows by columns and rows, solved again from where it was.

    Parameters
    ----------
    groups : tasks; each may have one unit of its columns.
    """

    def __init__(self, groups: int) -> None:
        self.groups = groups
        self.binv = np.eye(groups)
        self.basis = -1 - np.arange(groups)
        # A little more for some than for others: fewer ties, which are pivots that gain nothing.
        self.rhs = 1.0 + 1e-7 * (np.arange(groups) * 7919 % 1009) / 1009
        self.slack = np.zeros(groups)
        self.excess = np.full(groups, np.inf)
        self.group: list[int] = []
        self.entries: list[dict[int, float]] = []
        self.level = np.empty(0)
        self.dual = np.empty(0)
        self.pivots = 0
        self._arrays: tuple[IntArray, IntArray, IntArray, Floats] | None = None

    def add_column(self, group: int, entries: dict[int, float]) -> int:
        """A column of a group with its entries by row; its number."""
        self._arrays = None
        self.group.append(group)
        self.entries.append(entries)
        return len(self.group) - 1

    def add_row(self, entries: dict[int, float], high: float, excess: float) -> int:
        """A row over the columns there are: sum <= high, at a cost for every unit above; its number."""
        self._arrays = None
        m = len(self.rhs)
        for j, value in entries.items():
            self.entries[j][m] = value
        high *= 1.0 + 1e-9 * (m * 7919 % 1009) / 1009
        of_basis = np.array([entries.get(int(b), 0.0) if b >= 0 else 0.0 for b in self.basis])
        used = np.flatnonzero(of_basis)
        line = np.zeros(m)
        for i in used.tolist():
            line += of_basis[i] * self.binv[i]
        over = float((line * self.rhs).sum()) > high
        binv = np.zeros((m + 1, m + 1))
        binv[:m, :m] = self.binv
        binv[m, :m] = line if over else -line
        binv[m, m] = -1.0 if over else 1.0
        self.binv = binv
        self.basis = np.append(self.basis, -1 - m - (EXCESS if over else 0))
        self.rhs, self.slack, self.excess = (
            np.append(old, new) for old, new in ((self.rhs, high), (self.slack, 0.0), (self.excess, excess))
        )
        return m

    def solve(self, cost: Floats, most: int) -> Floats:
        """(columns,) the optimum's values, with `dual` and `pivots` set.

        Parameters
        ----------
        cost : (columns,) objective.
        most : pivots at which to stop.
        """
        m = len(self.rhs)
        if self._arrays is None:
            start = np.zeros(len(self.group) + 1, np.int64)
            np.cumsum([len(each) for each in self.entries], out=start[1:])
            row = np.fromiter((i for each in self.entries for i in each), np.int64, int(start[-1]))
            value = np.fromiter((v for each in self.entries for v in each.values()), np.float64, int(start[-1]))
            self._arrays = np.array(self.group, dtype=np.int64), start, row, value
        group, start, row, value = self._arrays
        self.level, self.dual = np.empty(m), np.empty(m)
        left = most
        while left > 0:
            part = min(left, 200)
            done = int(
                maximise(
                    self.binv, self.basis, self.rhs, group, cost, start, row, value, self.slack, self.excess, part,
                    self.level, self.dual,
                )
            )  # fmt: skip
            left -= done
            self.pivots += done
            if done < part:
                break
            self._refresh()
        values = np.zeros(len(self.group))
        mine = self.basis >= 0
        values[self.basis[mine]] = self.level[mine]
        return values

    def _refresh(self) -> None:
        """Invert the basis anew, so that errors do not grow; from slacks alone where it has become singular."""
        m = len(self.rhs)
        matrix = np.zeros((m, m))
        for i, b in enumerate(self.basis.tolist()):
            if b >= 0:
                matrix[self.group[b], i] = 1.0
                for k, value in self.entries[b].items():
                    matrix[k, i] = value
            elif b >= -EXCESS:
                matrix[-1 - b, i] = 1.0
            else:
                matrix[-1 - EXCESS - b, i] = -1.0
        if not invert(matrix, self.binv):
            self.binv = np.eye(m)
            self.basis = -1 - np.arange(m)
