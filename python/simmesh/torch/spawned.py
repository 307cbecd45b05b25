"""Ranks in place of the processes that a script starts: ``torch.multiprocessing.spawn``, and
processes of ``multiprocessing``.

The script runs on the host up to the call. Then each process is a rank. One that is spawned reads
the script anew under the name ``__mp_main__``; one that is forked begins with the host's globals.
"""

from __future__ import annotations

import ast
import io
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Callable

import torch.multiprocessing

from simmesh import _core
from simmesh.torch.run import Run
from simmesh.torch.script import Program
from simmesh.torch.started import StartedProcesses, processes_are_ranks

_SPAWNING = ("spawn", "start_processes")
_MODULES = ("torch.multiprocessing", "multiprocessing")
_OF_TORCHRUN = {"RANK", "LOCAL_RANK"}

#: Runs a body on as many ranks, each of which has its own state of the named packages, too.
Runner = Callable[[Callable[[int], Any], int, Sequence[str]], Run]

# A process of a fork begins with the globals of the script, which are its own from then on.
_FORKED = ("__main__",)


def spawns_ranks(source: bytes) -> bool:
    """True if the script starts its ranks itself: if it names ``torch.multiprocessing`` and one of
    its functions that start processes and wait for them, or ``Process`` of multiprocessing and no
    variable by which torchrun tells a process its rank.
    """
    names: set[str] = set()
    texts: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
    modules = [name for name in names if name.startswith(_MODULES)]
    is_of_torch = any(name.startswith(_MODULES[0]) for name in modules)
    if is_of_torch and any(name in names or f"{_MODULES[0]}.{name}" in names for name in _SPAWNING):
        return True
    starts = "Process" in names or any(name.endswith(".Process") for name in modules)
    return bool(modules) and starts and not texts & _OF_TORCHRUN


class SpawnedRun:
    """The runs of ranks that one run of a script on the host made."""

    def __init__(self, program: Program, arguments: list[str], run: Runner, is_quiet: bool) -> None:
        self._program = program
        self._arguments = arguments
        self._run = run
        self._is_quiet = is_quiet
        self.runs: list[Run] = []

    def execute(self) -> None:
        """Runs the script. Its exceptions are its own; that of a failed run is
        ``torch.multiprocessing.ProcessRaisedException``.
        """
        main = self._program.main()
        before = sys.modules["__main__"], sys.argv, sys.stdout
        sys.modules["__main__"], sys.argv = main, [str(self._program.path), *self._arguments]
        if self._is_quiet:
            sys.stdout = io.StringIO()
        try:
            started = StartedProcesses(self._run_started, self._function)
            with spawn_replaced(self._start), processes_are_ranks(started):
                exec(self._program.code, vars(main))
        except SystemExit as exit:
            if exit.code not in (None, 0):
                raise RuntimeError(
                    f"[torch/spawned] expected the script to end with status 0, got {exit.code}"
                ) from exit
        finally:
            sys.modules["__main__"], sys.argv, sys.stdout = before

    def _start(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...] = (),
        nprocs: int = 1,
        join: bool = True,
        daemon: bool = False,
        start_method: str = "spawn",
        **options: Any,
    ) -> Any:
        if _core.rank() is not None:
            raise RuntimeError(
                f"[torch/spawned] rank {_core.rank()}: expected a call on the host, got one in a "
                "rank"
            )

        if nprocs < 1:
            raise ValueError(
                f"[torch/spawned] nprocs: expected at least 1, got {nprocs}; with --device cuda "
                "the script sees as many devices as --ranks says"
            )

        def body(rank: int) -> None:
            if self._is_quiet:
                sys.stdout = io.StringIO()
            self._function(fn)(rank, *args)

        ran = self._run(body, nprocs, ())
        self.runs.append(ran)
        raise_failure(ran)
        return None if join else _Ended()

    def _run_started(self, body: Callable[[int], Any], ranks: int, is_forked: bool) -> Run:
        def quiet(rank: int) -> None:
            if self._is_quiet:
                sys.stdout = io.StringIO()
            body(rank)

        ran = self._run(quiet, ranks, _FORKED if is_forked else ())
        self.runs.append(ran)
        return ran

    def _function(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """The function in a module of the rank's own, where the script defines it."""
        if fn.__module__ != "__main__" or "<" in fn.__qualname__:
            return fn
        main = self._program.main("__mp_main__")
        sys.modules["__main__"] = main
        sys.argv = [str(self._program.path), *self._arguments]
        exec(self._program.code, vars(main))
        found: Any = main
        for name in fn.__qualname__.split("."):
            found = getattr(found, name)
        return found  # type: ignore[no-any-return]


def raise_failure(ran: Run) -> None:
    """Raises what ``torch.multiprocessing.spawn`` does where a process failed."""
    if ran.outcome.ok:
        return
    error = ran.outcome.exception
    text = "".join(traceback.format_exception(error)) if error else ran.outcome.report
    rank = ran.outcome.rank or 0
    raise torch.multiprocessing.ProcessRaisedException(
        f"\n\n-- Process {rank} terminated with the following error:\n{text}", rank, 0
    )


class _Ended:
    """The context of processes that have ended."""

    processes: tuple[Any, ...] = ()

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        return True

    def pids(self) -> list[int]:
        return []


@contextmanager
def spawn_replaced(start: Callable[..., Any]) -> Iterator[None]:
    """Replaces ``torch.multiprocessing.spawn`` and ``start_processes`` by ``start``."""
    # The package hides the module behind its function.
    owners = [torch.multiprocessing, sys.modules["torch.multiprocessing.spawn"]]
    before = [(owner, name, getattr(owner, name)) for owner in owners for name in _SPAWNING]
    for owner, name, _ in before:
        setattr(owner, name, start)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
