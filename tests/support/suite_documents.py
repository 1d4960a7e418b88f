"""Any suite as the document of a file that `ratiobench.bench.family.suite_file` reads."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from msgspec import structs, to_builtins

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.suite import Case, Plot, SolveSettings, Suite
from ratiobench.instances.io.keys import Form, flatten, put


def document_of(family: Family, suite: Suite, name: str) -> dict[str, Any]:
    return {
        "name": name,
        "summary": suite.summary,
        "groups": dict(suite.groups),
        "verdicts_first": suite.verdicts_first,
        "instance": [_instance(family, case) for case in suite.cases],
        "small": [_instance(family, case) for case in suite.small],
        "plot": [_plot(plot) for plot in suite.plots],
    }


def _instance(family: Family, case: Case) -> dict[str, Any]:
    form = next(
        form
        for form in family.recipes().values()
        if form.name != "day" and all(case.recipe.get(key) == value for key, value in form.fixed.items())
    )
    values = _values(form, case.recipe)
    table: dict[str, Any] = {
        "recipe": form.name, "name": case.name, "group": case.group, "algorithms": list(case.algorithms), **values,
    }  # fmt: skip
    table |= {key: value for key, value in asdict(case.solve).items() if value != asdict(SolveSettings())[key]}
    if case.prior is not None:
        prior = _values(form, case.prior)
        assert values.keys() <= prior.keys()
        table["prior"] = {key: value for key, value in prior.items() if values.get(key) != value}
    if case.studies:
        table["study"] = [{k: v for k, v in structs.asdict(each).items() if v is not None} for each in case.studies]
    return table


def _values(form: Form, recipe: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a recipe as a file has them: a list of names is one seed among others."""
    rest = {key: value for key, value in recipe.items() if key not in form.fixed and key != form.label}
    by_place = {key.place or key.name: key.name for key in form.keys}
    rest = {by_place.get(key, key): value for key, value in rest.items()}
    found = dict(flatten(form.keys, rest, "test"))
    table: dict[str, Any] = {}
    for name, value in found.items():
        put(table, name, [value] if name.rpartition(".")[2] == "seed" else value, "test", name)
    return table


def _plot(plot: Plot) -> dict[str, Any]:
    table = to_builtins(plot) | {
        "hindsight": [{"label": one, "algorithms": list(those)} for one, those in plot.hindsight]
    }
    table = {key: list(value) if isinstance(value, tuple) else value for key, value in table.items()}
    return {key: value for key, value in table.items() if value not in ("", [])}


def plain(recipe: Mapping[str, Any] | None) -> Any:
    """A recipe without the label that is no part of an instance's identity; seeds as lists."""
    if recipe is None:
        return None
    return {key: value for key, value in recipe.items() if key != "name" or recipe["kind"] in ("named", "family")}
