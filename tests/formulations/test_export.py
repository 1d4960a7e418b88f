"""MPS and LP texts: what HiGHS and CBC read from them has our optimum."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ratiobench.formulations import backends, worker
from ratiobench.formulations.linear import LinearModel, RowBuilder
from ratiobench.formulations.lora.models.enumerate import enumerate_optimum
from ratiobench.formulations.lora.models.formulation import registry
from ratiobench.formulations.lora.solve import export
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.lora import Instance
from ratiobench.instances.lora.model import ScheduleKind
from tests.formulations.lora.test_models import (
    contended_instance,
    crowded_instance,
    model_of,
    one_task_instance,
    optimum_of,
)

LINEAR = [each.name for each in registry().values() if "highs" in each.backends]
READERS = ("highs", "cbc")


def optimum_read(reader: str, path: Path) -> float:
    """The optimum of the file as the reader prints it, as a maximum of welfare."""
    reply = worker.worker(reader).call(f"ratiobench.formulations.backends.{reader}:optimum_of_file", str(path))
    assert reply.termination is None, reply.message
    value: float = reply.value[0]
    maximise: bool = reply.value[1]
    assert maximise == (path.suffix == ".lp")
    return value if maximise else -value


def contested() -> Iterator[Instance]:
    for number in range(0, 40, 4):
        instance = contended_instance(number)
        if enumerate_optimum(instance)[0] > 0:
            yield instance


@pytest.mark.parametrize("formulation", LINEAR)
@pytest.mark.parametrize("kind", ["mps", "lp"])
def test_files_read_back_by_highs_and_cbc_have_the_same_optimum(formulation: str, kind: str, tmp_path: Path) -> None:
    """OPT for the exact formulations; for the literal one, what it is when solved directly."""
    seen = 0
    for instance in contested():
        path = tmp_path / f"model.{kind}"
        path.write_text(export(instance, kind, formulation))
        exact = registry()[formulation].schedules is ScheduleKind.ANY
        expected = enumerate_optimum(instance)[0] if exact else optimum_of(model_of(instance, formulation))
        for reader in READERS:
            assert optimum_read(reader, path) == pytest.approx(expected, abs=1e-6)
            seen += 1
    assert seen >= 10


def test_auto_exports_the_tight_formulation() -> None:
    instance = contended_instance(4)
    assert export(instance, "mps") == export(instance, "mps", "tight")


@pytest.mark.parametrize(
    ("kind", "formulation"), [("xml", "auto"), ("mps", "cpsat"), ("lp", "enumerate"), ("lp", "no")]
)
def test_what_cannot_be_exported_is_an_input_error(kind: str, formulation: str) -> None:
    with pytest.raises(InputError, match=r"^(format|formulation): [^\n]+$"):
        export(one_task_instance(1, [[0]]), kind, formulation)


def test_a_model_too_large_to_write_is_an_input_error() -> None:
    with pytest.raises(InputError, match="400,000"):
        export(crowded_instance(tasks=5, count=2**30, slots=20), "mps", "printed")


def mixed_model() -> LinearModel:
    """Every kind of bound, row and column: maximise 3a + 2b - c + d/3.

    a + b <= 4, a - c >= -7, b + d = 2.5, -2c <= 9; a integer in [-2, 3], b >= 0, c free, d in [0, 1/3].
    """
    rows = RowBuilder()
    rows.block(["r_1"], np.array([0, 0]), np.array([0, 1]), np.array([1, 1]), -np.inf, 4.0)
    rows.block(["r_2"], np.array([0, 0]), np.array([0, 2]), np.array([1, -1]), -7.0, np.inf)
    rows.block(["r_3"], np.array([0, 0]), np.array([1, 3]), np.array([1, 1]), 2.5, 2.5)
    rows.block(["r_4"], np.array([0]), np.array([2]), np.array([-2]), -np.inf, 9.0)
    objective, integer = np.array([3.0, 2.0, -1.0, 1 / 3]), np.array([True, False, False, False])
    model = rows.model("mixed", objective, "abcd", np.array([3.0, np.inf, np.inf, 1 / 3]), integer)
    return replace(model, lower=np.array([-2.0, 0.0, -np.inf, 0.0]))


@pytest.mark.parametrize("kind", ["mps", "lp"])
def test_general_models_survive_the_text(kind: str, tmp_path: Path) -> None:
    """Free, unbounded, negative and fractional: both readers agree with HiGHS on the arrays."""
    model = mixed_model()
    path = tmp_path / f"mixed.{kind}"
    path.write_text(model.mps() if kind == "mps" else model.lp())
    direct = backends.solve("highs", model)
    # c = -4.5; with d = 0 b = 2.5 and a = 1, with d = 1/3 b = 13/6 and a = 1: 3 + 5 + 4.5.
    assert direct.bound == pytest.approx(12.5)
    for reader in READERS:
        assert optimum_read(reader, path) == pytest.approx(12.5)


def test_reducing_by_common_divisors_keeps_the_optimum() -> None:
    """A model in thousands and its reduced form; sides that do not divide are rounded inwards."""
    for number in range(8):
        instance = contended_instance(number)
        model = model_of(instance, "printed")
        rows = len(model.rows)
        scaled = LinearModel(
            name=model.name,
            objective=model.objective * 1000,
            lower=model.lower,
            upper=model.upper,
            integer=model.integer,
            row_start=model.row_start,
            index=model.index,
            value=model.value * 6,
            row_lower=model.row_lower * 6 - np.where(model.row_lower == model.row_upper, 0, 5),
            row_upper=model.row_upper * 6 + np.where(model.row_lower == model.row_upper, 0, 5),
            columns=model.columns,
            rows=model.rows,
        )
        small, step = scaled.reduced()
        assert step % 1000 == 0
        assert len(small.rows) == rows
        assert np.abs(small.value).max() <= np.abs(model.value).max()
        assert optimum_of(small) * step == optimum_of(model) * 1000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"objective": np.zeros(3)}, "column arrays"),
        ({"row_lower": np.zeros(1)}, "row arrays"),
        ({"value": np.array([np.nan] * 7)}, "not finite"),
        ({"index": np.full(7, 9)}, "not in 0..3"),
        ({"row_upper": np.full(4, np.inf), "row_lower": np.full(4, -np.inf)}, "neither"),
        ({"row_upper": np.ones(4), "row_lower": np.zeros(4)}, "neither"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change: dict[str, np.ndarray], words: str) -> None:
    """A `LinearModel` that exists is one that both texts can say."""
    model = mixed_model()
    fields = {name: getattr(model, name) for name in model.__slots__}
    with pytest.raises(ValueError, match=words):
        LinearModel(**{**fields, **change})
