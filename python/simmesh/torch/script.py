"""Runs a script as the program of every rank, as torchrun runs it as processes."""

from __future__ import annotations

import io
import sys
import types
from pathlib import Path
from typing import Any, Callable


def program_of(path: Path, arguments: list[str], is_quiet: bool = False) -> Callable[[int], None]:
    """The body of a rank that runs the script as ``__main__``, with these command-line
    arguments.

    Each rank has a module of its own for the script, so that its globals are the rank's. Raises
    OSError or SyntaxError if the script can't be read. ``is_quiet`` drops its output.
    """
    code = compile(path.read_text(encoding="utf-8"), str(path), "exec")

    def program(rank: int) -> None:
        main: Any = types.ModuleType("__main__")
        main.__file__ = str(path)
        sys.modules["__main__"] = main
        sys.argv = [str(path), *arguments]
        if is_quiet:
            sys.stdout = io.StringIO()
        try:
            exec(code, vars(main))
        except SystemExit as exit:
            if exit.code not in (None, 0):
                raise RuntimeError(
                    f"[torch/script] expected the script to end with status 0, got {exit.code}"
                ) from exit

    return program
