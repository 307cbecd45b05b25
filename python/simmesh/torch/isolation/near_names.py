"""Names that a program may have meant where the one that it gave doesn't exist."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from importlib import metadata

_MOST = 3


def near(name: str, known: Iterable[str]) -> list[str]:
    """Returns the known names that differ from a name in few letters, the nearest first."""
    by_lower = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), by_lower, _MOST, 0.75)
    return [by_lower[each] for each in found]


def packages() -> set[str]:
    """The packages that are installed or imported, without those of Python itself."""
    tops = {name.partition(".")[0] for name in list(sys.modules)}
    return (tops | set(metadata.packages_distributions())) - sys.stdlib_module_names


def hint(names: Iterable[str]) -> str:
    """Returns the end of a message that names what is near; empty for nothing."""
    found = list(names)
    return f"; near: {', '.join(found)}" if found else ""
