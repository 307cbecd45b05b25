"""The processes of one run: forks them, gives each rank's seat its server, and ends them."""

from __future__ import annotations

import os
from typing import Any, Callable

from simmesh import _core
from simmesh.torch import rank_state
from simmesh.torch.processes.channel import Channel, channel_pair
from simmesh.torch.processes.differentiation import (
    can_differentiate,
    has_differentiated,
    note_backward_pass,
)
from simmesh.torch.processes.imports import import_all
from simmesh.torch.processes.operand_memory import address_of, shared_map
from simmesh.torch.processes.rank_process import RankProcess
from simmesh.torch.processes.rank_program import run_program
from simmesh.torch.processes.seat import Facts, RankDesk, Seat, Seats


class RankProcesses:
    """The ranks of a run as processes.

    ``fork`` makes the processes, ``run_rank`` is the body of each rank's seat, and ``end`` leaves
    no process behind.
    """

    def __init__(self, ranks: int, timeout: float, run_ahead: bool) -> None:
        self._ranks = ranks
        self._timeout = timeout
        self._run_ahead = run_ahead
        self._seats = Seats()
        self._desks: list[RankDesk] = []

    def fork(self, body: Callable[[int], Any], enter: Callable[[int], None]) -> None:
        """Forks a process for each rank, which runs ``body(rank)`` once it has the rank's state by
        ``enter(rank)``. With ``run_ahead`` it begins at once.
        """
        for rank in range(self._ranks):
            process = self._fork_rank(rank, body, enter)
            desk = RankDesk(process, self._timeout, self._run_ahead)
            self._desks.append(desk)
            if self._run_ahead:
                process.channel.send(_BEGIN)

    def run_rank(self, rank: int) -> Any:
        """Serves the process of a rank until its program ends. Returns and raises as the
        program.
        """
        desk = self._desks[rank]
        if not self._run_ahead:
            desk.process.channel.send(_BEGIN)
        return Seat(self._seats, desk, desk.process.channel).serve()

    def tell_states(self) -> tuple[list[Any], bool, tuple[str, ...], tuple[str, ...]]:
        """The calls of each rank, whether any made a process group, the packages that were
        isolated in any, and what no schedule knows of.
        """
        facts = [desk.facts for desk in self._desks]
        states = rank_state.calls_of_ranks()
        calls = [each.calls or states[rank] for rank, each in enumerate(facts)]
        isolated = dict.fromkeys(name for each in facts for name in each.isolated)
        made_groups = any(each.made_groups for each in facts)
        return calls, made_groups, tuple(isolated), _unwatched(facts)

    def end(self) -> None:
        """Ends the processes that are left, and frees the memory of all. The next run starts with
        the modules of libraries that these have imported.
        """
        for desk in self._desks:
            desk.process.end()
        for desk in self._desks:
            import_all(desk.facts.imported)

    def _fork_rank(
        self, rank: int, body: Callable[[int], Any], enter: Callable[[int], None]
    ) -> RankProcess:
        """Forks the process of a rank. That of the first one says whether it may make backward
        passes; the others are forked as it was, from the same process.
        """
        if rank > 0:
            return self._start(rank, body, enter, is_asked=False)
        if not has_differentiated():
            process = self._start(rank, body, enter, is_asked=True)
            if process.receive(process.channel, self._timeout):
                return process
            process.end()
            note_backward_pass()
        process = self._start(rank, body, enter, is_asked=True)
        if not process.receive(process.channel, self._timeout):
            process.end()
            raise RuntimeError(
                "[torch/processes] seats: expected a process that can make backward passes, got "
                "one that PyTorch forbids them, since this process has made one before"
            )
        return process

    def _start(
        self, rank: int, body: Callable[[int], Any], enter: Callable[[int], None], is_asked: bool
    ) -> RankProcess:
        memory = shared_map()
        address = address_of(memory)
        calls = os.memfd_create(f"calls of rank {rank}")
        ours, theirs = channel_pair()
        pid = _core.fork_process(has_differentiated())
        if pid == 0:
            self._close_others(ours)
            if is_asked:
                is_fit = can_differentiate()
                theirs.send(is_fit)
                if not is_fit:
                    os._exit(0)
            run_program(rank, theirs, address, calls, self._run_ahead, body, enter)
        theirs.close()
        return RankProcess(rank, pid, ours, memory, calls)

    def _close_others(self, ours: Channel) -> None:
        ours.close()
        for desk in self._desks:
            desk.process.channel.close()


# The first answer of a seat: a value, no operations that completed, and the run's begin.
_BEGIN: tuple[bool, Any, list[Any], float] = (True, None, [], 0.0)


def _unwatched(facts: list[Facts]) -> tuple[str, ...]:
    noted: dict[str, str] = {}
    for each in facts:
        for what, words in each.unwatched.items():
            noted.setdefault(what, words)
    threads = [
        f"rank {rank} started threads" for rank, each in enumerate(facts)
        if each.has_started_threads
    ]  # fmt: skip
    return (*noted.values(), *threads[:1])
