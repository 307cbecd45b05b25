"""How much do ranks that are processes cost, and how much do they gain, beside ranks that are
threads and processes of gloo?

Prints a table: what was measured, with processes, with the peer, the ratio, and what is asked. All
are wall times of one run on this machine, the least of several that alternate, so that noise counts
for little. ``python seats.py ROW...`` measures some of the rows: start, turn, step, compute.

``--json`` prints lines of JSON instead.
"""

from __future__ import annotations

import functools
import sys
from typing import Any, Callable

import lines
import torch
import torch.distributed as dist
from torch_ranks import RANKS, least_seconds, on_processes, small_step

import simmesh
from simmesh import _core

TURNS = 200


def nothing() -> None:
    """Starts, and ends."""


def turns() -> None:
    """Passes the turn to the next rank again and again."""
    for _ in range(TURNS):
        _core.yield_now()


def computing(steps: int) -> torch.Tensor:
    """Computes for some tenths of a second between all-reduces, as a large model does."""
    torch.manual_seed(dist.get_rank())
    state = torch.randn(512, 512) / 32
    for _ in range(steps):
        for _ in range(24):
            state = state @ state.T / 16
        dist.all_reduce(state)
    return state


#: A row of the table: what was measured, with processes, with the peer, and what is asked.
Row = tuple[str, float, float, str]


def seconds(
    program: Callable[[], Any], seats: tuple[str, ...], ranks: int = RANKS, times: int = 5
) -> list[float]:
    """Returns the least wall time of a run with each kind of seats, in alternation."""

    def run(kind: str) -> None:
        result = simmesh.spmd_run(program, world_size=ranks, seats=kind)
        assert result.outcome.ok, result.outcome.report

    for kind in seats:
        run(kind)
    found = [
        [least_seconds(lambda kind=kind: run(kind), 1) for kind in seats] for _ in range(times)
    ]
    return [min(each) for each in zip(*found)]


BOTH = ("processes", "threads")


def start_row() -> Row:
    own, threads = seconds(nothing, BOTH)
    return "start and end of 4 ranks, beside threads (ms)", own * 1e3, threads * 1e3, "milliseconds"


def turn_row() -> Row:
    own, threads = seconds(turns, BOTH, times=3)
    base, base_threads = seconds(nothing, BOTH, times=3)
    scale = 1e6 / (TURNS * RANKS)
    return (
        "a turn, beside threads (us)", (own - base) * scale, (threads - base_threads) * scale,
        "about 20 us",
    )  # fmt: skip


def step_rows() -> list[Row]:
    own, threads = seconds(small_step, BOTH)
    gloo = on_processes()
    return [
        ("FSDP2 step test of 4 ranks, beside threads (ms)", own * 1e3, threads * 1e3, ""),
        ("FSDP2 step test of 4 ranks, beside gloo (ms)", own * 1e3, gloo * 1e3, ""),
    ]


def compute_rows() -> list[Row]:
    """A step alone, as the difference of a long and a short run, and the long run as a whole."""
    few, many = 2, 18
    short, long = [
        seconds(functools.partial(computing, steps), BOTH, ranks=2) for steps in (few, many)
    ]
    own, threads = [(more - less) / (many - few) for less, more in zip(short, long)]
    return [
        ("2 ranks that compute, beside threads (ms)", own * 1e3, threads * 1e3, "ratio 1.7"),
        ("such ranks with their start, 18 steps (ms)", long[0] * 1e3, long[1] * 1e3, ""),
    ]


def main(names: list[str]) -> None:
    """Prints the table."""
    rows: dict[str, Callable[[], list[Row]]] = {
        "start": lambda: [start_row()], "turn": lambda: [turn_row()], "step": step_rows,
        "compute": compute_rows,
    }  # fmt: skip
    lines.text(f"{'':50}{'processes':>10}{'peer':>10}{'ratio':>8}  asked")
    for name in names or rows:
        for what, own, peer, asked in rows[name]():
            lines.text(f"{what:50}{own:10.2f}{peer:10.2f}{peer / own:8.2f}  {asked}")
            lines.value(what, own)
            lines.value(f"{what} peer", peer)


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if word != "--json"])
