"""The command `import` for family `lora`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ratiobench.bench.family.capabilities import ImportReport, ImportSettings, LogImport
from ratiobench.bench.family.suite import NamedSummary
from ratiobench.instances.lora.cluster import read_cluster
from ratiobench.instances.lora.example import example
from ratiobench.instances.lora.imports import Laws, import_log
from ratiobench.instances.lora.logs import list_formats
from ratiobench.instances.lora.model import Instance
from ratiobench.instances.lora.schedules import ScheduleKind


def _read(log: Path, settings: ImportSettings, tell: Callable[[int], None]) -> tuple[ImportReport, Iterator[Instance]]:
    low, high = (int(price * 10**6) for price in settings.price)
    laws = Laws(
        slot_seconds=settings.slot_seconds,
        days=settings.days,
        tail=None if settings.tail_seconds == "auto" else int(settings.tail_seconds),
        slack=settings.slack,
        per_gpu_hour=(low, high),
        list_price=None if settings.list_price is None else int(settings.list_price * 10**6),
        seed=settings.seed,
        first=settings.first,
        last=settings.last,
        run=None if settings.run is None else ScheduleKind(settings.run),
        full=settings.begin == "full",
    )
    cluster = read_cluster(settings.cluster)
    return import_log(log, settings.form, cluster, laws, settings.columns, settings.skip_bad, tell)


LOG_IMPORT = LogImport(
    lambda: [NamedSummary(form.name, form.title) for form in list_formats().values()], _read, example
)
