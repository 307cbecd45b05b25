"""Compares the declared types of tensors with what the ranks hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch

from simmesh.one_device.assembly import Piece, fold
from simmesh.one_device.layout import Layout
from simmesh.one_device.search import Allowed, find
from simmesh.one_device.snapshot import Exact, differing, same_bits
from simmesh.typed.recorder import Entry, Key, StatedType
from simmesh.typed.verdict import Lie, Row, TypedCheck

_NAMES = {"R": "replicated", "I": "invariant", "P": "a partial sum"}
Held = Sequence["Entry | None"]


@dataclass(frozen=True)
class _Found:
    """A difference: in words, and the first element with its values."""

    why: str
    index: tuple[int, ...] | None = None
    expected: float | None = None
    got: float | None = None


class Judge:
    """Judges the entries of all ranks, with those of one device where there are some."""

    def __init__(
        self, ranks: Sequence[Mapping[Key, Entry]], layout: Layout, one: Mapping[Key, Entry] | None
    ) -> None:
        self._ranks, self._layout = ranks, layout
        self._one = one
        self._verdict = TypedCheck(layout.text)

    def verdict(self) -> TypedCheck:
        """Judges each tensor, in the order of the program."""
        for key in self._keys():
            held = [each.get(key) for each in self._ranks]
            first = next(each for each in held if each is not None)
            lie = self._lie(key, held, first)
            if lie is not None:
                self._verdict.lies.append(lie)
            declared = ", ".join(f"{each.axis}: {each.text}" for each in first.types)
            actual = ", ".join(self._actual(held, first, key))
            self._verdict.rows.append(
                Row(first.line, first.what, declared, actual, lie is not None)
            )
        return self._verdict

    def _keys(self) -> Iterator[Key]:
        seen: set[Key] = set()
        for entries in self._ranks:
            for key in entries:
                if key not in seen:
                    seen.add(key)
                    yield key

    def _lie(self, key: Key, held: Held, first: Entry) -> Lie | None:
        self._verdict.compared += 1
        for stated in first.types:
            found = self._between_ranks(held, stated)
            if found is not None:
                return _lie_of(first, stated, found, "V")
        if self._one is None:
            return None
        return self._against_one_device(key, held, first)

    def _between_ranks(self, held: Held, stated: StatedType) -> _Found | None:
        """The difference of tensors that are declared to be the same along an axis."""
        if stated.letter not in "RI":
            return None
        for members in _groups(held, stated.axis):
            first = members[0]
            for other in members[1:]:
                one, two = held[first], held[other]
                assert one is not None and two is not None
                found = _difference(
                    one.exact.elements, two.exact.elements,
                    f"it is declared {stated.letter} ({_NAMES[stated.letter]}), but rank {other} "
                    f"has other elements than rank {first}",
                )  # fmt: skip
                if found is not None:
                    return found
        return None

    def _against_one_device(self, key: Key, held: Held, first: Entry) -> Lie | None:
        assert self._one is not None
        one = self._of_one_device(key, first)
        if one is None or any(each is None for each in held):
            return None
        whole = self._whole(held, first)
        if first.is_random and any(each.letter in "VP" for each in first.types):
            self._stop(f"{first.line}: {first.what} draws other numbers on each rank")
            return None
        if whole is None or whole.elements.shape != one.exact.elements.shape:
            return self._unlike_one_device(first, one, held, whole is None)
        is_count = not whole.elements.is_floating_point() and all(
            each.letter in "RI" for each in first.types
        )
        if is_count:
            return None  # ranks may number their own pieces
        self._verdict.compared_with_one_device += 1
        if same_bits(whole.elements, one.exact.elements):
            return None
        return self._found_lie(first, one, held, whole)

    def _of_one_device(self, key: Key, entry: Entry) -> Entry | None:
        """One device's tensor; there, a statement about axes of one rank may leave no trace."""
        if self._one is None:
            return None
        found = self._one.get(key)
        return self._one.get(entry.same_as) if found is None and entry.same_as else found

    def _found_lie(self, first: Entry, one: Entry, held: Held, whole: Exact | None) -> Lie | None:
        actual = self._found(one, held)
        stated, text = _differing_axis(first, actual)
        why = f"it is declared {stated.text}, but {_claim(stated)} is not what one device has"
        found = _Found(f"{why}; the ranks hold {text}" if text else why)
        if whole is not None:
            found = _difference(one.exact.elements, whole.elements, found.why) or found
        return _lie_of(first, stated, found, text)

    def _unlike_one_device(self, first: Entry, one: Entry, held: Held, is_open: bool) -> Lie | None:
        """Judges a tensor whose declared pieces don't have one device's shape."""
        if not first.is_input:
            return None
        actual = self._found(one, held)
        if actual is None:
            self._stop(
                f"{first.line}: {first.what} is no part of what one device has, so that later "
                "tensors were compared between ranks only"
            )
            return None
        if is_open:
            return None
        return self._found_lie(first, one, held, None)

    def _stop(self, note: str) -> None:
        self._verdict.notes.append(note)
        self._one = None

    def _whole(self, held: Held, first: Entry) -> Exact | None:
        """The tensor for which the ranks' tensors stand as they are declared; None where an axis
        is varying without a cut, or the pieces don't fit together.
        """
        axes = [each.axis for each in first.types]
        if any(each.letter == "V" and each.dim is None for each in first.types):
            return None
        grid: dict[tuple[int, ...], Exact | None] = {}
        for rank, each in enumerate(held):
            if each is None or [stated.axis for stated in each.types] != axes:
                return None
            place = tuple(stated.ranks.index(rank) for stated in each.types)
            known = grid.get(place)
            if known is not None and not same_bits(known.elements, each.exact.elements):
                return None
            grid[place] = each.exact
        remaining = list(first.types)
        for stated in sorted(first.types, key=lambda each: -each.depth):
            at = remaining.index(stated)
            folded = fold(grid, at, _piece(stated))
            if folded is None:
                return None
            grid = folded
            remaining.pop(at)
        return grid[()]

    def _found(self, one: Entry, held: Held) -> list[tuple[str, int | None]] | None:
        """The placement on each declared axis that the bits show."""
        layout = self._layout
        exact = [None if each is None else each.exact for each in held]
        found = find(one.exact, exact, layout, Allowed())
        first = next(each for each in held if each is not None)
        if found is None or not {each.axis for each in first.types} <= set(layout.names):
            return None
        pieces = dict(zip(layout.names, found.pieces))
        return [
            (pieces[each.axis].letter, pieces[each.axis].dim if pieces[each.axis].letter == "S"
             else None)
            for each in first.types
        ]  # fmt: skip

    def _actual(self, held: Held, first: Entry, key: Key) -> Iterator[str]:
        """The types on each axis that the bits show: R for equal tensors, else V, and P or S where
        one device's tensor says so.
        """
        one = self._of_one_device(key, first)
        found = None if one is None else self._found(one, held)
        for at, stated in enumerate(first.types):
            if found is not None:
                yield f"{stated.axis}: {_written(*found[at])}"
            else:
                same = self._between_ranks(held, StatedType(stated.axis, stated.ranks, "R"))
                yield f"{stated.axis}: {'R' if same is None else 'V'}"


def _differing_axis(
    entry: Entry, actual: Sequence[tuple[str, int | None]] | None
) -> tuple[StatedType, str]:
    """The first axis on which the bits show another type than the declared one, with that type;
    without a known one a cut or partial axis.
    """
    for stated, (letter, dim) in zip(entry.types, actual or ()):
        declared = ("S", stated.dim) if stated.dim is not None else (
            "R" if stated.letter == "I" else stated.letter, None
        )  # fmt: skip
        if declared != (letter, dim):
            return stated, _written(letter, dim)
    cut = [each for each in entry.types if each.letter in "VP"]
    return (cut or list(entry.types))[0], ""


def _groups(held: Held, axis: str) -> list[list[int]]:
    """The ranks along an axis that hold the tensor and state its type there."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for rank, each in enumerate(held):
        for stated in each.types if each is not None else ():
            if stated.axis == axis:
                groups.setdefault(stated.ranks, []).append(rank)
    return list(groups.values())


def _piece(stated: StatedType) -> Piece:
    if stated.dim is not None:
        return Piece("S", stated.dim)
    return Piece("P" if stated.letter == "P" else "R")


def _written(letter: str, dim: int | None) -> str:
    return letter if dim is None else f"{letter}({dim})"


def _claim(stated: StatedType) -> str:
    if stated.letter == "P":
        return "the sum of the ranks' terms"
    if stated.dim is not None:
        return f"the pieces one after the other along dim {stated.dim}"
    return "its value"


def _difference(expected: torch.Tensor, got: torch.Tensor, why: str) -> _Found | None:
    if expected.shape != got.shape or expected.dtype != got.dtype:
        kinds = [
            f"{each.dtype} {list(each.shape)}".replace("torch.", "") for each in (expected, got)
        ]
        return _Found(f"{why}: {kinds[0]} and {kinds[1]}")
    differs = differing(expected, got)
    if not bool(differs.any()):
        return None
    at = int(differs.reshape(-1).nonzero()[0])
    index = tuple(int(each) for each in torch.unravel_index(torch.tensor(at), expected.shape))
    return _Found(why, index, float(expected.reshape(-1)[at]), float(got.reshape(-1)[at]))


def _lie_of(entry: Entry, stated: StatedType, found: _Found, actual: str) -> Lie:
    return Lie(
        entry.line, entry.what, stated.axis, stated.text, actual, found.why, found.index,
        found.expected, found.got, entry.is_gradient, tuple(dict.fromkeys(entry.users)),
    )  # fmt: skip
