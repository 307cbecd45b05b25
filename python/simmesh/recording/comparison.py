"""Compares the answers of two versions of PyTorch to the same questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from simmesh.recording.cases import Case

# The field says who answered, which differs between any two versions.
_SAID_BY = ("source",)


def differences(old: Case, new: Case) -> list[str]:
    """Returns a line for each place that differs, as ``collectives.all_gather: 2, then 1``."""
    fields = [
        {name: value for name, value in case.items() if name not in _SAID_BY} for case in (old, new)
    ]
    return list(_differences("", *fields))


def _differences(place: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(name for name in new if name not in old)]:
            inner = f"{place}.{name}" if place else name
            yield from _differences(inner, old.get(name, _NOTHING), new.get(name, _NOTHING))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new)):
            yield from _differences(f"{place}[{index}]", one, other)
    elif old != new or type(old) is not type(new):
        yield f"{place}: {_short(old)}, then {_short(new)}"


class _Nothing:
    def __repr__(self) -> str:
        return "nothing"


_NOTHING = _Nothing()


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
