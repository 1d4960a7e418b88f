"""An algorithm's name with its options: ``name[:key=value,...]``, or ``package.module:Class[:key=value,...]``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from ratiobench.formulations.versions import PACKAGES, package_versions
from ratiobench.instances.io.errors import InputError, make_printable, shorten
from ratiobench.instances.io.files import read_bytes
from ratiobench.instances.io.plugins import Plugin
from ratiobench.online import run_context
from ratiobench.online.modules import module_file

YESTERDAY, HISTORY = "yesterday", "history"  # The other day of a suite's case; the days before, as one instance
HANDED_OVER = (YESTERDAY, HISTORY)  # Priors that are no files; `./yesterday` is one
_FRACTION = re.compile(r"[0-9]{1,18}([.][0-9]{1,18}|/0*[1-9][0-9]{0,17})?")
_ANOTHER_OPTION = re.compile(r":(?=[A-Za-z_][A-Za-z0-9_-]*=)")


def suggest_commas(text: str, value: str) -> str:
    """How an algorithm's name is written with commas, where the value of an option has ``:key=`` in it; else empty."""
    if not _ANOTHER_OPTION.search(value):
        return ""
    right = text.replace(value, _ANOTHER_OPTION.sub(",", value))
    return f"; options are separated by commas: {make_printable(right, 100)}"


class Option(NamedTuple):
    """An option of an algorithm."""

    default: str
    allowed: tuple[str, ...] | None  # its values; None for a free text, which the algorithm reads
    meaning: str  # in a few words


# What is known of an algorithm, by heading, given its options and whether a constant is the tested instance's own
StatusFunction = Callable[[Mapping[str, str], bool], Mapping[str, str]]


def state_always(**known: str) -> StatusFunction:
    """What is known whatever the options and constants."""
    return lambda options, oracle: known


@dataclass(frozen=True, slots=True)
class Entry:
    """A registered algorithm."""

    name: str  # name, summary: for `list` and the command line
    summary: str
    version: str  # of the code; results of another version are not reused
    options: Mapping[str, Option]  # by name
    make: Callable[[Mapping[str, str]], Any]  # builds the algorithm from its options, all filled in
    # replaces options that depend on the number of arrivals (arithmetic), before `make`.
    settle: Callable[[dict[str, str], int], dict[str, str]] = lambda options, arrivals: options
    # its theorem needs constants that are known in advance. A prior that is the instance under test is refused,
    # constants computed from that instance are said in the label, and `constants=public` refuses them.
    public_constants: bool = False
    warm: Callable[[Any], None] | None = None  # compiles and starts, on a small instance, what a run does not reach
    standing: StatusFunction | None = None  # its proof status, for leaderboards; None where nothing is known
    randomised: bool | Callable[[Mapping[str, str]], bool] = False  # it draws from the seed of the run; or when it does
    slow: bool = False  # on large instances it takes much longer than others: suites begin with it
    # it has a method `learn`, which is handed the prior itself (None without one) and the instance under test, and
    # returns the constants that it took from there, by name; `history=` is another word for its `prior=`.
    learns: bool = False
    # stored results depend on the version of the backend that it asks, and on the files that its options name.
    solver: str = ""
    files: Callable[[Mapping[str, str]], Sequence[str]] = lambda options: ()  # `none` is no file

    @property
    def defaults(self) -> dict[str, str]:
        """The options with their defaults."""
        return {key: option.default for key, option in self.options.items()}

    def constants(self, options: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """The constants that the algorithm declares, with these options or with the defaults."""
        return tuple(getattr(self.make(self.defaults if options is None else options), "constants", ()))

    def is_randomised(self, options: Mapping[str, str]) -> bool:
        """Whether the algorithm draws with these options."""
        return self.randomised if isinstance(self.randomised, bool) else self.randomised(options)

    def choices(self) -> Iterator[str]:
        """Iterate over the combinations of the options whose values are listed, but those that it refuses."""
        listed = {key: option.allowed for key, option in self.options.items() if option.allowed}
        for values in product(*listed.values()):
            chosen = dict(zip(listed, values, strict=True))
            try:
                self.make(self.defaults | chosen)
            except InputError:
                continue
            yield ",".join(f"{key}={value}" for key, value in chosen.items())


def fraction(field_: str, text: str) -> Fraction:
    """Read a fraction of an option's text, such as ``7/2``, ``0.35``, ``3``; at most 18 digits a side."""
    if text.startswith("-") and _FRACTION.fullmatch(text[1:]):
        problem = f"{shorten(text)} is negative; a number or fraction of at least 0 is needed"
        raise InputError("algorithm", field_, problem)
    if not _FRACTION.fullmatch(text):
        problem = f"{shorten(text)} is not a number or fraction of at most 18 digits"
        raise InputError("algorithm", field_, problem + suggest_commas(f"{field_}={text}", text))
    return Fraction(text)


@dataclass(frozen=True, slots=True)
class Spec:
    """An algorithm's name, taken apart."""

    entry: Entry | None  # the registered algorithm, or None for an import path
    path: str  # ``package.module:Class`` for a user's algorithm, else empty
    options: Mapping[str, str]  # own options, defaults filled in (registered), or as written (import path)
    given: Mapping[str, Fraction] = field(default_factory=dict)  # constants stated by the user
    prior: str = ""  # file of the instance that constants are taken from, or one of `HANDED_OVER`; empty for none
    plugin: Plugin | None = None  # the installed package that adds it under a name of its own
    prior_word: str = field(default="prior", compare=False)  # `prior` or `history`, as the user wrote it; for errors

    @property
    def prior_field(self) -> str:
        """``NAME:OPTION`` of the prior, as errors name it."""
        return f"{self.head}:{self.prior_word}"

    @property
    def name(self) -> str:
        """The name with every option that is not at its default, in a fixed order."""
        defaults = {} if self.entry is None else self.entry.defaults
        parts = [f"{key}={value}" for key, value in sorted(self.options.items()) if value != defaults.get(key)]
        parts += [f"{key}={value}" for key, value in sorted(self.given.items())]
        if self.prior:
            parts.append(f"prior={self.prior}")
        return f"{self.head}:{','.join(parts)}" if parts else self.head

    @property
    def head(self) -> str:
        """The name without options."""
        if self.plugin is not None:
            return self.plugin.name.partition(".")[2]
        return self.path if self.entry is None else self.entry.name


def version(spec: Spec) -> str:
    """The version of an algorithm's code; for an import path the hash of the module's file (not of what it imports)."""
    if spec.entry is not None:
        parts = [spec.entry.version]
        for path in spec.entry.files(spec.options):
            if path != "none":
                parts.append(hashlib.sha256(read_bytes(path)[0]).hexdigest()[:16])
        return " ".join(parts)
    own = run_context.current().own.get(spec.path)
    content = read_bytes(module_file(spec.path))[0] if own is None else own.pickled
    code = hashlib.sha256(content).hexdigest()[:16] if own is None else own.code
    # Answers of solvers differ between their versions.
    solvers = [backend for backend, package in PACKAGES.items() if package.encode() in content]
    origin = "" if spec.plugin is None else f"of {spec.plugin.origin}"
    return " ".join(filter(None, [code, *map(package_versions, solvers), origin]))
