"""The text of a rank's exception: the lines of the program and of its frameworks."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterable, Sequence

import simmesh

# Frames of simmesh and of Python's imports say nothing about the program.
_HIDDEN = (os.path.dirname(os.path.realpath(str(simmesh.__file__))) + os.sep, "<frozen importlib")


def failure_text(error: BaseException) -> str:
    """The traceback of an exception without simmesh's own lines, as Python prints it. Those of its
    causes come first.
    """
    told = traceback.TracebackException.from_exception(error, compact=True)
    _hide(told)
    return "".join(told.format()).rstrip("\n")


def _hide(told: traceback.TracebackException) -> None:
    seen: set[int] = set()
    waiting: list[traceback.TracebackException | None] = [told]
    while waiting:
        each = waiting.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        shown = [frame for frame in each.stack if not _is_hidden(frame.filename)]
        # An error that simmesh raises itself has no other lines.
        if shown:
            each.stack[:] = shown
        waiting += [each.__cause__, each.__context__, *(getattr(each, "exceptions", None) or ())]


def _is_hidden(file: str) -> bool:
    return file.startswith("<frozen importlib") or os.path.realpath(file).startswith(_HIDDEN)


# Packages whose state is each rank's own already, or that call tests.
_OTHERS = {*sys.stdlib_module_names, "torch", "numpy", "simmesh", "pytest", "_pytest", "pluggy"}


def shared_packages(error: BaseException, isolated: Iterable[str]) -> list[str]:
    """The packages in an exception's traceback whose state the ranks of the run shared."""
    names = (frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(error.__traceback__))
    tops = dict.fromkeys(str(name).partition(".")[0] for name in names)
    own = {*_OTHERS, *(name.partition(".")[0] for name in isolated)}
    return [top for top in tops if top not in own and hasattr(sys.modules.get(top), "__path__")]


def notes(error: BaseException | None, isolated: Sequence[str]) -> list[str]:
    """Lines that say which packages were each rank's own, and which ones could have been."""
    lines = [f"isolated: {', '.join(isolated)}"] if isolated else []
    for name in [] if error is None else shared_packages(error, isolated):
        lines.append(
            f"note: ranks share what the package {name} keeps; isolate={[name]!r}, or --isolate "
            f"{name}, gives each rank its own"
        )
    return lines
