"""The command `calibrate` for family `lora`."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ratiobench.bench.family.capabilities import CalibrationResult, CalibrationSettings, Calibrator
from ratiobench.bench.lora.calibrate.finetuning import DTYPES, GPT2, SMALL, TorchMachine
from ratiobench.bench.lora.calibrate.measurement import Plan, calibrate
from ratiobench.instances.io.files import text_of
from ratiobench.instances.lora.calibration import check_name, describe_gpu


def _measure(
    settings: CalibrationSettings, progress: Callable[[str], None], tell: Callable[[str], None]
) -> CalibrationResult:
    name = check_name(settings.name, "--name", "")
    seconds = settings.seconds if settings.seconds is not None else 0.05 if settings.quick else 5.0
    plan = Plan(name, settings.tasks, settings.batch, seconds, settings.watts)
    progress("loading PyTorch")
    model = SMALL if settings.quick else GPT2
    with closing(TorchMachine(settings.device, settings.dtype, model, settings.watts is None)) as machine:
        found = calibrate(machine, plan, progress, tell)
    document = dict(found.document or {})
    return CalibrationResult(document, text_of(document), describe_gpu(found), _use)


def _use(file: Path) -> str:
    return f"generate day:trace=philly,tasks=300,nodes=2,calibration={shlex.quote(str(file))} --out DIR"


CALIBRATOR = Calibrator(_measure, DTYPES)
