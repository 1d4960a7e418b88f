"""What an explanation says of a run is what the run did: schedules, prices, reduced costs, decisions, the claim."""

import re
from fractions import Fraction
from typing import Any

import pytest

from ratiobench.bench.family.explanation import Explanation, Listing
from ratiobench.bench.lora import FAMILY
from ratiobench.bench.lora.counterexamples.moves import Bounds, draw_start
from ratiobench.bench.lora.counterexamples.tiny import instance, tiny_instance_of
from ratiobench.bench.lora.explanation import name_cells
from ratiobench.bench.lora.theory.claims import CLAIMS, ProofStatus
from ratiobench.bench.report.explain import explain, explain_too_large, text, verdict_text
from ratiobench.bench.show import sentence_text
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.seeds import RandomNumbers
from ratiobench.instances.lora.named import named, names
from ratiobench.online.lora.run import run

SMALL = [name for name in names() if not explain_too_large(FAMILY, named(name))]
EVERY = (
    "pdftsp",
    "pdftsp:search=printed,units=canonical",
    "posted",
    "bbar-rule",
    "greedy",
    "eft",
    "eris",
    "pdftsp:migrate=no",
    "learned",
    "guarded:inner=posted,beta=2",
)


def _column(table: Listing, name: str) -> list[Any]:
    return [row[table.head.index(name)] for row in table.rows]


def _explained(name: str, algorithm: str = "pdftsp", claim: str = "") -> Explanation:
    return explain(FAMILY, named(name), algorithm, claim)


def test_most_shipped_instances_are_small_enough() -> None:
    assert set(names()) - set(SMALL) == {"benign_identical_L9"}


@pytest.mark.parametrize("name", ["thm5_T5_3tasks", "thm5_T2_drop_7tasks", "tiny_vendors", "tiny_negative_tariff"])
def test_reduced_costs_and_decisions_are_those_of_the_run(name: str) -> None:
    """F of the row that is marked is the offer's; by an exact search no row has a larger one."""
    played = run(named(name), "pdftsp")
    found = _explained(name)
    assert len(found.moments) == named(name).tasks
    for moment, offer, decision in zip(found.moments, played.trace.offers, played.decisions, strict=True):
        if moment.candidates is None:
            assert offer.value is None
            continue
        assert moment.candidates.chosen is not None
        values = _column(moment.candidates, "F")
        assert values[moment.candidates.chosen] == offer.value == max(values)
        assert name_cells(offer.cells) == _column(moment.candidates, "schedule")[moment.candidates.chosen]
        said = sentence_text(moment.decision)
        assert ("admitted" in said) == (decision is not None)
        if decision is not None:
            assert offer.payment in moment.decision
        elif offer.value > 0:
            assert "dropped" in said
            assert "no room" in _column(moment.candidates, "room")[moment.candidates.chosen]


@pytest.mark.parametrize("algorithm", ["pdftsp", "posted"])
def test_moves_of_prices_lead_from_nothing_to_the_final_prices(algorithm: str) -> None:
    """Each from what stood there before; the tasks that moved a cell's prices stand below them."""
    trace = run(named("thm5_T2_drop_7tasks"), algorithm).trace
    found = _explained("thm5_T2_drop_7tasks", algorithm)
    stood: dict[str, tuple[Any, ...]] = {}
    moved: dict[str, list[int]] = {}
    for place, moment in enumerate(found.moments):
        for said in moment.after:
            words, lam, _, to_lam, _, phi, _, to_phi, _ = said
            cells = str(words).removeprefix("Changes prices on ").removesuffix(": lambda from ")
            assert stood.get(cells, (0, 0)) == (lam, phi)
            stood[cells] = (to_lam, to_phi)
            moved.setdefault(cells, []).append(place)
    assert stood
    for cells, ends in stood.items():
        # On this instance every task takes a single cell, so a sentence is about one.
        slot = int(cells.removeprefix("node 0: slot "))
        assert ends == (trace.lam[0, slot], trace.phi[0, slot])
    assert len(stood) == len(trace.lam)
    rows = dict(found.moments[-1].grids[0].rows)
    slot = int(next(iter(moved)).removeprefix("node 0: slot "))
    assert rows["0 moved by"][slot - 1].figure == " ".join(map(str, moved[f"node 0: slot {slot}"]))


def test_linear_prices_are_charged_cell_by_cell() -> None:
    """F' of `posted` is what its trace says, and the best one has room."""
    played = run(named("tiny_vendors"), "posted")
    for moment, offer in zip(_explained("tiny_vendors", "posted").moments, played.trace.offers, strict=True):
        if moment.candidates is not None and moment.candidates.chosen is not None:
            assert _column(moment.candidates, "F'")[moment.candidates.chosen] == offer.value
            assert _column(moment.candidates, "room")[moment.candidates.chosen] == "yes"


@pytest.mark.parametrize("algorithm", EVERY)
def test_every_algorithm_that_runs_is_told(algorithm: str) -> None:
    """With prices or without: a decision for every task, and OPT beside ALG."""
    for name in ("tiny_three_types", "tiny_empty_window"):
        found = _explained(name, algorithm)
        assert len(found.moments) == named(name).tasks
        assert len(found.outcome) == 2
        assert "OPT/ALG" in text(found)


def test_batches_are_told_without_prices() -> None:
    """Titan decides slot by slot."""
    assert "shows no prices" in text(_explained("tiny_contention", "titan"))


def test_both_sides_of_theorem_5_have_their_figures() -> None:
    """OPT, the bound, ALG and their product; the chain of the proof names the link that breaks."""
    told = text(_explained("thm5_T5_3tasks", "pdftsp", "theorem5"))
    assert "OPT = 312 > 24.5 x 12 = 294" in told
    assert "312 > 84, violated" in told
    assert "Lemma 4, dual feasibility, which fails here" in told
    assert "10.1145/3673038.3673083" in told
    held = text(_explained("dp_overshoot_and_first_slot", "pdftsp", "theorem5"))
    assert "Theorem 5 holds here: OPT = 10 <= 22 x 10 = 220" in held


def test_a_claim_about_others_does_not_end_the_story_unless_it_is_asked_for() -> None:
    """The family's own claim is about pdFTSP."""
    assert _explained("tiny_contention", "greedy").ending is None
    assert "does not apply" in text(_explained("tiny_contention", "greedy", "theorem5"))


def test_signs_are_defined_once_where_they_occur_and_an_instance_is_no_subtitle() -> None:
    """Signs of claims and tables, none without use; the file's words are about the instance, not about the run."""
    printed = text(_explained("thm5_T5_3tasks", "pdftsp", "theorem5"))
    for sign in ("alpha, beta", "kappa", "bbar", "mu", "F"):
        assert printed.count(f"\n  {sign}: ") == 1
    for sign in ("A0", "Omega", "rho, beta (guard)", "B, G, U, eps, X"):
        assert f"\n  {sign}: " not in printed
    assert "max{s_max / s_min, r_max / r_min} = 1 + (1 / 1) max{5 / 2, 25 / 10} = 3.5." in printed
    told = text(_explained("thm5_T5_3tasks", "greedy", "no_deficit"))
    assert "\n  alpha, beta: " not in told
    lines = told.splitlines()
    assert "Theorem 5" not in " ".join(lines[:3])
    assert "The instance, according to its file: Theorem 5 is false with three tasks" in told


def test_a_deficit_is_told_in_its_parts() -> None:
    """Payment, vendor and operation of the witness's task."""
    told = _explained("tiny_two_types", "pdftsp", "provider_deficit")
    assert told.ending is not None
    [said, _] = map(sentence_text, told.ending.steps[:2])
    _, paid, vendor, operation, both = map(int, re.findall(r"\d+", said))
    assert both == vendor + operation
    assert told.ending.sides[0] == both - paid


def test_names_are_looked_at_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(FAMILY), "run", None)
    monkeypatch.setattr(type(FAMILY), "solve", None)
    with pytest.raises(InputError, match="did you mean 'theorem5'"):
        _explained("tiny_contention", "pdftsp", "teorem5")
    with pytest.raises(InputError, match="did you mean 'pdftsp'"):
        _explained("tiny_contention", "pdfstp")


def test_every_false_claim_says_which_step_fails() -> None:
    for claim in CLAIMS:
        assert bool(claim.flaw or claim.proof) == (claim.standing is ProofStatus.FALSE or bool(claim.proof)), claim.name


def test_figures_that_differ_never_read_alike() -> None:
    one, other = Fraction(10**6 + 1, 3 * 10**6), Fraction(10**6 + 2, 3 * 10**6)
    assert sentence_text([one, " > ", other]) == f"{one} > {other}"
    assert sentence_text([Fraction(49, 2), " = ", Fraction(49, 2)]) == "24.5 = 24.5"
    assert sentence_text(["x = ", Fraction(7, 400)]) == "x = 0.0175"
    assert sentence_text([Fraction(-1, 3)]) == "-0.333..."


def test_an_instance_that_is_too_large_is_refused() -> None:
    with pytest.raises(InputError, match=r"benign_identical_L9: 40 tasks; a run is explained .* at most 30"):
        _explained("benign_identical_L9")


@pytest.mark.parametrize("claim", ["theorem1", "nonsense"])
def test_what_no_audit_checks_is_refused(claim: str) -> None:
    with pytest.raises(InputError, match=r"--claim: .* (is not one of theorem5, .*|is not known; .*)`list claims`"):
        _explained("tiny_contention", "pdftsp", claim)


def test_the_verdict_comes_first_and_last() -> None:
    """Who reads one line has read the result."""
    found = _explained("lemma3_T2_two_tasks", "pdftsp", "lemma3")
    verdict = sentence_text(verdict_text(found))
    assert verdict == "Lemma 3 is violated here: 12 > 8 (P~ <= rho P)"
    lines = text(found).splitlines()
    assert lines.count(verdict) == 2
    assert lines.index(verdict) == 2


def test_a_sketch_of_an_instance_is_the_sketch_that_it_was_made_from() -> None:
    draws = RandomNumbers("sketches")
    for _ in range(30):
        sketch = draw_start(draws, Bounds(4, 4, 3, 50, -9, True))
        again = tiny_instance_of(instance(sketch))
        plain = [job._replace(costs=() if not any(map(any, job.costs)) else job.costs) for job in sketch.jobs]
        assert again == sketch._replace(jobs=tuple(plain))


def test_cells_are_named_by_runs_of_slots() -> None:
    assert name_cells([(0, 1), (0, 2), (1, 3), (0, 5)]) == "node 0: slots 1-2, 5; node 1: slot 3"


def test_posted_prices_are_told_with_the_limits_of_their_guard() -> None:
    """Every cell of the offer with its price, which add up to the cost; with a guard the wish, L and c w, too."""
    given = named("tiny_two_types")
    kinds = given.public("").type_of_node
    for name in ("learned", "guarded:inner=greedy,beta=1/4", "guarded:inner=bbar-rule,beta=40"):
        trace = run(given, name).trace
        found = explain(FAMILY, given, name)
        remarks = "".join(sentence_text(each) for each in found.remarks)
        assert "shows no prices" not in remarks
        assert ("The guard of Theorem H" in remarks) == name.startswith("guarded")
        for i, (moment, offer, posted) in enumerate(zip(found.moments, trace.offers, trace.posted, strict=True)):
            if offer is None:
                assert posted == ()
                continue
            task = given.task(i)
            energy = sum(int(task.cost[kinds[k], t - 1]) for k, t in offer.cells)
            assert sum(each.price for each in posted) + energy == offer.cost
            assert sentence_text(moment.decision).startswith("The cheapest schedule with room costs ")
            told = [sentence_text(each) for each in moment.notes if "Price on" in sentence_text(each)]
            assert len(told) == len(set(posted)) > 0
            for each in posted:
                assert ("L = " in told[0]) == (each.least is not None) == name.startswith("guarded")
                if each.least is not None and each.most is not None:
                    assert each.price == max(min(each.wish, each.most), each.least)
