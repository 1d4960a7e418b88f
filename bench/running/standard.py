"""Standard sets at work: every claim of a manifest checked, intervals made narrower, instances made."""

from __future__ import annotations

import contextlib
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from ratiobench.bench.family import standard as sets
from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import families
from ratiobench.bench.family.sense import Sense
from ratiobench.bench.family.suite import SolveSettings
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.machine import collect, usable_cores
from ratiobench.bench.running.pool import SpawnPool
from ratiobench.bench.running.runner import RunOptions, run_suite
from ratiobench.bench.storage.payload import format_error, json_number
from ratiobench.bench.storage.store import STORE, Store
from ratiobench.formulations import checksums
from ratiobench.formulations.report import Exact, SolveReport
from ratiobench.instances.io import packing
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import make_folder, read_bytes, write_atomically, write_text


def make_entry(entry: sets.Entry) -> tuple[Family, Any]:
    """The instance of an entry, whose content is what the set says."""
    family = families()[entry.family]
    instance = family.make(entry.recipe)
    identity = family.identity(instance)
    if entry.instance and identity != entry.instance:
        problem = f"the recipe makes another instance here: {identity}, not {entry.instance}"
        raise InputError(entry.name, "instance", problem)
    return family, instance


def read_certificate(chosen: sets.StandardSet, entry: sets.Entry, record: sets.Record) -> tuple[bytes, str]:
    """The file of an entry's certificate, which is the one of the record, and its name."""
    data, source = read_bytes(chosen.certificate(entry))
    if (digest := sha256(data).hexdigest()) != record.certificate:
        raise InputError(source, "", f"SHA-256 {digest}, not {record.certificate} as the manifest says")
    return data, source


def check_entry(chosen: sets.StandardSet, entry: sets.Entry) -> str:
    """The first thing that is wrong with an entry, empty if all is as the manifest says."""
    if entry.best is None:
        return "no certificate"
    try:
        data, source = read_certificate(chosen, entry, entry.best)
        if not entry.instance:
            return "instance: the manifest has no SHA-256 of its content"
        family, instance = make_entry(entry)
        report = family.read_certified(instance, family.load_document(instance, data, source), source)
    except InputError as error:
        return str(error)
    except Exception as error:  # a failure of ours, told like the others
        return format_error(error)
    for end, claimed in zip(("lower", "upper"), sets.interval_of(entry.best), strict=True):
        if getattr(report, end) != claimed:
            return f"{end}: {claimed} in the manifest, {getattr(report, end)} in the certificate"
    return ""


def check_set(
    chosen: sets.StandardSet, entries: Sequence[sets.Entry], workers: int | None
) -> Iterator[tuple[str, str]]:
    """Check entries side by side, large ones first; (name, problem) as they get done."""
    sizes = {file: file.stat().st_size for file in chosen.folder.glob("*")}
    order = sorted(entries, key=lambda entry: -sizes.get(chosen.certificate(entry), 0))
    with SpawnPool(min(workers or usable_cores(), max(1, len(order)))) as pool:
        futures = {pool.submit(check_entry, chosen, entry): entry.name for entry in order}
        for future in as_completed(futures):
            yield futures[future], future.result()


def improve(
    chosen: sets.StandardSet, entry: sets.Entry, settings: SolveSettings
) -> tuple[sets.StandardSet, tuple[Exact, Exact] | None, tuple[Exact, Exact]]:
    """Search on from the best known solution: the set afterwards, the interval before (None: none was known) and after.

    A certificate is replaced by a better one that was verified, only.
    """
    set_current(f"{entry.name}: making the instance")
    family, instance = make_entry(entry)
    known: SolveReport | None = None
    documents: list[dict[str, Any]] = []
    recorded = False
    if entry.best is not None:
        data, source = read_bytes(chosen.certificate(entry))
        recorded = sha256(data).hexdigest() == entry.best.certificate
        documents.append(family.load_document(instance, data, source))
        known = family.read_certified(instance, documents[0], source)
    if not family.has_certificates:
        raise InputError(entry.name, "family", f"the family {family.name} has no certificates")
    set_current(f"{entry.name}: looking for a better interval, effort {settings.effort}")
    report = family.certify(instance, settings, None if known is None else known.solution)
    if report.certificate is None and known is None:
        raise InputError(entry.name, "", f"no certificate was found{report.message and ': '}{report.message}")
    if report.certificate is not None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"found{packing.SUFFIX}"
            family.write_certificate(report.certificate, path)
            documents.append(family.load_document(instance, *read_bytes(path)))
    set_current(f"{entry.name}: verifying")
    best = join_certificates(family, instance, documents)
    verified = family.read_certified(instance, best, entry.name)
    after, before = (verified.lower, verified.upper), None if known is None else (known.lower, known.upper)
    if before == after and entry.first is not None and recorded:
        return chosen, before, after
    content, machine = packing.pack(best), collect()["machine"]
    amount = f"--effort {settings.effort}" if settings.seconds is None else f"--seconds {settings.seconds:g}"
    amount += f" --gap {settings.gap:g}" if settings.gap else ""
    record = sets.Record(
        lower=json_number(after[0]),
        upper=json_number(after[1]),
        certificate=sha256(content).hexdigest(),
        date=datetime.now(UTC).date().isoformat(),
        command=f"standard improve {shlex.quote(entry.name)} {amount}",
        seconds=round(report.seconds + (entry.best.seconds if entry.best is not None else 0.0), 1),
        machine=f"{machine['system']}, {machine['usable cores']} cores",
    )
    is_first = entry.first is None and known is None
    first = sets.First(record.lower, record.upper, record.seconds) if is_first else entry.first
    described = family.describe(instance)
    size = {name: described[name] for name in dict.fromkeys((*family.size, "load")) if name in described}
    improved = msgspec.structs.replace(entry, instance=family.identity(instance), size=size, first=first, best=record)
    make_folder(chosen.folder)
    write_atomically(chosen.certificate(entry), content)
    current = sets.read_set(chosen.path)  # another process may have written it meanwhile
    changed = replace(current, entries=tuple(improved if old.name == entry.name else old for old in current.entries))
    changed.write()
    if before != after:
        changed.add_to_history(entry.name, record)
    return changed, before, after


def join_certificates(family: Family, instance: Any, documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A certificate with the best solution of several valid ones and the best bound: neither depends on the other."""
    if len(documents) == 1:
        return dict(documents[0])
    reports = [(family.read_certified(instance, dict(document), "certificate"), document) for document in documents]
    least, most = min(reports, key=lambda pair: pair[0].upper), max(reports, key=lambda pair: pair[0].lower)
    (report, solved), (_, bounded) = (most, least) if family.sense is Sense.MOST else (least, most)
    if family.join_certificates is not None:
        return family.join_certificates(solved, bounded)
    own = {*family.solution_document(report.solution), family.sense.verified}
    return checksums.add_checksum({key: (solved if key in own else bounded)[key] for key in bounded if key != "sha256"})


def store_runs(
    chosen: sets.StandardSet, entries: Sequence[sets.Entry], folder: Path, workers: int | None
) -> dict[str, int]:
    """Run all shipped algorithms on the entries and store the runs with the set; how many runs each family has."""
    stored, counts = dict(sets.read_runs(chosen)), {}
    options = RunOptions(audits=False, rerun=True, workers=workers)
    for name in dict.fromkeys(entry.family for entry in entries):
        family = families()[name]
        suite = sets.suite_of(chosen, name, family.day_before)
        assert suite is not None  # the family has entries
        policies = () if family.evaluation is None else family.evaluation.policies
        algorithms = dict.fromkeys((*chosen.algorithms.get(name, ()), *policies))
        for each in family.algorithms():
            with contextlib.suppress(InputError):  # it needs something named
                family.validate_algorithm(each.name)
                algorithms[each.name] = None
        only = tuple(entry.name for entry in entries if entry.family == name)
        cases = [case for case in suite.cases if case.name in only]
        algorithms = {each: None for each in algorithms if any(case.is_served(each) for case in cases)}
        out = folder / name
        set_current(f"{len(algorithms)} algorithms of {name} on {len(only)} instances")
        run_suite(family, suite, replace(options, algorithms=tuple(algorithms), only=only, out=out))
        stored = {address: run for address, run in stored.items() if run.entry not in only}
        before = len(stored)
        with Store.open(out / STORE, create=False) as store:
            for case in (case for case in store.cases() if case.name in only):
                for algorithm, key in case.algorithms:
                    run = store.get("online", case.instance, key)
                    audit = store.get("audit", case.instance, case.audit_key(key))
                    if run is not None and run.ok and audit is not None:
                        payload, measures = {**run.payload, "seconds": None}, audit.payload.get("measures", {})
                        made = sets.StoredRun(case.name, case.instance, algorithm, key, payload, measures)
                        stored[case.name, algorithm] = made
        counts[name] = len(stored) - before
    sets.write_runs(chosen, stored.values())
    return counts


def fetch(chosen: sets.StandardSet, entries: Sequence[sets.Entry], folder: Path) -> Iterator[Path]:
    """Make instances in a folder, with their certificates; the files of the instances as they get done."""
    make_folder(folder)
    for entry in entries:
        set_current(f"making {entry.name}")
        family, instance = make_entry(entry)
        path = folder / f"{entry.name}.json.gz"
        write_text(path, family.dumps(instance))
        if entry.best is not None:
            data, _ = read_certificate(chosen, entry, entry.best)
            write_atomically(folder / chosen.certificate(entry).name, data)
        yield path
