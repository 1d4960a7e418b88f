"""A cluster of one's own in a TOML file: nodes with their GPUs, and what electricity costs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from ratiobench.instances.io.errors import InputError, explain_unknown_name, shorten
from ratiobench.instances.io.files import load_toml, read_bytes
from ratiobench.instances.io.text_files import open_text, rows
from ratiobench.instances.lora.calibration import Calibration, Gpu, fingerprint, read_calibration, read_shipped
from ratiobench.instances.lora.logs.base import moment
from ratiobench.instances.lora.prices import DAY as DAY
from ratiobench.instances.lora.prices import Tariff, tariff_from

LARGEST = 10**6
_TOP = ("usd_per_kwh", "region", "day", "tariff", "reference", "node")
_NODE = ("name", "count", "gpus", "memory_gb", "speed", "watts", "calibration")
_REFERENCE = "h200"  # The GPU of the log, where a calibration stands in for a node's speed and no other one is named
# Columns of prices, and what makes micro-dollars per Wh of them
_UNITS = {"usd_per_kwh": 1000, "usd_per_mwh": 1, "price_per_mwh": 1}


@dataclass(frozen=True, slots=True)
class Node:
    """Identical nodes."""

    name: str  # label
    count: int  # how many there are
    gpus: int
    memory_mb: int  # of one GPU
    speed: Fraction  # relative to the GPU on which the log's durations were taken; thousandths
    watts: Fraction  # of one GPU above idle; thousandths


@dataclass(frozen=True, slots=True)
class Cluster:
    """The nodes, the tariff that holds for all of them, and a sentence on each node that a calibration speaks for."""

    nodes: tuple[Node, ...]
    tariff: Tariff
    measured: tuple[str, ...] = ()


def read_cluster(path: str | os.PathLike[str]) -> Cluster:
    """Read and check a cluster file."""
    data, source = read_bytes(path)
    table = load_toml(data, source)
    _known(source, "", table, _TOP)
    nodes = table.get("node")
    if not isinstance(nodes, list) or not nodes:
        raise InputError(source, "node", "no [[node]] entry; at least one is needed")
    calibrations = _Calibrations(source, table, Path(path).parent)
    found = tuple(_node(source, f"node[{j}]", each, calibrations) for j, each in enumerate(nodes))
    for j, node in enumerate(found):
        if node.name in [each.name for each in found[:j]]:
            raise InputError(source, f"node[{j}].name", f"{shorten(node.name)} is given twice; names must differ")
    return Cluster(found, _tariff(source, table, Path(path).parent), calibrations.list_notes())


def _known(source: str, path: str, table: Any, names: tuple[str, ...]) -> None:
    if not isinstance(table, dict):
        raise InputError(source, path, f"{shorten(table)} is not a table")
    for name in table:
        if name not in names:
            raise InputError(source, f"{path}.{name}".lstrip("."), f"unknown key; known: {', '.join(names)}")


class _Calibrations:
    """What nodes take from files of measurements: speed beside the log's GPU, and watts."""

    def __init__(self, source: str, table: Mapping[str, Any], folder: Path) -> None:
        self.source, self.folder, self.reference = source, folder, table.get("reference")
        self.sentences: list[str] = []
        self.compared = False
        if self.reference is not None and not isinstance(self.reference, str):
            raise InputError(source, "reference", f"{shorten(self.reference)} is not a text")

    def completed(self, path: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
        """The table of a node with the speed and the watts of its calibration, where it does not say them itself."""
        file = table.get("calibration")
        if file is None:
            return table
        if not isinstance(file, str):
            raise InputError(self.source, f"{path}.calibration", f"{shorten(file)} is not a text")
        if "speed" in table and "watts" in table:
            problem = "speed and watts are given as well, and nothing is left for it to say"
            raise InputError(self.source, f"{path}.calibration", problem)
        measured = read_calibration(self.folder / file)
        [gpu] = measured.gpus.values()
        lines = []
        found = dict(table)
        if "speed" not in table:
            speed, beside = self._speed(path, measured, gpu)
            found["speed"] = Decimal(speed) / 1000
            lines.append(f"speed {found['speed']:f} of {beside}")
        if "watts" not in table and gpu.watts is not None:
            found["watts"] = Decimal(int(gpu.watts * 10)) / 10
            lines.append(f"{found['watts']:f} W above idle at its fastest")
        if "watts" not in table and gpu.watts is None:
            lines.append("power not known, so no energy")
        about = f"{Path(file).name}, sha256 {fingerprint(measured)[:12]}"
        self.sentences.append(f"Node {table.get('name')}: {', '.join(lines)} ({about}). {measured.source}")
        return found

    def _speed(self, path: str, measured: Calibration, gpu: Gpu) -> tuple[int, str]:
        self.compared = True
        named = _REFERENCE if self.reference is None else str(self.reference)
        if named in read_shipped().gpus:
            table, other = read_shipped(), read_shipped().gpus[named]
        elif named.endswith(".json"):
            table = read_calibration(self.folder / named)
            [other] = table.gpus.values()
        else:
            problem = f"{explain_unknown_name(named, read_shipped().gpus)}, and no file .json of measurements"
            raise InputError(self.source, "reference", problem)
        if measured.way != table.way:
            problem = (
                f"cannot be compared with {named} ({table.method_text}), for it was measured otherwise "
                f"({measured.method_text}); give `speed`, or as `reference` a file that was measured alike"
            )
            raise InputError(self.source, f"{path}.calibration", problem)
        thousandths = round(1000 * gpu.samples_per_s / other.samples_per_s)
        if not 1 <= thousandths <= 1000 * LARGEST:
            problem = f"its speed beside {named} is not in 0.001..10^6; give `speed`"
            raise InputError(self.source, f"{path}.calibration", problem)
        derived = " (derived, not measured)" * (other.basis == "derived")
        return thousandths, f"{named}{derived}, the GPU that the log's durations are read as"

    def list_notes(self) -> tuple[str, ...]:
        """The sentences on all nodes; InputError for a reference that nothing was compared with."""
        if self.reference is not None and not self.compared:
            raise InputError(self.source, "reference", "no node takes its speed from a calibration")
        return tuple(self.sentences)


def _node(source: str, path: str, table: Any, calibrations: _Calibrations) -> Node:
    _known(source, path, table, _NODE)
    for name in ("name", "count", "gpus", "memory_gb"):
        if name not in table:
            raise InputError(source, f"{path}.{name}", "the key is missing")
    name = table["name"]
    if not isinstance(name, str) or not name.strip():
        raise InputError(source, f"{path}.name", f"{shorten(name)} is not a name")
    count, gpus = (_number(source, f"{path}.{key}", table[key], 1) for key in ("count", "gpus"))
    for key, value in (("count", count), ("gpus", gpus)):
        if value.denominator > 1:
            raise InputError(source, f"{path}.{key}", f"{shorten(table[key])} is not a whole number")
    table = calibrations.completed(path, table)
    memory = _number(source, f"{path}.memory_gb", table["memory_gb"], Fraction(1, 1000))
    speed = _number(source, f"{path}.speed", table.get("speed", 1), Fraction(1, 1000))
    watts = _number(source, f"{path}.watts", table.get("watts", 0), 0)
    return Node(name, int(count), int(gpus), max(1, int(memory * 1024)), speed, watts)


def _number(source: str, field: str, value: Any, least: int | Fraction) -> Fraction:
    found = _fraction(value)
    if found is not None and least <= found and (found * 1000).denominator == 1:
        return found
    raise InputError(source, field, f"{shorten(value)} is not a number in {float(least):g}..10^6 with three decimals")


def _fraction(value: Any) -> Fraction | None:
    """The number exactly; None for what is none, is beyond 10^6, or has more than 30 decimals."""
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        number = Decimal(value)
        if number.is_finite() and -LARGEST <= number <= LARGEST and int(number.as_tuple().exponent) >= -30:
            return Fraction(number)
    return None


def _tariff(source: str, table: Mapping[str, Any], folder: Path) -> Tariff:
    given = [key for key in ("usd_per_kwh", "region", "tariff") if key in table]
    if len(given) != 1:
        problem = f"{' and '.join(given)} are given" if given else "none is given"
        raise InputError(source, "usd_per_kwh", f"of usd_per_kwh, region and tariff exactly one is needed; {problem}")
    if "day" in table and given != ["region"]:
        raise InputError(source, "day", "goes with region only")
    value = table[given[0]]
    if given == ["usd_per_kwh"]:
        price = _price(source, "usd_per_kwh", value, 1000)
        return Tariff(f"{value} dollars per kWh at all times", {0: ((0, price),)}, False)
    if not isinstance(value, str):
        raise InputError(source, given[0], f"{shorten(value)} is not a text")
    if given == ["region"]:
        return _region(source, value, table.get("day"))
    return _file(folder / value)


def _price(source: str, field: str, value: Any, times: int) -> int:
    """Micro-dollars per Wh, rounded half to even: of dollars per kWh times 1000, of dollars per MWh as they are."""
    found = _fraction(value)
    if found is not None:
        return round(found * times)
    raise InputError(source, field, f"{shorten(value)} is not a price in dollars")


def _region(source: str, region: str, day: Any) -> Tariff:
    try:
        return tariff_from(region, day.isoformat() if isinstance(day, date) else day)
    except InputError as error:
        raise InputError(source, error.field, error.problem) from None


def _file(path: Path) -> Tariff:
    """A CSV file with columns `time` and one of prices; a price holds until the next row."""
    source = str(path)
    with open_text(path) as file:
        return _prices(rows(file, source), source)


def _prices(table: Iterator[tuple[int, list[str]]], source: str) -> Tariff:
    header = [name.strip() for name in next(table, (1, []))[1]]
    priced = [name for name in _UNITS if name in header]
    if header.count("time") != 1 or len(priced) != 1:
        raise InputError(source, "line 1", f"columns `time` and one of {', '.join(_UNITS)} are needed")
    days: dict[int, list[tuple[int, int]]] = {}
    last = -1
    for line, row in table:
        if len(row) != len(header):
            raise InputError(source, f"line {line}", f"{len(row)} fields; {len(header)} are needed")
        at = moment(row[header.index("time")].strip(), f"line {line}", "time", source)
        if at <= last:
            raise InputError(
                source, f"line {line} time", f"{shorten(row[header.index('time')])} is not after the one above"
            )
        text = row[header.index(priced[0])].strip()
        try:
            value = Decimal(text)
        except ArithmeticError:
            value = Decimal("nan")
        if not value.is_finite():
            raise InputError(source, f"line {line} {priced[0]}", f"{shorten(text)} is not a number")
        day, second = divmod(at, DAY)
        if last >= 0 and day not in days:
            # Until the day's first row the price of the day before holds.
            days[day] = [(0, days[last // DAY][-1][1])] if second else []
        days.setdefault(day, []).append((second, _price(source, f"line {line} {priced[0]}", value, _UNITS[priced[0]])))
        last = at
    if not days:
        raise InputError(source, "", "no row with a price")
    return Tariff(f"prices of {Path(source).name}", {day: tuple(rows) for day, rows in days.items()}, True)
