"""The state that simmesh keeps for each rank of a run of torch programs."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Callable, Protocol

from simmesh import _core
from simmesh.torch.calls import Calls
from simmesh.torch.held_works import HeldWorks
from simmesh.torch.joint_calls import JointCalls
from simmesh.torch.store_keys import StoreKeys


class StartedWork(Protocol):
    """The operations that one call started, and the tensors that they write."""

    operations: tuple[_core.Operation, ...]
    results: list[Any]


class PolledFuture(Protocol):
    """A future that completes when looked at after its operation, or when waited for."""

    has_begun: bool
    seat: int | None

    def poll(self) -> bool: ...

    def complete(self) -> None: ...


class OperationsUnderWay(Protocol):
    """The operations that a rank hasn't waited for."""

    def end(self, operations: Iterable[_core.Operation], until_backward_ends: bool) -> None: ...


class StartedThread(Protocol):
    """A thread that a rank started: its seat in the schedule, and whether it has ended."""

    name: str
    seat: int
    has_ended: bool


def _running(threads: list[threading.Thread]) -> list[threading.Thread]:
    return [each for each in threads if each.ident is None or each.is_alive()]


class Group:
    """A process group as one rank sees it.

    ``members`` are ranks of the run, in the order of the group; ``core`` starts the group's
    operations; ``backend`` is the one that the program names for tensors on the CPU, or else its
    first. ``allows_strided`` lets tensors pass that this backend would not take. ``timeout`` is in
    seconds of the run's time, for waits that name none; None until the program sets one later.
    """

    def __init__(
        self, members: list[int], name: str, backend: str = "gloo", allows_strided: bool = False
    ) -> None:
        self.members = members
        self.name = name
        self.backend = backend
        self.allows_strided = allows_strided
        self.core = _core.Group(members, name)
        self.rank: int = self.core.rank
        self.size: int = self.core.size
        self.coalesced: list[StartedWork] | None = None
        self.timeout: float | None = None
        self.monitored_barriers = 0


class SharedState:
    """The state that the ranks of one run share outside of their tensors: the seed of random
    generators, the keys of stores, who is in which barrier, and the calls that all must make.
    """

    def __init__(self, ranks: int, seed: int, allows_strided: bool, timeout: float) -> None:
        self.ranks = ranks
        self.timeout = timeout
        self.seed = seed
        self.allows_strided = allows_strided
        self._keys: dict[str, StoreKeys] = {}
        self.foreign: list[threading.Thread] = []
        self.gatherings: dict[Any, Any] = {}
        self.joint_calls = JointCalls()
        # The things that ranks used and no schedule knows of, with the first use in words.
        self.unwatched: dict[str, str] = {}
        # The values of ``simmesh.Shared`` of ranks that are processes.
        self.values: dict[str, Any] = {}

    def keys_of(self, place: str) -> StoreKeys:
        """The keys of the stores that name a place."""
        return self._keys.setdefault(place, StoreKeys(place))


class _Recent(threading.local):
    """The works of the call that a thread of the rank makes; None where nobody asks for them."""

    works: list[StartedWork] | None = None


class RankState:
    """One rank's groups, stores and handles of operations.

    torch's C++ code can hold a Store, but can't use it once its Python object is gone. So stores
    live until the run ends.
    """

    def __init__(self, rank: int, shared: SharedState) -> None:
        self.rank = rank
        self.shared = shared
        self.groups: dict[Any, Group] = {}
        self.works = HeldWorks()
        self.stores: list[Any] = []
        # The backends that the rank's program registered, which are its own code.
        self.backends: set[str] = {"fake"}
        self.futures: list[PolledFuture] = []
        self.threads: list[StartedThread] = []
        self.has_started_threads = False
        # The holders of processes that save the rank's checkpoints.
        self.savers: list[Any] = []
        self.foreign: list[threading.Thread] = []
        self.copied_views: dict[int, Any] = {}
        # The mode in which each thread of the rank computes.
        self.operators: Callable[[], AbstractContextManager[Any]] = nullcontext
        self.process_id = 0
        self.device_index = 0
        self.clock_reads = 0
        self.started = 0
        self.premultiplier = 1.0
        self.calls = Calls()
        # The works of a call that is looked at, and the operations that weren't waited for, unless
        # nobody looks at them.
        self.recent = _Recent()
        self.under_way: OperationsUnderWay | None = None
        # The order of the streams of a rank that asks for CUDA, unless nobody looks at it.
        self.stream_order: Any = None
        self.streams_made = 0
        self.entropy: random.Random | None = None
        self.temporary_names: Iterator[str] | None = None
        self._generations: dict[tuple[tuple[int, ...], str], int] = {}

    def make_group(self, process_group: Any, members: list[int], name: str, backend: str) -> Group:
        """Makes the group of ``process_group``. A second one with the same members and name is a
        new group.
        """
        key = (tuple(members), name)
        generation = self._generations.get(key, 0)
        self._generations[key] = generation + 1
        if generation > 0:
            name = f"{name} (made again, {generation})"
        group = Group(members, name, backend, self.shared.allows_strided)
        self.groups[process_group] = group
        return group

    def ended(
        self, operations: Iterable[_core.Operation], until_backward_ends: bool = False
    ) -> None:
        """Says that operations were waited for or seen to be complete; with
        ``until_backward_ends``, that torch's C++ code waits for them when the backward pass ends.
        """
        if self.under_way is not None:
            self.under_way.end(operations, until_backward_ends)
        if self.stream_order is not None:
            self.stream_order.end(operations)

    def poll_futures(self) -> None:
        """Completes the futures of this thread whose operations are complete."""
        if not self.futures:
            return
        for future in self.pending_futures():
            future.poll()
        # Callbacks may have added others.
        self.futures = [future for future in self.futures if not future.has_begun]

    def foreign_threads(self) -> list[threading.Thread]:
        """The threads that the rank started, that run, and that the schedule doesn't know."""
        self.foreign = _running(self.foreign)
        return self.foreign

    def may_be_held_outside(self) -> bool:
        """True if a thread of any rank that the schedule doesn't know may hold a lock."""
        self.shared.foreign = _running(self.shared.foreign)
        return bool(self.shared.foreign)

    def pending_futures(self) -> list[PolledFuture]:
        """The futures of this thread that aren't complete, in the order in which they were made."""
        seat = _core.seat()
        return [each for each in self.futures if each.seat == seat and not each.has_begun]

    def keep(self, group: Group, work: StartedWork) -> None:
        """Keeps a work while torch's C++ code may call it, and for the end of a coalesced group of
        operations if one is open.
        """
        self.works.add(work)
        self.started += 1
        if self.recent.works is not None:
            self.recent.works.append(work)
        self.poll_futures()
        if group.coalesced is not None:
            group.coalesced.append(work)


_states: dict[int, RankState] = {}


def begin(ranks: int, seed: int, allows_strided: bool, timeout: float) -> None:
    """Makes the states of a run's ranks."""
    shared = SharedState(ranks, seed, allows_strided, timeout)
    _states.update((rank, RankState(rank, shared)) for rank in range(ranks))


def end() -> None:
    """Forgets the states of a run's ranks."""
    _states.clear()


def calls_of_ranks() -> list[Calls]:
    """The operations that each rank of the run has started."""
    return [state.calls for state in _states.values()]


def made_groups() -> bool:
    """True if a rank of the run made a process group."""
    return any(state.groups for state in _states.values())


def unwatched() -> tuple[str, ...]:
    """The things that ranks of the run used and no schedule knows of, each in words."""
    if not _states:
        return ()
    shared = next(iter(_states.values())).shared
    threads = [
        f"rank {state.rank} started threads" for state in _states.values()
        if state.has_started_threads or state.foreign
    ]  # fmt: skip
    return (*shared.unwatched.values(), *threads[:1])


def explain_standstill() -> str:
    """Lines about why no rank can run, from the joint calls; empty for nothing."""
    return next((state.shared.joint_calls.missing() for state in _states.values()), "")


def current() -> RankState | None:
    """The state of the rank that this thread runs; None outside of a rank."""
    rank = _core.rank()
    return None if rank is None else _states.get(rank)


def has_threads() -> bool:
    """True if the rank that this thread belongs to has threads beside its body."""
    state = current()
    return state is not None and bool(state.threads)


def has_started_threads(rank: int) -> bool:
    """True if a rank has started threads since its run began."""
    return rank in _states and _states[rank].has_started_threads


def has_seat(rank: int, seat: int) -> bool:
    """True for the seat of a rank's body, or of a thread of the rank that hasn't ended."""
    return seat == rank or any(thread.seat == seat for thread in _states[rank].threads)


def seats_of_rank() -> list[int]:
    """The seats of this thread's rank: that of its body, and those of its threads."""
    state = of_rank()
    return [state.rank, *(thread.seat for thread in state.threads)]


def name_of_seat(seat: int) -> str:
    """A seat in the words of the core's reports."""
    if seat in _states:
        return f"rank {seat}"
    for state in _states.values():
        for thread in state.threads:
            if thread.seat == seat:
                return f"rank {state.rank}, thread {thread.name}"
    return "a thread that has ended"


def of_rank() -> RankState:
    """The state of the rank that this thread runs, where there must be one."""
    state = current()
    if state is None:
        raise RuntimeError(
            "[torch/rank_state] expected the thread of a rank of a run of torch programs, got "
            "another"
        )
    return state
