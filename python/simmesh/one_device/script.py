"""Programs that are files: a function of a mesh, or a script that each rank runs whole."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

Program = Callable[..., Any]


class Script:
    """A script as torchrun runs it: it makes its process groups, and no mesh is given to it."""

    def __init__(self, path: Path, arguments: Sequence[str]) -> None:
        from simmesh.torch.script import program_of

        self._run = program_of(path, list(arguments), is_quiet=True)

    def __call__(self, rank: int) -> None:
        """Runs the script on this rank."""
        self._run(rank)


def program_named(name: str, arguments: Sequence[str]) -> Program | Script:
    """The program "train.py", or "train.py:function", whose function gets the mesh and then the
    arguments. Raises ValueError or OSError where there is none.
    """
    file, _, function = name.partition(":")
    path = Path(file)
    sys.path.insert(0, str(path.parent))
    if not function:
        try:
            return Script(path, arguments)
        except SyntaxError as error:
            raise ValueError(f"[one_device/script] {file}: expected Python, got {error}") from error
    program = getattr(_imported(path), function, None)
    if not callable(program):
        raise ValueError(f"[one_device/script] {file}: expected a function {function!r}, got none")
    return lambda mesh: program(mesh, *arguments)


def _imported(path: Path) -> Any:
    name = f"simmesh_program_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"[one_device/script] expected a file of Python, got {str(path)!r}")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except OSError:
        raise
    except Exception as error:
        raise ValueError(
            f"[one_device/script] {path}: expected a file that can be imported, got "
            f"{type(error).__name__}: {error}"
        ) from error
    return module
