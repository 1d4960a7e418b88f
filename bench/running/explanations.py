"""Explanations of the smallest witnesses of violated claims, made at the end of a run and stored with it."""

from __future__ import annotations

import time
from pathlib import Path

from ratiobench.bench.family.contract import Family
from ratiobench.bench.family.registry import read_instance
from ratiobench.bench.report.claims.verdicts import summarise_claims
from ratiobench.bench.report.claims.witnesses import STAGE, Witness, list_witnesses
from ratiobench.bench.report.explain.text import explain
from ratiobench.bench.results.read import read_results
from ratiobench.bench.running.heartbeat import set_current
from ratiobench.bench.running.work import make_failed
from ratiobench.bench.storage.explanations import explanation_document
from ratiobench.bench.storage.store import Store, StoredResult
from ratiobench.instances.io.errors import InputError
from ratiobench.instances.io.files import load_json, read_bytes


def store_explanations(family: Family, store: Store, folder: Path) -> None:
    """Explain the smallest witness of each violated claim, if it is small enough, unless the store has it already."""
    if family.explainer is None:
        return
    for each in list_witnesses(family, summarise_claims(read_results(store), family)):
        if each.key and not store.has(STAGE, each.instance, each.key):
            set_current(f"explaining {each.algorithm} beside {each.claim}")
            store.put(_explanation(family, folder, each))


def _explanation(family: Family, folder: Path, witness: Witness) -> StoredResult:
    started = time.perf_counter()
    try:
        data, source = read_bytes(folder / f"{witness.instance}.json.gz")
        text = explain(family, read_instance(load_json(data, source), source)[1], witness.algorithm, witness.claim)
        payload, seconds = explanation_document(text), time.perf_counter() - started
        return StoredResult(STAGE, witness.instance, witness.key, True, payload, None, seconds)
    except InputError as error:  # such as constants of another day, which the explanation does not have
        return make_failed(STAGE, witness.instance, witness.key, str(error), time.perf_counter() - started)
