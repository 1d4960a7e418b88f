"""What a person or a CI runs: the benchmark, the tests, the style, the types. Each session installs what it needs."""

from __future__ import annotations

import re
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import nox
import nox.project
from nox.command import CommandFailed

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["tests"]
nox.options.reuse_existing_virtualenvs = True
nox.options.error_on_missing_interpreters = True

PROJECT = nox.project.load_toml("pyproject.toml")
# Where packages of others are called: solvers, tables, kernels, pages
LOWEST_TESTS = (
    "tests/formulations/test_backends.py", "tests/formulations/lora/test_crosscheck.py",
    "tests/formulations/lora/test_models.py", "tests/bench/test_cli.py", "tests/bench/test_api.py",
    "tests/bench/test_report.py", "tests/bench/test_store.py", "tests/online/lora/test_pdftsp.py",
)  # fmt: skip


def install(session: nox.Session, group: str | None = None, extra: str = "") -> None:
    """The package in its own place with the pinned versions, an optional extra, and a group of development tools."""
    tools = nox.project.dependency_groups(PROJECT, group) if group else ()
    keep_bytecode(session)
    with told(session, "installing the packages: up to a minute the first time"):
        fetch(session, "-c", "constraints.txt", "-e", f".[{extra}]" if extra else ".", *tools)


def fetch(session: nox.Session, *what: str) -> None:
    """Install by uv, which takes a third of pip's time; by pip if uv is missing or fails, for it may know no registry.

    A mirror that is named in pip's own settings is one that uv does not ask.
    """
    arguments = ("pip", "install", "-q", "--no-compile", *what)
    if uv := shutil.which("uv", path=str(Path(sys.executable).parent)):
        try:
            session.run_install(uv, *arguments, "--python", str(Path(session.bin).parent), external=True)
            return
        except CommandFailed:
            session.log("uv failed: pip installs")
    session.run_install("python", "-m", *arguments)


def keep_bytecode(session: nox.Session) -> None:
    """Let Python store the modules that it compiles, also where the environment of the caller forbids it.

    An installation then need not compile every module, which is a third of its time, and pytest and the processes that
    the tests start do not compile the same modules again.
    """
    session.env["PYTHONDONTWRITEBYTECODE"] = ""


@contextmanager
def told(session: nox.Session, what: str) -> Iterator[None]:
    """Say what is done, and every few seconds that it still is."""
    session.log(what)
    began, over = time.monotonic(), threading.Event()

    def remind() -> None:
        while not over.wait(4):
            session.log(f"... {time.monotonic() - began:.0f} s")

    thread = threading.Thread(target=remind, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@nox.session
def bench(session: nox.Session) -> None:
    """Run suites (default: quick) and report: `nox -s bench -- SUITE ... [options of run]`."""
    dask = any(argument.partition("=")[0] == "--dask" for argument in session.posargs)
    install(session, extra="dask" if dask else "")
    cut = next((i for i, argument in enumerate(session.posargs) if argument.startswith("-")), len(session.posargs))
    names, options = session.posargs[:cut], session.posargs[cut:]
    names = names or ["quick"]
    for name in names:
        session.run("python", "-m", "ratiobench", "run", name, *options)


def run_all(session: nox.Session, checks: Mapping[str, Callable[[], object]]) -> None:
    """Run all of them, whatever fails, and name at the end what did."""
    failed = []
    for name, check in checks.items():
        try:
            check()
        except CommandFailed:
            failed.append(name)
    if failed:
        session.error(f"failed: {', '.join(failed)}")


def run_tests(session: nox.Session, *options: str) -> None:
    """All kernels, side by side, then the files of tests in two processes; with arguments of pytest, one process.

    Kernels that the chosen tests need are then compiled when they are called.
    """
    if session.posargs:
        session.run("pytest", *options, *session.posargs)
        return
    session.run("python", "-m", "ratiobench", "warm")
    session.run("pytest", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", *options)


@nox.session
def tests(session: nox.Session) -> None:
    """The fast tests, or some of them: `nox -s tests -- [PATH ...] [options of pytest]`."""
    install(session, "test")
    run_tests(session, "-m", "not nightly")


@nox.session
def thorough(session: nox.Session) -> None:
    """All tests, all random examples, drawn anew; every way of isolation, adapters; then the standard sets."""
    install(session, "test", extra="isolate,gymnasium,openevolve,gepa")
    verify = ("python", "-m", "ratiobench", "standard", "verify", "--set")
    checks = {f"standard verify --set {name}": partial(session.run, *verify, name) for name in ("R1", "R2")}
    run_all(session, {"pytest": partial(run_tests, session, "--thorough")} | ({} if session.posargs else checks))


@nox.session
def lowest(session: nox.Session) -> None:
    """Tests of models, solvers and commands with the lowest version of every package that we ask for."""
    lowest = [re.sub(r">=([\w.]+).*", r"==\1", each) for each in PROJECT["project"]["dependencies"]]
    keep_bytecode(session)
    with told(session, "installing the lowest versions"):
        tools = [each for each in nox.project.dependency_groups(PROJECT, "test") if not each.startswith("distributed")]
        fetch(session, *lowest, *tools)
        fetch(session, "--no-deps", "-e", ".")
    session.run("pytest", "-m", "not nightly", *(session.posargs or LOWEST_TESTS))


@nox.session
def golden(session: nox.Session) -> None:
    """Hold today's figures, decisions and interfaces against stored ones: `nox -s golden -- [long] [PART ...]`."""
    install(session, "test")
    session.run("python", "-m", "ratiobench", "warm")
    session.run("python", "-m", "tests.golden", *session.posargs)


@nox.session
def power(session: nox.Session) -> None:
    """Plant 60 faults in words and 200 mutants, one at a time, and run the tests that reach them."""
    install(session, "test")
    fetch(session, "-c", "constraints.txt", "pytest-cov")
    session.run("python", "-m", "ratiobench", "warm")
    session.run("python", "-m", "tests.power", *session.posargs)


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the wheel, install it into an empty environment, and try it outside the checkout."""
    shutil.rmtree("build", ignore_errors=True)  # files of an earlier build would be packed again
    folder = session.create_tmp()
    for old in Path(folder).glob("ratiobench-*.whl"):
        old.unlink()
    with told(session, "building the wheel, and installing it"):
        session.run_install("python", "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ".", silent=True)
        session.run_install("python", "-m", "pip", "uninstall", "-q", "-y", "ratiobench", silent=True)
        session.install("-q", "-c", "constraints.txt", *map(str, Path(folder).glob("ratiobench-*.whl")))
    shutil.rmtree("build", ignore_errors=True)
    # In the system's temporary folder: nox's is inside the environment, whose files do not count as a user's own.
    session.run("python", "tools/wheel_check.py", env={"TMPDIR": None})


@nox.session
def theory(session: nox.Session) -> None:
    """Every proved claim on 10,000 exact random instances: `nox -s theory -- [--count N] [--first N]`.

    About an hour of one core, as not every invariant applies to every instance; `--first N` begins with instance N.
    """
    install(session, "test")
    session.run("python", "-m", "tests.tools.theory_run", *session.posargs)


@nox.session
def crosscheck(session: nox.Session) -> None:
    """Every solver beside brute force on 300 random tiny instances: `nox -s crosscheck -- [--count N] [--first N]`."""
    install(session, "test")
    session.run("python", "-m", "tests.tools.crosscheck_run", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """2,000 mutants of logs, clusters, suites' files and recipes: `nox -s mutants -- [--count N] [--seed S]`."""
    install(session, "test")
    session.run("python", "-m", "tests.tools.mutations", *session.posargs)


@nox.session
def perf(session: nox.Session) -> None:
    """Measure speed: `nox -s perf -- models|decisions|startup [NAME ...] [--quick]`."""
    install(session)
    session.run("python", "tools/perf.py", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation into docs/_build/html; notebooks are executed, warnings are errors."""
    install(session, "docs")
    session.run("sphinx-build", "-W", "--keep-going", "-q", "-b", "html", "docs", "docs/_build/html", *session.posargs)
    session.log("documentation: docs/_build/html/index.html")


@nox.session
def lint(session: nox.Session) -> None:
    """Style, format, imports between the packages."""
    fetch(session, "-c", "constraints.txt", *nox.project.dependency_groups(PROJECT, "lint"))
    fetch(session, "--no-deps", "-e", ".")
    commands = (("ruff", "check", "."), ("ruff", "format", "--check", "."), ("lint-imports",))
    run_all(session, {" ".join(command): partial(session.run, *command) for command in commands})


@nox.session
def types(session: nox.Session) -> None:
    """mypy, strict."""
    install(session, "types")
    session.run("mypy", *session.posargs)
