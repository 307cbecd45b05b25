"""Ranks in place of the processes that a script spawns: ``torch.multiprocessing.spawn``.

The script runs on the host up to the call. Then each process is a rank, which reads the script
anew under the name ``__mp_main__``, as a spawned process does.
"""

from __future__ import annotations

import ast
import io
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import torch.multiprocessing

from simmesh import _core
from simmesh.torch.run import Run
from simmesh.torch.script import Program

_SPAWNING = ("spawn", "start_processes")

#: Runs a body on as many ranks.
Runner = Callable[[Callable[[int], Any], int], Run]


def spawns_ranks(source: bytes) -> bool:
    """True if the script names ``torch.multiprocessing`` and one of its functions that start
    processes and wait for them.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            names.update(f"{node.module}.{each.name}" for each in node.names)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    has_module = any(name.startswith("torch.multiprocessing") for name in names)
    return has_module and any(
        name in names or f"torch.multiprocessing.{name}" in names for name in _SPAWNING
    )


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
            with _replaced(self._start):
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

        def body(rank: int) -> None:
            if self._is_quiet:
                sys.stdout = io.StringIO()
            self._function(fn)(rank, *args)

        ran = self._run(body, nprocs)
        self.runs.append(ran)
        if not ran.outcome.ok:
            error = ran.outcome.exception
            text = "".join(traceback.format_exception(error)) if error else ran.outcome.report
            raise torch.multiprocessing.ProcessRaisedException(
                f"\n\n-- Process {ran.outcome.rank or 0} terminated with the following error:\n"
                f"{text}",
                ran.outcome.rank or 0,
                0,
            )
        return None if join else _Ended()

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


class _Ended:
    """The context of processes that have ended."""

    processes: tuple[Any, ...] = ()

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        return True

    def pids(self) -> list[int]:
        return []


@contextmanager
def _replaced(start: Callable[..., Any]) -> Iterator[None]:
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
