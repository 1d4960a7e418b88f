"""Golden cases: verdicts of the checkers on good and forged certificates and solutions, and hashes of instances."""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.golden import forge
from tests.golden.case import Case
from tests.golden.commands import ROOT, Answer, call, document_of, figures

INPUTS = Path(__file__).parent / "inputs"
NUMBER = re.compile(r"-?\d+(?:/\d+)?")
# A field of a certificate
FIELD = re.compile(
    r"\b(instance|unit|lam|phi|classes|cells|more|tree|scale|prices|points|gpu_prices|edge_prices|worths|upper|lower|"
    r"decisions|sha256|format)\b"
)
RULE = re.compile(r"\(\d[a-z]?(?:, ?\d[a-z]?)*\)|\(R\d\)")  # A rule as the papers number it


# Certificates --------------------------------------------------------------------------------------------------------


def certificates(name: str, folder: Path) -> dict[str, str]:
    """The verdict on each forgery of a base: `accepted LOWER UPPER`, or `refused STATUS ABOUT [NUMBER ...]`."""
    base = _base(name)
    (folder / "instance.json").write_text(json.dumps(base["instance"]))
    verdicts = {}
    for change in forge.names_of(base):
        text = forge.forged(change, base)
        if text is not None:
            (folder / "forged.json").write_text(text)
            verdicts[change] = _verdict(call("check", "instance.json", "--certificate", "forged.json", "--json"))
    return verdicts


def _verdict(answer: Answer) -> str:
    """Accepted with which ends; or refused with which status, about which rule or field, and with which ends."""
    if answer.status == 0 and answer.document["valid"]:
        return f"accepted {answer.document['lower']} {answer.document['upper']}"
    judged = answer.status < 2
    problem = str(answer.document["problem"]) if judged else answer.err.partition("forged.json")[2]
    rule, field = RULE.search(problem), FIELD.search(problem)
    about = rule.group() if rule else field.group() if field else "-"
    ends = NUMBER.findall(problem) if about in ("upper", "lower") and judged else []
    return " ".join(["refused", str(answer.status), about.replace(" ", ""), *ends])


def compare_verdicts(stored: dict[str, str], now: dict[str, str]) -> Iterator[str]:
    """Equal, but for more numbers in a refusal; and no accepted end that another accepted end shows to be wrong."""
    for change in [*stored, *(change for change in now if change not in stored)]:
        was, value = stored.get(change, "nothing").split(), now.get(change, "nothing").split()
        refused = was[0] == value[0] == "refused"
        if (was[:3] != value[:3] or not {*was} <= {*value}) if refused else was != value:
            yield f"{change}: was {' '.join(was)}, is {' '.join(value)}"
    yield from _crossed(now)


def _crossed(verdicts: dict[str, str]) -> Iterator[str]:
    """Accepted intervals about one instance hold OPT, all of them: the largest lower end is below the least upper."""
    accepted = [verdict.split()[1:] for verdict in verdicts.values() if verdict.startswith("accepted")]
    if not accepted:
        return
    lowest, highest = max(Fraction(lower) for lower, _ in accepted), min(Fraction(upper) for _, upper in accepted)
    if lowest > highest:
        yield f"OPT is at least {lowest} and at most {highest}: one of the accepted certificates is false"


# Solutions -----------------------------------------------------------------------------------------------------------


def solutions(family: str, folder: Path) -> dict[str, Any]:
    """What `check` finds of the solutions of a family's certificates, as they are and with a rule broken."""
    rows: dict[str, Any] = {}
    for name, base in _bases().items():
        if forge.family_of(base["certificate"]) != family or not base["certificate"]["decisions"]:
            continue
        (folder / "instance.json").write_text(json.dumps(base["instance"]))
        changes = ["as it is", *forge.DECISIONS[family]]
        for change in changes:
            text = forge.forged(change, base)
            if text is not None:
                rows[f"{name}: {change}"] = _solution(folder, text)
        if family == "lora":
            rows[f"{name}: no migration"] = _solution(folder, forge.forged("as it is", base) or "", "--no-migration")
    return rows


def _solution(folder: Path, text: str, *words: str) -> Any:
    """The figures of a solution and how often each rule is broken; or the status, and the place of what is no form."""
    (folder / "forged.json").write_text(json.dumps({"decisions": json.loads(text)["decisions"]}))
    answer = call("check", "instance.json", "forged.json", "--json", *words)
    if answer.status == 2:
        return answer.status
    document = answer.document
    found = [RULE.search(text) for text in document.pop("violations")]
    rules = Counter(rule.group().replace(" ", "") if rule else "-" for rule in found)
    return {"valid": document["valid"], **figures(document), **dict(sorted(rules.items()))}


# Standard sets -------------------------------------------------------------------------------------------------------


def verified(name: str, folder: Path) -> dict[str, bool]:
    """Which certificates of a standard set are valid."""
    document = document_of("standard", "verify", "--set", name)
    return dict(sorted((row["name"], row["valid"]) for row in document["certificates"]))


def listed(name: str, folder: Path) -> dict[str, Any]:
    """The hash and the best interval of each entry of a standard set."""
    entries = document_of("standard", "list", "--set", name)["entries"]
    return {row["name"]: [row["instance"], row["best"]["lower"], row["best"]["upper"]] for row in entries}


def compare_listed(stored: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """The same instances, with intervals that are no wider."""
    for name in sorted({*stored, *now}):
        was, value = stored.get(name), now.get(name)
        if was is None or value is None or was[0] != value[0]:
            yield f"{name}: was {was}, is {value}"
        elif not Fraction(was[1]) <= Fraction(value[1]) <= Fraction(value[2]) <= Fraction(was[2]):
            yield f"{name}: was [{was[1]}, {was[2]}], is [{value[1]}, {value[2]}]"


# Hashes --------------------------------------------------------------------------------------------------------------

RECIPES = ("lora", "counterexamples", "eapm", "edgeflow", "tenants", "cluster")


def generated(name: str, folder: Path) -> dict[str, Any]:
    """The hash and the size of the instance of each recipe in a file."""
    return _hashed(INPUTS / f"{name}.toml", folder / "made")


def named(family: str, folder: Path) -> dict[str, Any]:
    """The same of each instance file that is shipped."""
    files = (ROOT / "instances" / family / "named").glob("*.json")
    named = [
        file for file in sorted(files) if str(json.loads(file.read_text()).get("format")).startswith("ratiobench/")
    ]
    (folder / "named.toml").write_text("".join(f'[[instance]]\nrecipe = "file"\npath = "{file}"\n' for file in named))
    return _hashed(folder / "named.toml", folder / "made")


def _hashed(file: Path, folder: Path) -> dict[str, Any]:
    rows = document_of("generate", file, "--out", folder)
    return {row["case"]: {key: value for key, value in row.items() if key not in ("case", "file")} for row in rows}


@functools.cache
def _bases() -> dict[str, Any]:
    bases: dict[str, Any] = json.loads(gzip.decompress((INPUTS / "certificates.json.gz").read_bytes()))
    return bases


def _base(name: str) -> Any:
    return _bases()[name]


FAMILIES = ("lora", "eapm", "edgeflow", "tenants")
# Seconds of the bases that take longest
LARGE = {"part_40_helios": 5.0, "part_40_pai": 4.0, "part_60_philly": 8.0, "part_200_pai": 12.0, "part_200_own": 5.0}
CASES: dict[str, Case] = {
    f"certificates {name}": Case(functools.partial(certificates, name), compare_verdicts, LARGE.get(name, 0.5))
    for name in (*forge.SHIPPED, *forge.MADE)
}
CASES |= {f"solutions {family}": Case(functools.partial(solutions, family), seconds=3.0) for family in FAMILIES}
CASES |= {f"generated {family}": Case(functools.partial(generated, family), seconds=3.0) for family in RECIPES}
CASES |= {f"named {family}": Case(functools.partial(named, family)) for family in FAMILIES}
CASES |= {f"listed {name}": Case(functools.partial(listed, name), compare_listed) for name in ("R1", "R2")}
CASES |= {
    f"verified {name}": Case(functools.partial(verified, name), seconds=600.0, long=True) for name in ("R1", "R2")
}
