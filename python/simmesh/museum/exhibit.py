"""An exhibit: a published bug as a wrong and a right program, and the check that parts them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from simmesh.museum.checks import Check


@dataclass(frozen=True)
class Exhibit:
    """A published bug.

    ``source`` is the project with the number of the issue or change, and ``date`` that of the
    change, or of the report where there is none. ``wrong`` and ``right`` are programs on the same
    data, in the form that ``check`` takes. ``at_fault`` is what a finding must name: a parameter,
    module, operator or tensor, or the text of a line of the exhibit's file, in place of its number.
    """

    title: str
    source: str
    date: str
    check: Check
    wrong: Callable[..., Any]
    right: Callable[..., Any]
    at_fault: str
