"""The algorithms of a family by name, how names with options are read, and where an algorithm's constants come from.

A name is ``name[:key=value,...]``, or ``package.module:Class[:key=value,...]`` for anyone's own. Besides its own
options every algorithm that declares constants takes them by name (``alpha=7/2``) or from another instance
(``prior=FILE``, or ``prior=yesterday`` for the other day that a suite's case names).
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from ratiobench.instances.io.errors import InputError, explain_unknown_name, list_names, shorten, suggest_name
from ratiobench.instances.io.files import list_instances
from ratiobench.instances.io.plugins import ALGORITHMS, Plugin, plugins_of
from ratiobench.online.modules import class_names, module_file, module_name
from ratiobench.online.outcome import Constant, Source
from ratiobench.online.remarks import Remarks
from ratiobench.online.spec import HANDED_OVER, HISTORY, YESTERDAY, Entry, Spec, fraction, suggest_commas, version

_NAME_LIMIT = 1000  # Characters of an algorithm's name with its options: it stands in tables and messages
Instance = TypeVar("Instance")
# Name -> function of an instance that gives the value and a detail to show
Constants = Mapping[str, Callable[[Instance], tuple[Fraction, str]]]


class Documents(Protocol):
    """The module of a family that reads its instances: `ratiobench.instances.NAME.format`."""

    def read(self, path: str, /) -> Any: ...

    def loads(self, data: bytes, source: str, /) -> Any: ...

    def content_hash(self, instance: Any, /) -> str: ...


@dataclass(frozen=True, slots=True, eq=False)
class Registry(Generic[Instance]):
    """The algorithms of one family."""

    package: str  # `algorithms` in it registers algorithms; `constants`, if it is there, has the table CONSTANTS
    documents: Documents  # reads instances
    protocol: str  # the module whose function `plain` copies an answer in builtin types
    # of a family whose algorithms learn from other days, the module with `join`, which makes one instance of days;
    # `require_history`, which refuses a day for another one; `tell_history`, what there is to learn, in words; and
    # `is_earlier`, whether dates show that a day lies before another one (`InputError` if they show the contrary).
    history: Any = None
    _entries: dict[str, Entry] = field(default_factory=dict)

    def constants(self) -> Constants[Instance]:
        """The constants that algorithms of the family can declare, by name."""
        return _constants(self.package)

    def content_hash(self, instance: Instance) -> str:
        """SHA-256 of an instance's content."""
        return self.documents.content_hash(instance)

    def adapt(self, algorithm: Any) -> Any:
        """Wrap a user's algorithm for the referee as the protocol says; most protocols leave it as it is."""
        return getattr(importlib.import_module(self.protocol), "adapt", lambda own: own)(algorithm)

    def register(self, entry: Entry) -> None:
        """Add an algorithm."""
        assert entry.name not in self._entries, f"two algorithms are called {entry.name}"
        self._entries[entry.name] = entry

    def entries(self) -> Mapping[str, Entry]:
        """All registered algorithms, sorted by name: every module of the package is imported once."""
        _import_all(f"{self.package}.algorithms")
        return dict(sorted(self._entries.items()))

    def plugins(self) -> Mapping[str, Plugin]:
        """The algorithms that other installed packages add, by name; a registered one of the same name wins."""
        family = self.package.rpartition(".")[2]
        return {name: each for name, each in plugins_of(ALGORITHMS, family).items() if name not in self.entries()}

    def parse(self, text: str) -> Spec:
        """Take an algorithm's name apart."""
        if len(text) > _NAME_LIMIT or not text.isprintable():
            problem = f"not a name: {len(text)} characters; at most {_NAME_LIMIT}, all of them printable, are allowed"
            raise InputError("algorithm", text, problem)
        head, _, tail = text.partition(":")
        entry = self.entries().get(head)
        plugin = self.plugins().get(head) if entry is None else None
        path = "" if plugin is None else plugin.value
        if entry is None and plugin is None:
            attribute, _, tail = tail.partition(":")
            if not attribute or "=" in attribute:
                raise InputError("algorithm", text, self._unknown(head))
            head = module_name(head)
            path = f"{head}:{attribute}"
        options = {} if entry is None else entry.defaults
        given: dict[str, Fraction] = {}
        prior, prior_word = "", "prior"
        seen: set[str] = set()
        for part in filter(None, tail.split(",")):
            key, equals, value = part.partition("=")
            where = f"{head}:{key}"
            if not equals or not value:
                raise InputError("algorithm", text, f"{part!r} is not key=value: an option needs a value behind `=`")
            if key in seen:
                raise InputError("algorithm", where, "given twice")
            seen.add(key)
            if key == "prior" or (key == "history" and entry is not None and entry.learns):
                if prior:
                    raise InputError("algorithm", where, f"given twice: `{prior_word}={prior}` means the same")
                prior, prior_word = value, key
            elif entry is not None and key in entry.options:
                allowed = entry.options[key].allowed
                if allowed is not None and value not in allowed:
                    problem = explain_unknown_name(value, allowed) + suggest_commas(text, value)
                    raise InputError("algorithm", where, problem)
                options[key] = value
            elif key in self.constants():
                given[key] = fraction(where, value)
            elif entry is None:
                options[key] = value
            else:
                raise _no_such_option(entry, key)
        spec = Spec(entry, path, options, given, prior, plugin, prior_word)
        if entry is not None:
            declared = entry.constants(options)
            for key in given:
                if key not in declared:
                    raise _no_such_option(entry, key)
            if prior and not declared and not entry.learns:
                raise InputError("algorithm", spec.prior_field, f"{head} declares no constants")
        return spec

    def _unknown(self, name: str) -> str:
        """Why a name without a class is no algorithm, and what was probably meant."""
        known = [*self.entries(), *self.plugins()]
        if "." in name or "/" in name:
            module = module_name(name)
            parent, _, last = module.rpartition(".")
            found = [f"{module}:{each}" for each in class_names(module)]
            if found or last in class_names(parent):
                found.append(f"{parent}:{last}")
                return f"no algorithm of this name; an own algorithm is MODULE:CLASS: write {found[0]}"
        if name.endswith(".py"):
            form = "an own algorithm is MODULE:CLASS"
            try:
                module_file(module_name(name))
            except InputError:
                near = suggest_name(name, (file.name for file in Path().glob("*.py")))
                return f"there is no such file in the current folder or on the import path; {form}{near}"
            return f"the file is no Python or defines no class; {form}"
        near = suggest_name(name, known)
        if near:
            return f"no algorithm of this name{near} `list algorithms` prints all {len(known)}"
        return f"no algorithm of this name; known: {list_names(known)} (`list algorithms`); an own one is MODULE:CLASS"

    def algorithms(self) -> list[tuple[str, str]]:
        """(name, summary with options and constants) of every registered algorithm."""
        listed = []
        for entry in self.entries().values():
            parts = [entry.summary]
            parts += [
                f"{key}={'|'.join(option.allowed or ('...',))} (default {option.default})"
                for key, option in entry.options.items()
            ]
            if declared := entry.constants():
                stated = ", ".join(f"{name}=NUMBER" for name in declared)
                another = f"prior=FILE or, in a suite that has another day, prior={YESTERDAY}"
                parts.append(f"{stated} or {another} (default: computed from the instance under test)")
            if entry.learns:
                parts.append(f"history=FILE|FILE;FILE|FOLDER of earlier days or, in suites, {YESTERDAY} or {HISTORY}")
            listed.append((entry.name, "; ".join(parts)))
        for name, plugin in self.plugins().items():
            listed.append((name, f"plug-in of {plugin.origin} ({plugin.value}), run like a user's algorithm"))
        return listed

    def describe_options(self, name: str) -> list[dict[str, str]]:
        """The options of a registered algorithm, its constants and its prior, as rows of a table."""
        entry = self.entries().get(name)
        if entry is None:
            return []
        rows = [
            (key, "|".join(option.allowed or ("...",)), option.default, option.meaning)
            for key, option in entry.options.items()
        ]
        declared = entry.constants()
        meaning = "a constant; by default of the instance that `prior` names, else of the instance under test"
        rows += [(key, "NUMBER", "computed", meaning) for key in declared]
        words = f"{YESTERDAY}|{HISTORY}"
        if declared and not entry.learns:
            meaning = "instance from which constants are computed; the two words in suites that have such days"
            rows.append(("prior", f"FILE|{words}", "none", meaning))
        if entry.learns:
            meaning = "earlier days to learn from, also as `prior`; the two words in suites that have such days"
            rows.append(("history", f"FILE|FILE;FILE|FOLDER|{words}", "none", meaning))
        return [dict(zip(("name", "values", "default", "meaning"), row, strict=True)) for row in rows]

    def canonical(self, text: str) -> str:
        """The name in its one spelling with the version of its code: the algorithm's part of a stored result's key."""
        spec = self.parse(text)
        key = f"{spec.name} version {version(spec)}"
        if spec.prior in ("", *HANDED_OVER):  # the caller knows the instance that is handed over
            return key
        return f"{key} prior {self.content_hash(self._join(spec, self._read_days(spec, None)))}"

    def choice(self, spec: Spec, arrivals: int) -> str:
        """A registered algorithm with all options whose values are listed, settled: what its kernels may differ by."""
        entry = spec.entry
        assert entry is not None
        settled = entry.settle(dict(spec.options), arrivals)
        listed = ",".join(f"{key}={settled[key]}" for key, option in entry.options.items() if option.allowed)
        return f"{entry.name}:{listed}" if listed else entry.name

    def settle_constants(
        self, spec: Spec, names: tuple[str, ...], instance: Instance, prior: Instance | None = None
    ) -> tuple[Constant, ...]:
        """The declared constants with their sources; `prior`: what `prior=yesterday` and `prior=history` stand for."""
        known = self.constants()
        for name in names:
            if name not in known:
                problem = f"declares the constant {name!r}; known: {', '.join(known) or 'none'}"
                raise InputError("algorithm", spec.name, problem)
        public = spec.entry is not None and spec.entry.public_constants
        other, told_as = None, ""
        if any(name not in spec.given for name in names):
            other, told_as, _ = self._prior(spec, instance, prior)
        settled = []
        for name in names:
            if name in spec.given:
                settled.append(Constant(name, spec.given[name], Source.GIVEN))
                continue
            if public and other is None and spec.options.get("constants") == "public":
                raise InputError("algorithm", f"{spec.head}:{name}", "neither given nor taken from a prior")
            value, detail = known[name](instance if other is None else other)
            origin = ", ".join(filter(None, (told_as, detail)))
            settled.append(Constant(name, value, _source(spec, other), origin))
        return tuple(settled)

    def _prior(self, spec: Spec, instance: Instance, prior: Instance | None) -> tuple[Instance | None, str, str]:
        """The instance of the prior, or None; how it is told; and a remark on the time that it is from."""
        if not spec.prior:
            return None, "", ""
        told_as, note, other = spec.prior, "", prior
        if spec.prior not in HANDED_OVER:
            days = self._read_days(spec, instance)
            other = self._join(spec, days)
            try:
                dated = [self.history is None or self.history.is_earlier(day, instance) for _, day in days]
                note = "" if all(dated) else "history without dates"
            except InputError:
                note = "history not from before the day"
        if other is None:
            raise _not_handed_over(spec)
        if spec.prior == YESTERDAY:
            told_as = f"{YESTERDAY} ({self.content_hash(other)[:12]})"
        elif spec.prior == HISTORY:
            told_as = ", ".join(filter(None, (getattr(other, "name", ""), self.content_hash(other)[:12])))
        if self.content_hash(other) == self.content_hash(instance):
            if spec.entry is not None and (spec.entry.public_constants or spec.entry.learns):
                raise InputError("algorithm", spec.prior_field, f"{spec.prior} is the instance under test")
            return None, "", ""  # the instance under test is no other one, whatever its file is called
        return other, told_as, note

    def _join(self, spec: Spec, days: Sequence[tuple[str, Instance]]) -> Instance:
        """One instance of the days, one after another in time."""
        if len(days) == 1:
            return days[0][1]
        if self.history is None:
            raise InputError("algorithm", spec.prior_field, f"{len(days)} instances are named; it takes one")
        try:
            joined: Instance = self.history.join([day for _, day in days])
            return joined
        except InputError as error:
            where = f"{error.field}: " if error.field else ""
            raise InputError("algorithm", spec.prior_field, where + error.problem) from None

    def _read_days(self, spec: Spec, tested: Instance | None) -> list[tuple[str, Instance]]:
        """The files that a prior names, with their instances; of a folder that has the tested one those before it."""
        text = spec.prior
        path = Path(text)
        names = [str(each) for each in list_instances(path)] if path.is_dir() else [*filter(None, text.split(";"))]
        if not names:
            raise InputError(text, "", "there is no instance file (.json or .json.gz) in this folder")
        days: list[tuple[str, Instance]] = []
        seen: dict[tuple[str, str], str] = {}
        for name in names:
            day = self.documents.read(name)
            if tested is not None and len(names) > 1 and self.content_hash(day) == self.content_hash(tested):
                if path.is_dir() and days:
                    break
                first = " and the first of its folder" * path.is_dir()
                raise InputError("algorithm", spec.prior_field, f"{shorten(name)} is the instance under test{first}")
            learns = spec.entry is not None and spec.entry.learns
            if tested is not None and learns and self.history is not None:
                try:
                    self.history.require_history(day, tested)
                except InputError as error:
                    raise InputError(name, error.field, error.problem) from None
            # Days without tasks have the same content; their names differ.
            known = seen.setdefault((self.content_hash(day), str(getattr(day, "name", ""))), name)
            if len(seen) == len(days):
                problem = f"is the same day as {shorten(known)}, which would count twice; name it once"
                raise InputError(name, spec.prior_field, problem)
            days.append((name, day))
        return days

    def prepare(
        self, spec: Spec, instance: Instance, arrivals: int, prior: Instance | None = None
    ) -> tuple[Any, tuple[Constant, ...]]:
        """A registered algorithm, built, with its constants settled; its remarks say that they are an oracle's."""
        entry = spec.entry
        assert entry is not None
        algorithm = entry.make(entry.settle(dict(spec.options), arrivals))
        constants, note = self.settle_constants(spec, tuple(getattr(algorithm, "constants", ())), instance, prior), ""
        if entry.learns:
            other, told_as, note = self._prior(spec, instance, prior)
            source = _source(spec, other)
            announced = algorithm.learn(other, instance)
            constants += tuple(Constant(name, value, source, told_as) for name, value in announced.items())
            if other is not None and self.history is not None:
                algorithm.history = self.history.tell_history(other, instance)
            if other is None and not announced:
                note = "no history"
        oracle = any(constant.source is Source.ORACLE for constant in constants)
        if oracle and (entry.learns or entry.public_constants):
            note = "oracle constants"
        if note:
            algorithm.remarks = Remarks(spec.name, notes=(note,))
        return algorithm, constants


@cache
def _import_all(package: str) -> None:
    free = importlib.import_module(package)
    for module in sorted(pkgutil.iter_modules(getattr(free, "__path__", ())), key=lambda m: m.name):
        importlib.import_module(f"{package}.{module.name}")


@cache
def _constants(package: str) -> Mapping[str, Any]:
    name = f"{package}.constants"
    return importlib.import_module(name).CONSTANTS if importlib.util.find_spec(name) else {}


def _no_such_option(entry: Entry, key: str) -> InputError:
    declared = entry.constants()
    prior = ("prior",) if declared or entry.learns else ()
    known = (*entry.options, *declared, *prior, *(("history",) if entry.learns else ()))
    problem = f"no such option; {entry.name} has {', '.join(known) or 'none'}{suggest_name(key, known)}"
    return InputError("algorithm", f"{entry.name}:{key}", problem)


def require_prior(spec: Spec, prior: object) -> None:
    """Refuse `prior=yesterday` and `prior=history` where the caller of the run has no other day."""
    if spec.prior in HANDED_OVER and prior is None:
        raise _not_handed_over(spec)


def _source(spec: Spec, other: object) -> Source:
    if other is None:
        return Source.ORACLE
    return Source.HISTORY if spec.prior == HISTORY else Source.PRIOR


def _not_handed_over(spec: Spec) -> InputError:
    what = "the other day of a suite" if spec.prior == YESTERDAY else "days before, which suites know"
    return InputError("algorithm", spec.prior_field, f"`{spec.prior}` is {what}; a file: `./{spec.prior}`")
