"""Calls that every rank of a group must make with the same arguments, though they exchange nothing.

``new_group`` is one: PyTorch numbers groups by the calls of a rank, and gloo and NCCL connect the
members while the call lasts. So ranks that pass different lists, or don't call at all, hang there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from simmesh import _core


@dataclass
class _Call:
    """One call, in words and with its line for each rank of the run that has made it."""

    made: dict[int, tuple[str, str]] = field(default_factory=dict)


@dataclass
class _Calls:
    """The calls of one group, and the number that each of its members has made."""

    name: str
    members: tuple[int, ...]
    calls: list[_Call] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)


class JointCalls:
    """The joint calls of the ranks of one run, compared as they are made: the k-th of each member
    of a group with the k-th of the others.
    """

    def __init__(self) -> None:
        self._groups: dict[tuple[tuple[int, ...], str], _Calls] = {}
        self._ended: set[int] = set()

    def make(self, rank: int, members: Sequence[int], name: str, what: str) -> None:
        """Counts a call of a rank in the group of that name; ``what`` is the call in words. Raises
        RuntimeError, with both sides, if another member's call of this number is another one, or
        if a member has ended without it.
        """
        key = (tuple(members), name)
        of_group = self._groups.get(key)
        if of_group is None:
            of_group = self._groups[key] = _Calls(f"{name} {list(members)}", key[0])
        number = of_group.counts.get(rank, 0)
        of_group.counts[rank] = number + 1
        if number == len(of_group.calls):
            of_group.calls.append(_Call())
        call = of_group.calls[number]
        call.made[rank] = (what, _core.call_site())
        for other in sorted(call.made):
            if call.made[other][0] != what:
                raise RuntimeError(_text(of_group, number, sorted((rank, other))))
        for other in sorted(self._ended.intersection(members)):
            if other not in call.made:
                raise RuntimeError(_text(of_group, number, sorted((rank, other))))

    def end(self, rank: int) -> None:
        """Notes that the rank's program has returned. Raises RuntimeError if another rank made a
        call that this one should have made.
        """
        self._ended.add(rank)
        for of_group in self._groups.values():
            number = of_group.counts.get(rank, 0)
            if rank in of_group.members and number < len(of_group.calls):
                other = min(of_group.calls[number].made)
                raise RuntimeError(_text(of_group, number, sorted((rank, other))))

    def missing(self) -> str:
        """The first call of each group that some of its members haven't made, a line each."""
        lines = []
        for of_group in self._groups.values():
            for number, call in enumerate(of_group.calls):
                missing = [rank for rank in of_group.members if rank not in call.made]
                if missing:
                    rank = min(call.made)
                    lines.append(_text(of_group, number, [rank, missing[0]]))
                    break
        return "\n".join(lines)


def _text(of_group: _Calls, number: int, ranks: list[int]) -> str:
    made = of_group.calls[number].made
    sides = [
        f"rank {rank} calls {made[rank][0]} at {made[rank][1]}"
        if rank in made
        else f"rank {rank} makes no such call"
        for rank in ranks
    ]
    return (
        f"[torch/joint_calls] joint call #{number} of group {of_group.name}: expected the same "
        f"call of all {len(of_group.members)} ranks, got: {', '.join(sides)}"
    )
