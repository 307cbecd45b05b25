"""Which schedules a program is tried under."""

from __future__ import annotations

from typing import Iterator


def schedules_to_try(count: int) -> Iterator[str]:
    """First come first served, and then seeded ones, every fourth of which changes priorities at few points.

    A few changes of priority reach orders that uniform choices hardly ever make, and the other way round.
    """
    for index in range(count):
        if index == 0:
            yield "fifo"
        elif index % 4 == 0:
            yield f"pct:{2 + index // 4 % 3}"
        else:
            yield f"seeded:{index}"
