"""The schedules under which a program is tried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Schedule(NamedTuple):
    """A schedule in the words of the core, and the seed of its random choices."""

    text: str
    seed: int = 0


FIFO = Schedule("fifo")


def schedules_to_try(count: int) -> Iterator[Schedule]:
    """First come first served, and then random ones, every fourth of which changes priorities at
    few points.

    A few changes of priority reach orders that uniform choices hardly ever make, and the other way
    round.
    """
    for index in range(count):
        if index == 0:
            yield FIFO
        elif index % 4 == 0:
            yield Schedule(f"pct:{2 + index // 4 % 3}", index)
        else:
            yield Schedule(f"seeded:{index}", index)
