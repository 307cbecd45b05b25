"""Runs a script as the program of every rank, as torchrun runs it as processes."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Program:
    """A script's code. One that was named as a module has its specification."""

    path: Path
    code: types.CodeType
    spec: ModuleSpec | None = None

    @property
    def folder(self) -> str:
        """The folder in which Python looks for the program's own modules."""
        return os.getcwd() if self.spec is not None else str(self.path.parent)

    def main(self, name: str = "__main__") -> Any:
        """A new module for the code, under the name that it has where it runs."""
        main: Any = types.ModuleType(name)
        main.__file__ = str(self.path)
        if self.spec is not None:
            main.__spec__, main.__package__ = self.spec, self.spec.parent
            main.__loader__ = self.spec.loader
        return main


def read_script(path: Path) -> Program:
    """The script at a path, in the encoding that it names, as Python reads it. Raises OSError or
    SyntaxError if it can't be read.
    """
    return Program(path, compile(path.read_bytes(), str(path), "exec"))


def read_module(name: str) -> Program:
    """The module that ``python -m`` would run. A package is run by its ``__main__``. Raises
    ValueError if there is none.
    """
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ImportError:
        spec = None
    code = None if spec is None else spec.loader.get_code(spec.name)  # type: ignore[union-attr]
    if spec is None or code is None or spec.origin is None:
        raise ValueError(f"[torch/script] -m: expected a module that Python finds, got {name!r}")
    return Program(Path(spec.origin), code, spec)


def program_of(
    source: Path | Program,
    arguments: list[str],
    is_quiet: bool = False,
    arguments_of: Callable[[int], list[str]] = lambda rank: [],
) -> Callable[[int], None]:
    """The body of a rank that runs the script as ``__main__``, with these command-line
    arguments.

    Each rank has a module of its own for the script, so that its globals are the rank's. Raises
    OSError or SyntaxError if the script can't be read. ``is_quiet`` drops its output.
    ``arguments_of`` gives further arguments of a rank, which come first.
    """
    read = read_script(source) if isinstance(source, Path) else source

    def program(rank: int) -> None:
        main = read.main()
        sys.modules["__main__"] = main
        sys.argv = [str(read.path), *arguments_of(rank), *arguments]
        if is_quiet:
            sys.stdout = io.StringIO()
        try:
            exec(read.code, vars(main))
        except SystemExit as exit:
            if exit.code not in (None, 0):
                raise RuntimeError(
                    f"[torch/script] expected the script to end with status 0, got {exit.code}"
                ) from exit

    return program
