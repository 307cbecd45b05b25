"""``same_on_replicas``: parameters, gradients and states that ranks must have alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simmesh.one_device.comparison import observe
from simmesh.one_device.layout import Layout, layouts_of

if TYPE_CHECKING:
    from simmesh.one_device.notebook import Entry, Key, Notebook
    from simmesh.one_device.snapshot import Snapshot

_SHOWN_MAX = 6


class ReplicasDiffer(AssertionError):
    """Ranks that must agree have other values. The text is the report."""


@dataclass(frozen=True)
class _Difference:
    key: Key
    line: str
    text: str

    @property
    def told(self) -> str:
        return f"{self.key.text}, {self.line}: {self.text}"


def same_on_replicas(
    program: Callable[..., Any],
    *,
    ranks: int | None = None,
    layout: Mapping[str, int] | None = None,
    over: Sequence[str] | None = None,
    at_end: bool = False,
    **options: Any,
) -> int:
    """Runs ``program(mesh)`` on ranks and expects that replicas agree: on the ranks along the mesh
    dims ``over``, all parameters, buffers, gradients before a step, gradient norms and optimizer
    states have the same bits. Returns the number of values that were compared.

        simmesh.same_on_replicas(train, layout={"dp": 2, "tp": 2}, over=["dp"])

    Without ``over`` it is all dims. Of a DTensor, ranks that hold the same piece must agree. What
    one device has isn't asked, so that a program with dropout or with its own rows on each rank can
    be checked, and one that has no form for one device.

    With ``at_end`` only the parameters and buffers with which the program ends are compared. Ranks
    that average their weights now and then, as in local SGD, agree on no more than these.

    Raises ReplicasDiffer, whose text names the first value that differs, the ranks and the element.
    Raises ValueError if nothing can be compared, and what a rank raises.
    """
    __tracebackhide__ = True
    (chosen,) = layouts_of(None if layout is None else [layout], ranks)
    along = tuple(chosen.names if over is None else over)
    unknown = [name for name in along if name not in chosen.names]
    if unknown or not along:
        raise ValueError(
            f"[replicas] over: expected dims of {chosen.text}, got {', '.join(unknown) or 'none'}"
        )
    notebooks = observe(program, chosen, options)
    if at_end:
        notebooks = [_at_end(each) for each in notebooks]
    differences, compared = _compare(notebooks, chosen, along)
    if not compared:
        raise ValueError(
            "[replicas] expected a program that calls a module with parameters, got one with "
            "nothing to compare"
        )
    if differences:
        raise ReplicasDiffer(_report(differences, compared, chosen, along))
    return compared


def _at_end(notebook: Notebook) -> Notebook:
    """A notebook with the parameters and buffers of the end alone."""
    from simmesh.one_device import notebook as notes

    end = copy(notebook)
    end.entries = {
        key: entry
        for key, entry in notebook.entries.items()
        if key.kind in (notes.PARAMETER, notes.BUFFER)
        and key.occurrence == notebook.counts[key.kind, key.name] - 1
    }
    return end


def _compare(
    notebooks: Sequence[Notebook], layout: Layout, along: Sequence[str]
) -> tuple[list[_Difference], int]:
    from simmesh.one_device import notebook as notes

    kinds = notes.OF_PARAMETERS | {notes.BUFFER, notes.NORM}
    keys = dict.fromkeys(
        key
        for notebook in notebooks
        for key, entry in notebook.entries.items()
        if key.kind in kinds or entry.is_whole
    )
    differences, compared = [], 0
    for key in keys:
        entries = [each.entries.get(key) for each in notebooks]
        for group in _replicas(entries, layout, along):
            compared += len(group) > 1
            text = _difference([entries[rank] for rank in group], group)
            if text:
                line = next(each.line for each in entries if each is not None)
                differences.append(_Difference(key, line, text))
                break
    return differences, compared


def _replicas(
    entries: Sequence[Entry | None], layout: Layout, along: Sequence[str]
) -> list[list[int]]:
    """The ranks that must agree on a value, as lists."""
    groups: dict[Any, list[int]] = {}
    for rank, entry in enumerate(entries):
        others = tuple(
            place
            for name, place in zip(layout.names, layout.coordinates(rank))
            if name not in along
        )
        groups.setdefault((others, _piece(rank, entry)), []).append(rank)
    return list(groups.values())


def _piece(rank: int, entry: Entry | None) -> tuple[int, ...]:
    """The places of a rank in the dims along which its tensor is declared to be cut or a part."""
    snapshot = None if entry is None else entry.snapshot
    if snapshot is None or snapshot.declared is None:
        return ()
    declared = snapshot.declared
    places = (declared.ranks == rank).nonzero()[0].tolist()
    return tuple(
        place
        for place, placement in zip(places, declared.placements)
        if not placement.is_replicate()
    )


def _difference(entries: Sequence[Entry | None], ranks: Sequence[int]) -> str:
    """The first difference between ranks in words; empty if they agree."""
    found = [None if entry is None else entry.snapshot for entry in entries]
    for rank, snapshot in zip(ranks[1:], found[1:]):
        if (snapshot is None) != (found[0] is None):
            has, lacks = (rank, ranks[0]) if found[0] is None else (ranks[0], rank)
            return f"rank {has} has one, rank {lacks} has none"
        if snapshot is not None and found[0] is not None:
            text = _of_elements(found[0], snapshot)
            if text:
                return f"rank {ranks[0]} and rank {rank} differ in {text}"
    return ""


def _of_elements(one: Snapshot, other: Snapshot) -> str:
    from simmesh.one_device.snapshot import differing, same_bits

    first, second = one.exact.elements, other.exact.elements
    if first.shape != second.shape or first.dtype != second.dtype:
        return f"shape or dtype: {list(first.shape)} {first.dtype} and {list(second.shape)} " \
               f"{second.dtype}"  # fmt: skip
    if same_bits(first, second):
        return ""
    places = differing(first, second).nonzero()
    place = tuple(places[0].tolist())
    return (
        f"{len(places)} of {first.numel()} elements, first at {list(place)}: "
        f"{first[place].item()!r} and {second[place].item()!r}"
    )


def _report(
    differences: Sequence[_Difference], compared: int, layout: Layout, along: Sequence[str]
) -> str:
    lines = [
        f"[replicas] {layout.text}: expected equal bits along {', '.join(along)} in {compared} "
        f"values, got {len(differences)} that differ",
        f"first: {differences[0].told}",
    ]
    others = dict.fromkeys(each.key.text for each in differences[1:])
    shown = list(others)[:_SHOWN_MAX]
    if shown:
        more = f" and {len(others) - len(shown)} more" if len(others) > len(shown) else ""
        lines.append(f"  after it, these differ too: {', '.join(shown)}{more}")
    return "\n".join(lines)
