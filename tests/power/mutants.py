"""Mutants: one operator, constant or statement of a module is changed, chosen by a seed that its place gives."""

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# What judges, counts or stores: a fault here is a wrong result that nobody sees
MODULES = (
    "formulations/eapm/check.py", "formulations/edgeflow/check.py", "formulations/lora/check.py",
    "formulations/tenants/check.py", "formulations/eapm/verify.py", "formulations/edgeflow/verify.py",
    "formulations/lora/verify.py", "formulations/tenants/verify.py", "bench/results/ratios.py",
    "online/eapm/run.py", "online/edgeflow/simulator.py", "online/lora/simulator.py",
    "online/tenants/simulator.py", "online/referee/runner.py", "formulations/engine.py", "bench/storage/store.py",
    "instances/lora/format.py",
)  # fmt: skip

COMPARISONS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.In: "not in",
    ast.NotIn: "in", ast.Is: "is not", ast.IsNot: "is",
}  # fmt: skip
ARITHMETIC = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "+"}


@dataclass(frozen=True)
class Fault:
    """A fault that can be planted: the characters [begin, end) of a file are replaced."""

    name: str  # what is wrong, in words, or the place and the change of a mutant
    file: str
    begin: int
    end: int
    text: str

    def line(self, source: str) -> int:
        """The line in which it begins, from 1."""
        return source.count("\n", 0, self.begin) + 1

    def plant(self, root: Path) -> str:
        """Change the file in a copy of the tree; the source as it was."""
        source = (root / self.file).read_text()
        (root / self.file).write_text(source[: self.begin] + self.text + source[self.end :])
        return source


def mutants(root: Path, count: int) -> list[Fault]:
    """Choose so many mutants of all modules, as many of each as its size gives, the same in each run."""
    modules = [name for name in MODULES if (root / name).exists()]
    found = {name: sorted(_mutants_of(root, name), key=_draw) for name in modules}
    total = sum(map(len, found.values()))
    return [fault for faults in found.values() for fault in faults[: max(4, count * len(faults) // total)]]


def _draw(fault: Fault) -> bytes:
    return hashlib.sha256(fault.name.encode()).digest()


def _mutants_of(root: Path, name: str) -> Iterator[Fault]:
    source = (root / name).read_text()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.AST, *, end: bool = False) -> int:
        # The sources are ASCII, or else columns in bytes would not be columns in characters.
        if end:
            return starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def between(left: ast.AST, right: ast.AST, text: str) -> Fault | None:
        begin, finish = place(left, end=True), place(right)
        gap = source[begin:finish]
        operator = gap.strip(" ()\n")
        if not operator or "\n" in gap or "#" in gap:
            return None
        at = begin + gap.index(operator)
        return fault(at, at + len(operator), text)

    def fault(begin: int, end: int, text: str) -> Fault:
        line = source.count("\n", 0, begin) + 1
        return Fault(f"{name}:{line}: {source[begin:end]!r} -> {text!r}", name, begin, end, text)

    for node in ast.walk(ast.parse(source)):
        change = None
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
            change = between(node.left, node.comparators[0], COMPARISONS[type(node.ops[0])])
        elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC and not isinstance(node.left, ast.Constant):
            change = between(node.left, node.right, ARITHMETIC[type(node.op)])
        elif isinstance(node, ast.BoolOp) and len(node.values) == 2:
            change = between(*node.values, "and" if isinstance(node.op, ast.Or) else "or")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            change = fault(place(node), place(node.operand), "")
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            change = fault(place(node), place(node, end=True), str(node.value + 1))
        elif isinstance(node, ast.Raise | ast.Continue | ast.Break) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        ):
            change = fault(place(node), place(node, end=True), "pass")
        elif isinstance(node, ast.If):
            change = fault(place(node.test), place(node.test, end=True), "False")
        if change is not None and source.isascii():
            yield change
