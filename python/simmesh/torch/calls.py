"""The operations that a rank has started, counted by their names and lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from simmesh import _core


class Calls:
    """Counts of a rank's collectives and messages.

    Names are those of reports: all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send
    and so on. Bytes are those of the tensors that the rank gives to them.
    """

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, str]] = Counter()
        self._nbytes: Counter[str] = Counter()

    def add(self, name: str, inputs: Sequence[Any]) -> None:
        """Counts a call of the program's line that runs."""
        self._calls[name, _core.call_site()] += 1
        self._nbytes[name] += sum(each.numel() * each.element_size() for each in inputs)

    def names(self) -> list[str]:
        """The names of the operations that were started, in order."""
        return sorted({name for name, _ in self._calls})

    def count(self, name: str) -> int:
        """The number of calls of an operation."""
        return sum(count for (each, _), count in self._calls.items() if each == name)

    def nbytes(self, name: str) -> int:
        """The bytes that the rank gave to an operation, over all calls."""
        return self._nbytes[name]

    def lines(self, name: str) -> dict[str, int]:
        """The calls of an operation by the program's lines: "train.py:12"."""
        return {line: count for (each, line), count in self._calls.items() if each == name}

    def problem(self, calls: Mapping[str, int], nbytes: Mapping[str, int]) -> str:
        """The first count that isn't the expected one, with the lines; empty if all are."""
        for expected, count, unit in ((calls, self.count, "calls"), (nbytes, self.nbytes, "bytes")):
            for name, number in expected.items():
                got = count(name)
                if got != number:
                    return f"expected {number} {unit} of {name}, got {got}{self._lines_of(name)}"
        return ""

    def _lines_of(self, name: str) -> str:
        lines = [f"{line} ({count})" for line, count in self.lines(name).items()]
        return f": {', '.join(lines)}" if lines else ""
