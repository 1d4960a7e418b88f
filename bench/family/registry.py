"""The families that there are, and what they know by name: suites, file formats."""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ratiobench import instances
from ratiobench.bench.family.contract import Family
from ratiobench.instances.io.errors import InputError, require_known, shorten, suggest_name

if TYPE_CHECKING:
    from ratiobench.bench.family.capabilities import SearchFunction
    from ratiobench.bench.family.suite import Suite

# The environment variable that names modules with families that live elsewhere, separated by commas
ELSEWHERE = "RATIOBENCH_FAMILIES"


@lru_cache(maxsize=1)
def families() -> Mapping[str, Family]:
    """All families by name: shipped ones, plug-ins, and those that the environment names."""
    from ratiobench.instances.io.plugins import FAMILIES, find_plugins

    modules = _shipped_modules()
    modules += [each.value.partition(":")[0] for each in find_plugins(FAMILIES).values()]
    modules += [name.strip() for name in os.environ.get(ELSEWHERE, "").split(",") if name.strip()]
    found: dict[str, Family] = {}
    for module in dict.fromkeys(modules):
        family = _family_of(module)
        if family.name in found:
            raise InputError(module, "FAMILY.name", f"{family.name!r} is the name of another family")
        found[family.name] = family
    return found


def _shipped_modules() -> list[str]:
    names = sorted(module.name for module in pkgutil.iter_modules(instances.__path__) if module.ispkg)
    return [f"ratiobench.bench.{each}" for each in names if importlib.util.find_spec(f"ratiobench.bench.{each}")]


def _family_of(module: str) -> Family:
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and misses another one
        raise InputError(ELSEWHERE, "", f"there is no module {shorten(module)} on the import path") from None
    family = getattr(loaded, "FAMILY", None)
    if not isinstance(family, Family):
        raise InputError(
            ELSEWHERE, "", f"the module {shorten(module)} defines no FAMILY, a ratiobench.bench.family.contract.Family"
        )
    return family


def claim_searches() -> dict[str, tuple[Family, SearchFunction]]:
    """Who can search for a violation of which claim; of one name the first family in alphabetical order."""
    return {
        claim: (family, search.search)
        for family in reversed(list(families().values()))
        if (search := family.counterexample_search) is not None
        for claim in search.claims()
    }


def find_search(claim: str) -> tuple[Family, SearchFunction]:
    """The family that can search for a violation of the claim, or without a claim for a worst ratio, and how."""
    if not claim:
        for family in families().values():
            if (search := family.counterexample_search) is not None and search.worst is not None:
                return family, search.worst
        raise InputError("search", "", "no family searches for the worst ratio of an algorithm")
    known = claim_searches()
    require_known(claim, known, "claim")
    return known[claim]


# What is said of a file and of a folder that stand where a suite is named
_NO_SUITE = (
    "is a file and no suite (`list suites`): `opt FILE` finds OPT of one instance, "
    "`simulate FILE --algorithm NAME ...` runs algorithms on it, `audit` and `explain` check claims",
    "is a folder and no suite (`list suites`): `opt FILE` and `simulate FILE --algorithm NAME ...` take the "
    "instances in it one by one; `report DIR` takes a folder of results",
)


def find_suite(name: str) -> tuple[Family, Suite]:
    """The suite of this name, in this file, or of this recipe, and its family."""
    from ratiobench.bench.family.suite_file import SUFFIX, read_recipe, read_suite

    known = {suite.name: (family, suite) for family in families().values() for suite in family.suites()}
    if name not in known:
        if name.endswith(SUFFIX):
            return read_suite(name, families(), list(known))
        for family in families().values():
            member = family.parametric_suite(name)
            if member is not None:
                return family, member
        if (found := read_recipe(name, families())) is not None:
            return found
        if os.path.exists(name):
            raise InputError(name, "", _NO_SUITE[os.path.isdir(name)])
        recipes = {each for family in families().values() for each in family.recipes()}
        heads = [name.partition(":")[0] for family in families().values() for name, _ in family.constructions()]
        near = suggest_name(name, known) or suggest_name(name.partition(":")[0], {*recipes, *heads})
        where = f"`list suites` prints {len(known)} suites, `list recipes` {len({*recipes, *heads})} recipes"
        raise InputError("suite", "", f"{shorten(name)} is no suite, recipe or FILE.toml{near or ';'} {where}")
    return known[name]


def find_suite_if_any(about: Mapping[str, Any]) -> Suite | None:
    """The suite that was run, as it is now; of a file, as it was; None if it is gone."""
    from ratiobench.bench.family.suite import Suite
    from ratiobench.bench.family.suite_file import SUFFIX

    name, words = str(about.get("suite", "")), about.get("groups")
    if isinstance(words, Mapping):
        groups = {str(group): str(word) for group, word in words.items()}
        return Suite(name, "", (), groups=groups, verdicts_first=about.get("verdicts_first") is True)
    try:
        return None if name.endswith(SUFFIX) else find_suite(name)[1]
    except InputError:
        return None


def require_algorithms(family: Family, names: Iterable[str]) -> None:
    for name in names:
        refuse_other_family(family, name)
        family.validate_algorithm(name)


def refuse_other_family(family: Family, name: str) -> None:
    head = name.partition(":")[0]
    if head in {known.name for known in family.algorithms()}:
        return  # and the algorithms of other families are not loaded
    owners = [each.name for each in families().values() if head in {known.name for known in each.algorithms()}]
    if owners:
        problem = f"an algorithm of the family {' and '.join(owners)}; the instances here are of {family.name}"
        raise InputError("algorithm", name, problem)


# Families by the classes of their instances, as far as these were asked for
_BY_CLASS: WeakKeyDictionary[type, Family] = WeakKeyDictionary()


def family_of(instance: object) -> Family:
    """The family that can write the instance into a file; InputError for an object that is no instance."""
    kind, known = type(instance), families()
    found = _BY_CLASS.get(kind)
    if found is not None and known.get(found.name) is found:
        return found
    for family in known.values():
        try:
            family.dumps(instance)
        except Exception:  # anything but an instance of this family
            continue
        if kind.__module__ != "builtins":
            _BY_CLASS[kind] = family
        return family
    if isinstance(instance, Mapping) and instance and not isinstance(next(iter(instance.values())), str | int | None):
        key = shorten(next(iter(map(str, instance))))
        raise InputError(
            "instance", "", f"a dictionary of {len(instance)}; one instance is needed, such as its [{key}]"
        )
    raise InputError("instance", "", f"{shorten(str(instance))} is neither an instance of a known family nor a file")


def read_instance(document: object, source: str) -> tuple[Family, Any]:
    """The instance in a decoded document, and its family, known by the format that it names."""
    if not isinstance(document, Mapping):
        raise InputError(source, "document", f"{shorten(document)} is not an object")
    if "format" not in document:
        raise InputError(source, "format", "the field is missing")
    form = document["format"]
    # The family that the format names comes first: the others then need not be imported.
    named = [module for module in _shipped_modules() if f"/{module.rpartition('.')[2]}/" in str(form)]
    able = (family for family in map(_family_of, named) if form in family.formats)
    family = next(able, None) or next((each for each in families().values() if form in each.formats), None)
    if family is None:
        known = ", ".join(repr(form) for each in families().values() for form in each.formats)
        raise InputError(source, "format", f"{shorten(document['format'])} is not one of {known}")
    return family, family.parse(document, source)
