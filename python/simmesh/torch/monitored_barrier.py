"""The barrier that names the ranks which didn't come in time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simmesh import _core
from simmesh.shared import number_of
from simmesh.torch import rank_state
from simmesh.torch.rank_state import Group

# torch passes this where the caller named no time (30 minutes): a deadlock is then reported at once
# instead.
_DEFAULT_MS = 1_800_000


#: The members of a group, its name, and the number of the barrier.
Key = tuple[tuple[int, ...], str, int]


class _Members:
    """The group of a barrier, as one of its members sees it."""

    def __init__(self, members: tuple[int, ...], name: str, rank: int) -> None:
        self.members = members
        self.name = name
        self.rank = rank
        self.size = len(members)


class _Gathering:
    """One barrier of a group: the seats of those who have come, and how it ended once rank 0
    knows.
    """

    def __init__(self, name: str) -> None:
        self.object = number_of(name)
        self.arrived: dict[int, int] = {}
        self.passed: bool | None = None


def monitored_barrier(
    tensor: Any, group: Group, device_ids: Sequence[int], timeout: int, wait_all_ranks: bool
) -> None:
    """Blocks until the whole group has come; after ``timeout`` ms of virtual time rank 0 names
    who is missing.

    The other ranks learn from rank 0 how it ended. With ``wait_all_ranks`` rank 0 names all missing
    ranks, otherwise the first.
    """
    group.monitored_barriers += 1
    key = (tuple(group.members), group.name, group.monitored_barriers)
    meet(key, group.rank, timeout, wait_all_ranks)


def meet(key: Key, rank: int, timeout: int, wait_all_ranks: bool) -> None:
    """Lets a member come to the barrier that the key names, and blocks as
    ``monitored_barrier``.
    """
    gatherings = rank_state.of_rank().shared.gatherings
    gathering = gatherings.setdefault(key, _Gathering(f"monitored_barrier {key}"))
    _core.touch(gathering.object)
    seat = _core.seat()
    assert seat is not None
    gathering.arrived[rank] = seat
    end = None if timeout in (_DEFAULT_MS, -1) else _core.virtual_time() + timeout / 1000
    group = _Members(key[0], key[1], rank)
    if rank == 0:
        _await_all(group, gathering, end, timeout, wait_all_ranks)
    else:
        _await_verdict(group, gathering, end, timeout)


def _await_all(
    group: _Members, gathering: Any, end: float | None, timeout: int, wait_all_ranks: bool
) -> None:
    while len(gathering.arrived) < group.size:
        missing = [rank for rank in range(group.size) if rank not in gathering.arrived]
        if not _park(group, gathering, missing, end):
            break
    missing = [rank for rank in range(group.size) if rank not in gathering.arrived]
    gathering.passed = not missing
    for rank in sorted(gathering.arrived.keys() - {0}):
        _core.unpark(gathering.arrived[rank])
    if not missing:
        return
    if timeout == 0:
        raise RuntimeError(
            "[torch/monitored_barrier] Rank 0 timed out in monitoredBarrier after 0 ms: expected "
            f"ranks {missing}"
        )
    named = ", ".join(map(str, missing)) if wait_all_ranks else str(missing[0])
    word = "Ranks" if wait_all_ranks and len(missing) > 1 else "Rank"
    raise RuntimeError(
        f"[torch/monitored_barrier] {word} {named} failed to pass monitoredBarrier in {timeout} "
        "ms: expected "
        f"{group.size} ranks of group {group.name}, got {sorted(gathering.arrived)}"
    )


def _await_verdict(group: _Members, gathering: Any, end: float | None, timeout: int) -> None:
    if 0 in gathering.arrived:
        _core.unpark(gathering.arrived[0])
    while gathering.passed is None:
        missing = [rank for rank in range(group.size) if rank not in gathering.arrived]
        if not _park(group, gathering, missing, end) and gathering.passed is None:
            break
    if not gathering.passed:
        raise RuntimeError(
            f"[torch/monitored_barrier] Rank {group.rank} successfully reached monitoredBarrier, "
            "but received errors "
            f"while waiting for send/recv from rank 0 within {timeout} ms. Please check rank 0 "
            "logs for faulty rank."
        )


def _park(group: _Members, gathering: Any, missing: list[int], end: float | None) -> bool:
    left = None if end is None else max(0.0, end - _core.virtual_time())
    return _core.park(
        "monitored_barrier",
        f"group {group.name}",
        [group.members[rank] for rank in missing],
        left,
        gathering.object,
    )
