"""Small programs whose schedules are counted: by an exploration, and by running all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Callable

import simmesh
from simmesh import _core

Body = Callable[[int], Any]


def program(*lines: str) -> Body:
    """The program in which each letter of a line is a thing that a rank does.

    ====== =============================================================
    x y    uses shared state
    b      a barrier
    0 1 2  sends a message to that rank, without waiting
    r      posts a receive from any source, N one from rank 0
    c      starts an all-reduce
    q      asks whether the newest work is complete
    w      waits for all works
    s      sleeps for a second
    f      fails
    ====== =============================================================

    Each rank returns all that it has seen, so that equal results are equal orders.
    """
    shared = {name: simmesh.Shared(name, "") for name in "xy"}

    def body(rank: int) -> list[Any]:
        works: list[Any] = []
        seen: list[Any] = []
        for letter in lines[rank]:
            if letter in shared:
                seen.append(shared[letter].update(lambda users: users + str(rank)))
            elif letter == "b":
                simmesh.barrier()
            elif letter in "012":
                works.append(simmesh.isend(simmesh.full((1,), rank, dtype="int64"), int(letter)))
            elif letter in "rN":
                works.append(simmesh.irecv((1,), 0 if letter == "N" else None, dtype="int64"))
            elif letter == "c":
                works.append(simmesh.all_reduce_async(simmesh.full((1,), rank, dtype="int64")))
            elif letter == "q":
                seen.append(bool(works[-1].is_completed()))
            elif letter == "w":
                results = [work.wait() for work in works]
                seen.append([each.tolist() for each in results if each is not None])
            elif letter == "s":
                _core.sleep(1.0)
            elif letter == "f":
                raise ValueError(f"rank {rank} fails")
        for each in seen:
            _core.record(hash(str(each)) % 2**63)
        return seen

    return body


class Seen:
    """A body that keeps what its ranks returned, once for each run."""

    def __init__(self, body: Body, ranks: int) -> None:
        self._body = body
        self._ranks = ranks
        self._now: dict[int, Any] = {}

    def __call__(self, rank: int) -> None:
        self._now[rank] = self._body(rank)

    def take(self) -> str:
        """The results of the ranks of the last run, in words."""
        text = str([self._now.get(rank) for rank in range(self._ranks)])
        self._now = {}
        return text


def _list_of(choices: str) -> list[int]:
    turns: list[int] = []
    for turn in filter(None, choices.split(",")):
        rank, _, times = turn.partition("*")
        turns += [int(rank)] * int(times or 1)
    return turns


def _words(turns: Iterable[int]) -> str:
    return "guided:" + ",".join(map(str, turns))


def all_results(lines: Sequence[str], runs_max: int = 5000) -> set[str]:
    """The results of ranks under all schedules that there are, found by running each of them."""
    seen = Seen(program(*lines), len(lines))
    found: set[str] = set()
    waiting: list[list[int]] = [[]]
    runs = 0
    while waiting:
        begin = waiting.pop()
        runs += 1
        assert runs <= runs_max, f"{lines}: more than {runs_max} runs"
        outcome = _core.run(seen, ranks=len(lines), schedule=_words(begin))
        assert outcome.ok or "f" in "".join(lines), outcome.report
        turns = _list_of(outcome.choices)
        if turns[: len(begin)] != begin:
            seen.take()  # the last one of the turns can't be made
            continue
        found.add(seen.take())
        for place in range(len(begin), len(turns)):
            for rank in range(len(lines)):
                if rank != turns[place]:
                    waiting.append([*turns[:place], rank])
    return found
