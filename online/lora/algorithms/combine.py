r"""`combine`: two algorithms, of which one may be trusted and the other one has a guarantee.

mode=coin. Before the day a coin with the probability `share` for b decides which of the two runs. For any a and b,
E[ALG] >= (1 - share) ALG_a and E[ALG] >= share ALG_b: a factor Gamma of b is Gamma / share of the combination, and what
a earns is lost with probability `share` only. Truthful where both are: a lottery over truthful mechanisms.

mode=split. b posts prices on the part `share` of the nodes of each type (at least one node), a on the rest, and a cell
costs the less of the two. Claim: where Lemma P holds of b with B and zeta, then for any a

    OPT <= max(1, n B) ALG + n zeta sum C X over b's nodes,   n = max over types of ceil(K / K_b).

Every node gets the final prices of one of b's nodes, each of which lends them to at most n nodes; a schedule that
is moved to these nodes was on offer from b at no less than the task's cost, or has a cell that costs all that the task
is worth. A cell that a sells moves no price of b. The documentation has the proof. With the coin `a` and `b` are any
registered algorithms that decide at arrival; in `mode=split` those that post prices.

`guarded` is a third kind of combination. For fractional packing Grigorescu, Lin and Song (arXiv 2406.03574) switch
between advice and any online algorithm, at a factor of 2 against either; whole tasks need a coin or a split.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy, deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ratiobench.instances.io.errors import InputError, shorten
from ratiobench.instances.io.seeds import Stream
from ratiobench.instances.lora.model import Instance, Public, Task
from ratiobench.instances.lora.solution import Decision
from ratiobench.online.lora.algorithms.greedy import Greedy
from ratiobench.online.lora.algorithms.guarded import MechanismPrices, NoPoster
from ratiobench.online.lora.inner import Inner, join_constants, learn_all, learns_nothing
from ratiobench.online.lora.mechanism import OPTIONS, ORACLE, Mechanism
from ratiobench.online.lora.posted_prices import PostedPrices, PostedTrace, ProposedPrices
from ratiobench.online.lora.price_laws import ARITHMETIC, settle_arithmetic
from ratiobench.online.lora.protocol import View
from ratiobench.online.lora.registry import Entry, Option, fraction, register
from ratiobench.online.lora.traces import Cell, HistoryTrace, LawTerms


class Coin:
    """One of two algorithms, drawn before the day."""

    def __init__(self, first: Inner, second: Inner, share: Fraction) -> None:
        self._inners, self._share = (first, second), share
        self.constants = join_constants(self._inners)
        self.learns_nothing = learns_nothing(self._inners)
        self._drawn: Inner | None = None
        self._history: Instance | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> Coin:
        twin = copy(self)
        if self._drawn is not None:  # the other one has no state
            twin._drawn = self._drawn.copy_state(memo)
            one, other = (twin._drawn if inner is self._drawn else inner for inner in self._inners)
            twin._inners = one, other
        return twin

    def learn(self, history: Instance | None, tested: Instance) -> Mapping[str, Fraction]:
        """What both take from earlier days."""
        self._history = history
        return learn_all(self._inners, history, tested)

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """The coin is tossed, from the seed of the run."""
        word = int(Stream(public.seed, "combine").words(1)[0])
        self._drawn = self._inners[Fraction(word, 2**64) < self._share]
        self._drawn.start(public, constants)

    def decide(self, task: Task, view: View) -> Decision | None:
        """The drawn algorithm's answer."""
        assert self._drawn is not None
        answer: Decision | None = self._drawn.algorithm.decide(task, view)
        return answer

    @property
    def trace(self) -> Any:
        """The drawn algorithm's, where it posts prices; with the history of the whole."""
        found = None if self._drawn is None else getattr(self._drawn.algorithm, "trace", None)
        if not isinstance(found, PostedTrace):
            return HistoryTrace(self._history)
        found.history = self._history
        return found

    @property
    def arithmetic(self) -> str:
        """The drawn algorithm's."""
        drawn = self._inners[0] if self._drawn is None else self._drawn
        return str(getattr(drawn.algorithm, "arithmetic", "integer"))

    @property
    def counts(self) -> dict[str, int]:
        """1 where b was drawn, and what the drawn algorithm counts."""
        if self._drawn is None:
            return {}
        return {"drew_b": int(self._drawn is self._inners[1]), **getattr(self._drawn.algorithm, "counts", {})}


def find_poster(field: str, inner: Inner) -> Any:
    """What posts the prices of an algorithm.

    Raises
    ------
    InputError : it posts none.
    """
    algorithm = inner.algorithm
    if isinstance(algorithm, PostedPrices) and algorithm.poster is not None:
        return algorithm.poster
    if isinstance(algorithm, Mechanism):
        return MechanismPrices(algorithm)
    if isinstance(algorithm, Greedy):
        return NoPoster()
    problem = f"{shorten(inner.spec.name)} posts no prices of its own on any node; greedy, posted, zcl, static, ... do"
    raise InputError("algorithm", field, problem)


class SplitPrices:
    """Each type's first nodes at b's prices, the others at a's; a cell is offered at the less of both.

    Parameters
    ----------
    share : part of the nodes of each type that b prices, at least one node.
    """

    def __init__(self, first: Inner, second: Inner, share: Fraction, *, exact: bool) -> None:
        self._inners, self._share, self._exact = (first, second), share, exact
        self._posters = find_poster("combine:a", first), find_poster("combine:b", second)
        self.constants = join_constants(self._inners)

    def __deepcopy__(self, memo: dict[int, Any]) -> SplitPrices:
        twin = copy(self)
        twin._posters = deepcopy(self._posters, memo)
        return twin

    def count(self, source: Instance, tested: Instance) -> Mapping[str, Fraction]:
        """What both take from earlier days."""
        return learn_all(self._inners, None if source is tested else source, tested)

    def start(self, public: Public, constants: Mapping[str, Fraction]) -> None:
        """Both start."""
        self._public = public
        for inner, poster in zip(self._inners, self._posters, strict=True):
            poster.start(public, inner.settle(constants))
        counts = [kind.count for kind in public.node_types]
        self._part = [max(1, min(count, -(-self._share * count // 1))) for count in counts]
        within = np.concatenate([np.arange(count) < part for count, part in zip(counts, self._part, strict=True)])
        self._is_second = within
        self._hidden = within, ~within
        self._lend = max(-(-count // part) for count, part in zip(counts, self._part, strict=True))
        terms = getattr(self._posters[1], "terms", None)
        if isinstance(terms, LawTerms):
            start = self._posters[1].priced_capacity(np.flatnonzero(within).tolist())
            self.terms = replace(terms, law="combine", start=start, lend=int(self._lend))

    def wish(self, task: Task, view: View) -> ProposedPrices | None:
        """The cheaper node of the two, by type and slot; b's where both cost the same."""
        one: ProposedPrices | None
        other: ProposedPrices | None
        one, other = (
            poster.wish(task, self._hide(view, hidden))
            for poster, hidden in zip(self._posters, self._hidden, strict=True)
        )
        if one is None or other is None:
            return one or other
        prices = [each.price for each in (one, other)]
        if self._exact:
            prices = [np.array([list(map(Fraction, row)) for row in each.tolist()], object) for each in prices]
        take = (one.node >= 0) & ((other.node < 0) | (prices[0] < prices[1]).astype(bool))
        return ProposedPrices(one.types, one.first, np.where(take, one.node, other.node), np.where(take, *prices))

    @staticmethod
    def _hide(view: View, hidden: Any) -> View:
        """The view in which some nodes have nothing free."""
        shown = ~hidden[:, None]
        return replace(view, compute=view.compute * shown, memory_mb=view.memory_mb * shown)

    def sold(self, task: Task, cells: tuple[Cell, ...], net: int) -> None:
        """Update b with the cells on its nodes, and a with all cells."""
        self._posters[0].sold(task, cells, net)
        seconds = tuple(cell for cell in cells if self._is_second[cell[0]])
        if seconds:
            self._posters[1].sold(task, seconds, net)

    def heard(self, task: Task) -> None:
        """Both are shown the task after its answer."""
        for poster in self._posters:
            poster.heard(task)

    def final(self) -> tuple[dict[Cell, Fraction | float], dict[Cell, Fraction | float]]:
        """The last prices of b's nodes, lent to all nodes of their type."""
        shown = getattr(self._posters[1], "final", None)
        if shown is None:
            return {}, {}
        tables: list[dict[Cell, Fraction | float]] = [{}, {}]
        heads = self._public.first_node.tolist()
        for lent, table in zip(shown(), tables, strict=True):
            rows: dict[int, list[tuple[int, Fraction | float]]] = {}
            for (k, t), price in lent.items():
                rows.setdefault(k, []).append((t, price))
            for g, part in enumerate(self._part):
                for k in range(heads[g], heads[g + 1]):
                    table.update(((k, t), price) for t, price in rows.get(heads[g] + (k - heads[g]) % int(part), ()))
        return tables[0], tables[1]


def _make(options: Mapping[str, str]) -> Any:
    share, exact = fraction("combine:share", options["share"]), options["arith"] == "exact"
    if not 0 < share <= 1:
        raise InputError("algorithm", "combine:share", f"{shorten(options['share'])} is not above 0 and at most 1")
    first, second = (Inner(f"combine:{key}", options[key], options["arith"]) for key in "ab")
    if options["mode"] == "coin":
        return Coin(first, second, share)
    combined = PostedPrices(SplitPrices(first, second, share, exact=exact), None, exact=exact)
    combined.learns_nothing = learns_nothing((first, second))
    return combined


def _state(options: Mapping[str, str], oracle: bool) -> Mapping[str, str]:
    known = []
    for key in "ab":
        spec = Inner(f"combine:{key}", options[key], options["arith"]).spec
        assert spec.entry is not None
        own = {} if spec.entry.standing is None else spec.entry.standing(spec.options, oracle)
        known.append((spec.name, own.get("guarantee", "none known"), own.get("truthful", "not examined")))
    (_, _, first), (name, proved, second) = known
    if options["mode"] == "coin":
        sure = all(each.startswith("in ") for each in (first, second))
        truthful = "in the bid" if sure else f"as both are: {first}; {second}"
        guarantee = f"in the mean that of b ({name}: {proved}), its factor over {options['share']}"
        return {"guarantee": guarantee, "truthful": ORACLE if oracle else truthful}
    covered = "Lemma P" in proved or "A+" in proved
    times = "n = max ceil(K/K_b) nodes to each of b's"
    guarantee = f"that of b with n B for B and n zeta for zeta, {times} ({name}: {proved})" if covered else "none"
    return {"guarantee": guarantee, "truthful": ORACLE if oracle else "in the bid"}


def _is_randomised(options: Mapping[str, str]) -> bool:
    inners = [Inner(f"combine:{key}", options[key], options["arith"]) for key in "ab"]
    return options["mode"] == "coin" or any(inner.is_randomised for inner in inners)


register(
    Entry(
        "combine",
        "two algorithms: a coin before the day decides, or each prices a part of the nodes (Lemma P)",
        "1",
        {
            "a": Option(
                "greedy", None, "the trusted one: NAME or NAME;option=value;... of one that decides at arrival"
            ),
            "b": Option("zcl", None, "the one with a guarantee, written likewise"),
            "mode": Option("coin", ("coin", "split"), "one of the two runs, or each prices a part of the nodes"),
            "share": Option("1/2", None, "probability of b, or b's part of the nodes of each type"),
            **OPTIONS,
            "arith": ARITHMETIC,
        },
        _make,
        settle=settle_arithmetic,
        public_constants=True,
        learns=True,
        randomised=_is_randomised,
        standing=_state,
    )
)
