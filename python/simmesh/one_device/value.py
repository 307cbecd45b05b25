"""A value of one device beside those of the ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from simmesh.one_device import notebook as notes
from simmesh.one_device import reasons
from simmesh.one_device.assembly import joined_along, rounded, whole_of_declared
from simmesh.one_device.layout import Layout
from simmesh.one_device.notebook import Entry
from simmesh.one_device.search import Allowed
from simmesh.one_device.snapshot import Exact, Snapshot, same_bits


@dataclass(frozen=True)
class Value:
    """One device's value and each rank's, made whole where a DTensor declares it.

    ``wholes`` has None for a rank without the value, and for ranks whose tensors aren't what they
    declare. ``lost`` are the ranks that have the parameter and no gradient. ``calls`` is the number
    of calls whose values are joined.
    """

    entry: Entry
    one: Exact
    wholes: Sequence[Exact | None]
    snapshots: Sequence[Snapshot | None]
    lost: tuple[int, ...] = ()
    calls: int = 1

    @property
    def allowed(self) -> Allowed:
        """The forms in which the ranks may have the value."""
        kind = self.entry.key.kind
        return Allowed(
            pending=kind in notes.MAY_BE_PENDING and not self.entry.is_whole,
            scale=kind == notes.OUTPUT_GRADIENT,
            reordered=kind in notes.OF_MODULES or kind == notes.INITIAL,
        )

    @property
    def pieces(self) -> list[Exact | None]:
        """The ranks' wholes, or their own tensors where these aren't what they declare."""
        return [
            snapshot.exact if whole is None and snapshot is not None else whole
            for whole, snapshot in zip(self.wholes, self.snapshots)
        ]

    @property
    def is_broken(self) -> bool:
        """True if a rank's tensors aren't what they declare."""
        return any(
            whole is None and snapshot is not None
            for whole, snapshot in zip(self.wholes, self.snapshots)
        )

    @property
    def is_constant(self) -> bool:
        """True if the value has several elements, all of them equal."""
        elements = self.one.elements.reshape(-1)
        return len(elements) > 1 and bool((elements == elements[0]).all())


def of_one_call(entry: Entry, others: Sequence[Entry | None]) -> Value:
    """The values of one call. Raises NotJudged for declarations that can't be made whole."""
    assert entry.snapshot is not None
    snapshots = [None if each is None else each.snapshot for each in others]
    one = whole_of_declared([entry.snapshot])[0]
    assert one is not None
    lost = [rank for rank, each in enumerate(others) if each is not None and each.snapshot is None]
    wholes = whole_of_declared(snapshots)
    if entry.key.kind in notes.OF_PARAMETERS and _are_flat(wholes):
        one = _padded(Exact(one.elements.reshape(-1), one.values), wholes)
    return Value(entry, one, wholes, snapshots, tuple(lost))


def _are_flat(wholes: Sequence[Exact | None]) -> bool:
    """True if ranks have pieces of a parameter without its shape, as those of FSDP1 are."""
    present = [each for each in wholes if each is not None]
    return bool(present) and all(each.elements.dim() == 1 for each in present)


def _padded(one: Exact, wholes: Sequence[Exact | None]) -> Exact:
    """One device's elements with the zeros behind them that fill up equal pieces on the ranks."""
    sizes = {each.elements.numel() for each in wholes if each is not None}
    count, size = one.elements.numel(), max(sizes)
    pieces = -(-count // size) if size else 0
    missing = pieces * size - count
    if len(sizes) > 1 or not 0 < missing < pieces:
        return one
    joined = joined_along([one, Exact(one.elements.new_zeros(missing))], 0)
    return one if joined is None else joined


def drawn_apart(value: Value) -> str:
    """Says that replicas drew other random numbers, if each rank has a tensor of one device's
    shape, and some have its bits; "" otherwise.
    """
    if any(each is None or each.declared is not None for each in value.snapshots):
        return ""
    pieces = [each.elements for each in value.pieces if each is not None]
    if any(each.shape != value.one.elements.shape for each in pieces):
        return ""
    is_same = [same_bits(value.one.elements, each) for each in pieces]
    if all(is_same) or not any(is_same):
        return ""
    return reasons.drawn_apart(is_same.index(True), is_same.index(False))


def without_padding(value: Value, layout: Layout) -> Iterator[list[Exact | None]]:
    """The ranks' pieces without the zeros or -inf that fill them up to one size along a tensor
    dim, for each mesh dim and tensor dim in which that is what the ranks may have.
    """
    present = [each.elements for each in value.wholes if each is not None]
    if not present or len({each.shape for each in present}) > 1:
        return
    for mesh_dim, pieces in enumerate(layout.sizes):
        for dim, size in enumerate(present[0].shape[: value.one.elements.dim()]):
            count = value.one.elements.shape[dim]
            if 0 < size * pieces - count < size * pieces:
                cut = [
                    _cut(each, dim, count - size * layout.coordinates(rank)[mesh_dim])
                    for rank, each in enumerate(value.wholes)
                ]
                if all(each is not None or old is None for each, old in zip(cut, value.wholes)):
                    yield cut


def _cut(exact: Exact | None, dim: int, size: int) -> Exact | None:
    """The first slices along a dim; None if the others aren't all 0 or all -inf."""
    if exact is None or size >= exact.elements.shape[dim]:
        return exact
    size = max(size, 0)
    elements = exact.elements
    rest = elements.narrow(dim, size, elements.shape[dim] - size)
    fills = [0.0, -torch.inf] if elements.is_floating_point() else [0]
    if not any(bool((rest == fill).all()) for fill in fills):
        return None
    places = torch.arange(elements.numel()).view(elements.shape).narrow(dim, 0, size)
    values = None if exact.values is None else exact.values.taken(places.reshape(-1))
    return Exact(elements.narrow(dim, 0, size).contiguous(), values)


def of_calls(calls: Sequence[Entry], ranks: Sequence[Sequence[Entry]]) -> Value | None:
    """The values of several calls, joined: rows one after the other, and numbers added up. None if
    they don't fit together.
    """
    one = _joined([_whole(each) for each in calls])
    count = max(map(len, ranks))
    lines: list[list[Exact | None]] = [[] for _ in ranks]
    for index in range(count):
        snapshots = [each[index].snapshot if each else None for each in ranks]
        wholes = whole_of_declared(snapshots)
        if any(whole is None and each is not None for whole, each in zip(wholes, snapshots)):
            return None
        for line, whole in zip(lines, wholes):
            line.append(whole)
    if one is None:
        return None
    joined = [_joined(line) for line in lines]
    if all(each is None for each in joined):
        return None
    return Value(calls[0], one, joined, [None] * len(joined), calls=len(calls))


def _whole(entry: Entry) -> Exact | None:
    return None if entry.snapshot is None else whole_of_declared([entry.snapshot])[0]


def _joined(parts: Sequence[Exact | None]) -> Exact | None:
    present = [each for each in parts if each is not None]
    if not present or len(present) < len(parts):
        return None
    if present[0].elements.dim() > 0:
        return joined_along(present, 0)
    if any(each.elements.dim() or not each.elements.is_floating_point() for each in present):
        return None
    total = present[0].all_values()
    for each in present[1:]:
        total = total.plus(each.all_values())
    return rounded(total, present[0].elements)
