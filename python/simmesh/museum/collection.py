"""The exhibits' files: where they are, and what they say of themselves."""

from __future__ import annotations

import ast
import importlib.util
import linecache
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from simmesh.museum.exhibit import Exhibit

HALLS = {
    "zero": "ZeRO",
    "data_parallel": "Data parallelism: FSDP, HSDP, DDP",
    "dtensor": "DTensor",
    "tensor_parallel": "Tensor and sequence parallelism",
    "experts": "Experts",
    "context_parallel": "Context parallelism",
    "pipelines": "Pipelines",
    "norms": "Norms, clipping and means",
    "random_numbers": "Random numbers",
    "optimizers": "Optimizers",
    "checkpoints": "Checkpoints",
    "loaders": "Data loaders",
    "races_and_hangs": "Races and hangs",
    "mixed_precision": "Mixed precision",
}

_FOLDER = Path(__file__).resolve().parent / "halls"


@dataclass(frozen=True)
class Card:
    """The card beside an exhibit, read from its file without running it."""

    hall: str
    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        """The text of the file."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def _tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def story(self) -> str:
        """The story of the bug."""
        return ast.get_docstring(self._tree) or ""

    @cached_property
    def _statement(self) -> ast.Assign:
        statement = self._tree.body[-1]
        if not ast.unparse(statement).startswith("EXHIBIT = Exhibit("):
            raise ValueError(
                f"[museum] {self.path.name}: expected EXHIBIT = Exhibit(...) at the end, got "
                f"{ast.unparse(statement).splitlines()[0]}"
            )
        assert isinstance(statement, ast.Assign)
        return statement

    def _field(self, name: str) -> ast.expr:
        call = self._statement.value
        for each in call.keywords if isinstance(call, ast.Call) else ():
            if each.arg == name:
                return each.value
        raise ValueError(f"[museum] {self.path.name}: expected {name}=... in EXHIBIT, got none")

    @property
    def title(self) -> str:
        """The title."""
        return str(ast.literal_eval(self._field("title")))

    @property
    def source(self) -> str:
        """The project, with the number of the issue or change."""
        return str(ast.literal_eval(self._field("source")))

    @property
    def date(self) -> str:
        """The day of the change or report."""
        return str(ast.literal_eval(self._field("date")))

    @property
    def at_fault(self) -> str:
        """The name, or the text of the line, that a finding must have."""
        return str(ast.literal_eval(self._field("at_fault")))

    @property
    def check(self) -> str:
        """The check, as the file writes it."""
        return ast.unparse(self._field("check"))

    @cached_property
    def program(self) -> str:
        """The file between the story and the exhibit's card."""
        lines = self.text.splitlines()
        first = self._tree.body[0].end_lineno or 0
        kept = lines[first : self._statement.lineno - 1]
        return "\n".join(kept).strip("\n")

    @property
    def lines_at_fault(self) -> list[int]:
        """The numbers of the program's lines that have the text that is at fault."""
        first = self._tree.body[0].end_lineno or 0
        return [
            number
            for number, line in enumerate(self.text.splitlines(), 1)
            if first < number < self._statement.lineno and self.at_fault in line
        ]

    def load(self, seed: int = 0) -> Exhibit:
        """Runs the file and returns its exhibit. Reports name its lines as those of a user's file,
        which a file of this package isn't. ``seed`` is added to each seed in the file, so that its
        programs have other data and parameters.
        """
        place = f"museum/{self.hall}/{self.name}.py"
        module = _module(f"simmesh.museum.halls.{self.hall}.{self.name}", self.path)
        lines = self.text.splitlines(keepends=True)
        linecache.cache[place] = (len(self.text), None, lines, place)
        tree = _Reseeded(seed).visit(ast.parse(self.text))
        exec(compile(tree, place, "exec"), module.__dict__)
        exhibit: Exhibit = module.EXHIBIT
        return exhibit


class _Reseeded(ast.NodeTransformer):
    """Adds a number to the argument of each call of manual_seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if self.seed and isinstance(node.func, ast.Attribute) and node.func.attr == "manual_seed":
            added = ast.BinOp(node.args[0], ast.Add(), ast.Constant(self.seed))
            node.args[0] = ast.fix_missing_locations(ast.copy_location(added, node.args[0]))
        return node


def _module(name: str, path: Path) -> ModuleType:
    spec: ModuleSpec | None = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    return module


def cards(folder: Path = _FOLDER) -> list[Card]:
    """All exhibits, by halls and names."""
    return [
        Card(hall, path.stem, path)
        for hall in HALLS
        for path in sorted((folder / hall).glob("*.py"))
        if path.stem != "__init__"
    ]


def chosen(names: Sequence[str], folder: Path = _FOLDER) -> list[Card]:
    """The exhibits of these names and halls; all where there are none. Raises ValueError for a
    name that isn't there.
    """
    every = cards(folder)
    known: dict[str, Any] = {card.name for card in every} | set(HALLS)  # type: ignore[assignment]
    for name in names:
        if name not in known:
            raise ValueError(f"[museum] expected names of exhibits or halls, got {name!r}")
    return [each for each in every if not names or each.name in names or each.hall in names]
