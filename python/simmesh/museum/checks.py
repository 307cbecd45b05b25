"""The checks of the exhibits. Each is one call that any user has, and has nothing of its own.

``find`` runs a program and returns the report of the first finding, or None where there is none.
"""

from __future__ import annotations

import inspect
import math
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import simmesh

Program = Callable[..., Any]


class Check(Protocol):
    """A check of a program."""

    def find(self, program: Program) -> str | None:
        """The report of the first finding; None where there is none."""


def _text_of(error: BaseException) -> str:
    """An error of a program with the report that its notes have."""
    told = [f"{type(error).__name__}: {error}" if str(error)[:1] != "[" else str(error)]
    return "\n".join([*told, *getattr(error, "__notes__", ())])


def _error_of(call: Callable[[], Any]) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except Exception as error:  # whatever a program raises is its finding
        return _text_of(error)
    return None


@dataclass(frozen=True)
class SameAsOneDevice:
    """``simmesh.same_as_one_device``: all bits are one device's. Programs take a mesh."""

    ranks: int | None = None
    layouts: Sequence[Mapping[str, int]] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def find(self, program: Program) -> str | None:
        return _error_of(
            lambda: simmesh.same_as_one_device(
                program, ranks=self.ranks, layouts=self.layouts, **self.options
            )
        )


@dataclass(frozen=True)
class Replicas:
    """``simmesh.same_on_replicas``: parameters, gradients and states are equal on the ranks along
    ``over``. Programs take a mesh.
    """

    ranks: int | None = None
    layout: Mapping[str, int] | None = None
    over: Sequence[str] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def find(self, program: Program) -> str | None:
        return _error_of(
            lambda: simmesh.same_on_replicas(
                program, ranks=self.ranks, layout=self.layout, over=self.over, **self.options
            )
        )


@dataclass(frozen=True)
class Schedules:
    """``simmesh.spmd``: no deadlock, no mismatch, no error, and the same bits under each schedule.
    Programs take a mesh with one dim "dp", or nothing.
    """

    ranks: int = 2
    schedules: int = 20
    options: Mapping[str, Any] = field(default_factory=dict)

    def find(self, program: Program) -> str | None:
        spmd = simmesh.spmd(world_size=self.ranks, schedules=self.schedules, **self.options)
        test: Program = spmd(partial(_run_on_rank, program, self.ranks))
        return _error_of(test)


@dataclass(frozen=True)
class Accesses:
    """``simmesh.spmd(local="exact")``: nothing touches a buffer of an operation that the program
    hasn't waited for. Programs take a mesh with one dim "dp", or nothing.
    """

    ranks: int = 2
    options: Mapping[str, Any] = field(default_factory=dict)

    def find(self, program: Program) -> str | None:
        exact = {"local": "exact", **self.options}
        return Schedules(self.ranks, 1, exact).find(program)


def _run_on_rank(program: Program, ranks: int) -> Any:
    if not inspect.signature(program).parameters:
        return program()
    from torch.distributed.device_mesh import init_device_mesh

    return program(init_device_mesh("cpu", (ranks,), mesh_dim_names=("dp",)))


@dataclass(frozen=True)
class Rule:
    """``simmesh.rulecheck``: a sharding rule holds. Without ``rule`` it is the one that
    ``@simmesh.rule`` writes beside each function, or the function's own.
    """

    rule: Any = None
    inputs: Sequence[Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    def find(self, program: Program) -> str | None:
        from simmesh.rules.marks import marks_of

        own = ((self.rule, self.inputs), {"unclaimed": False, **self.options})
        judged = [partial(_judge_rule, program, *mark) for mark in marks_of(program) or [own]]
        return next((text for text in map(_error_of, judged) if text), None)


def _judge_rule(function: Program, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    simmesh.rulecheck(function, *arguments, **options).check()


@dataclass(frozen=True)
class Typed:
    """``simmesh.typed.check``: each tensor is what its type declares. Programs take a mesh."""

    layout: Mapping[str, int]
    options: Mapping[str, Any] = field(default_factory=dict)

    def find(self, program: Program) -> str | None:
        from simmesh import typed

        return _error_of(lambda: typed.check(program, layout=self.layout, **self.options).check())


@dataclass(frozen=True)
class Resumed:
    """``simmesh.same_when_resumed``: a training that stops and continues from its checkpoint, on
    these layouts one after the other, has the bits of one that never stops. Programs take a mesh,
    the folder of the checkpoint, and the number of steps after which they end.
    """

    layouts: Sequence[Mapping[str, int]]
    steps: Sequence[int] = (1, 2)
    options: Mapping[str, Any] = field(default_factory=dict)

    def find(self, program: Program) -> str | None:
        return _error_of(
            lambda: simmesh.same_when_resumed(
                program, layouts=self.layouts, steps=self.steps, **self.options
            )
        )


@dataclass(frozen=True)
class SameCheckpoint:
    """``simmesh checkpoint diff``: a checkpoint that ranks write has the tensors of the one that
    one device writes. Programs take a mesh and the folder of the checkpoint.
    """

    layout: Mapping[str, int]
    options: Mapping[str, Any] = field(default_factory=dict)

    def find(self, program: Program) -> str | None:
        with tempfile.TemporaryDirectory() as folder:
            paths = Path(folder) / "one_device", Path(folder) / "ranks"
            layouts = dict.fromkeys(self.layout, 1), self.layout
            for path, layout in zip(paths, layouts):
                path.mkdir()
                failure = _error_of(partial(self._save, program, path, layout))
                if failure:
                    return failure
            return _difference_of_checkpoints(*paths)

    def _save(self, program: Program, path: Path, layout: Mapping[str, int]) -> None:
        from torch.distributed.device_mesh import init_device_mesh

        def save() -> None:
            names, sizes = tuple(layout), tuple(layout.values())
            program(init_device_mesh("cpu", sizes, mesh_dim_names=names), path)

        ranks = math.prod(layout.values())
        test: Program = simmesh.spmd(world_size=ranks, schedules=1, **self.options)(save)
        test()


def _difference_of_checkpoints(path: Path, other: Path) -> str | None:
    command = [sys.executable, "-m", "simmesh", "checkpoint", "diff", str(path), str(other)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    text = ran.stdout + ran.stderr
    for each in (path, other):
        text = text.replace(str(each), each.name)
    return text.rstrip() if ran.returncode else None


@dataclass(frozen=True)
class Counts:
    """``simmesh.spmd_run(...).calls``: each rank starts as many of these operations, or sends as
    many bytes by them, as are expected. Programs take a mesh with one dim "dp", or nothing.
    """

    ranks: int = 2
    calls: Mapping[str, int] = field(default_factory=dict)
    nbytes: Mapping[str, int] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)

    def find(self, program: Program) -> str | None:
        return _error_of(
            lambda: simmesh.spmd_run(
                _run_on_rank, program, self.ranks, world_size=self.ranks, **self.options
            ).expect(calls=self.calls, nbytes=self.nbytes)
        )
