"""Modules of libraries that ranks import. The processes of the next run start with them: a rank
that imports a compiler takes seconds for it, and its process ends with the run.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterable

# Libraries whose modules hold nothing of a rank when they are imported.
_LIBRARIES = frozenset(
    ("torch", "torchgen", "functorch", "numpy", "sympy", "mpmath", "networkx", "simmesh")
) | sys.stdlib_module_names - {"__main__"}


def imported_since(before: Iterable[str]) -> list[str]:
    """The modules of libraries that this process has imported since, in their order."""
    known = set(before)
    return [
        name for name, module in list(sys.modules.items())
        if name not in known and name.partition(".")[0] in _LIBRARIES
        and getattr(module, "__spec__", None) is not None
    ]  # fmt: skip


def import_all(names: Iterable[str]) -> None:
    """Imports modules that aren't there yet. What can't be imported is left to the ranks."""
    for name in names:
        if name not in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
