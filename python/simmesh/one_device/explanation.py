"""Explains why a value on the ranks isn't one device's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simmesh.one_device import notebook as notes
from simmesh.one_device import reasons
from simmesh.one_device.nearest import Nearest, factor_of, nearest
from simmesh.one_device.notebook import Entry, Key, Notebook
from simmesh.one_device.search import Allowed, Found, find
from simmesh.one_device.snapshot import same_bits, ulp_of
from simmesh.one_device.value import Value
from simmesh.one_device.verdict import Finding, Verdict

#: A difference that one more rounding can make, in units of the last place of the largest element.
ROUNDINGS = 8

#: A difference that may follow from an earlier one of ROUNDINGS.
FOLLOWING = 256

#: A difference of a step whose iteration rounds to bfloat16, as a part of the largest change. Each
#: of the 15 products rounds by 2**-9, and the iteration is steepest at small singular values.
OF_A_BFLOAT16_STEP = 0.125


def explain(value: Value, one: Notebook, ranks: Sequence[Notebook], verdict: Verdict) -> Finding:
    """The finding about a value that isn't one device's, in the light of those before it."""
    return _Explanation(value, one, ranks, verdict).finding()


class _Explanation:
    def __init__(
        self, value: Value, one: Notebook, ranks: Sequence[Notebook], verdict: Verdict
    ) -> None:
        self.value = value
        self.entry = value.entry
        self.one = one
        self.ranks = ranks
        self.verdict = verdict
        self.layout = verdict.layout
        self.ulp = ulp_of(value.one.elements.dtype)

    def finding(self) -> Finding:
        """The finding, with the reason and the details."""
        value, key, line = self.value, self.entry.key, self.entry.line
        if value.lost:
            have = [rank for rank, each in enumerate(value.wholes) if each is not None]
            return Finding(key, line, reasons.lost(value.lost, have))
        summed = self._missing_sum()
        if summed is not None:
            text = reasons.missing_sum(summed, self.layout) + self._source_of_parts(summed)
            return Finding(key, line, text, is_missing_sum=True)
        if self._is_unchanged():
            return Finding(key, line, "this step changed it on one device, and on no rank")
        broken = reasons.broken_declaration(value.snapshots)
        pieces = value.pieces
        near = nearest(value.one, pieces, self.layout)
        details = reasons.details(value.one, near, pieces, self.layout)
        if not broken and key.kind not in notes.MAY_BE_PENDING and near is not None:
            broken = reasons.broken_replicas(near, pieces, self.layout)
        if key.kind == notes.BUFFER and self._has_own_statistics():
            broken = ""
        limit = None if broken else self._limit(near)
        if limit is not None:
            return Finding(key, line, limit, details, is_limit=True)
        factor = None if near is None else factor_of(near, FOLLOWING * self.ulp)
        text = broken or reasons.difference(
            key, factor, value.one, pieces, self._rows(), self.layout
        )
        if not broken and factor is None and near is not None:
            own = reasons.own_factors(near, FOLLOWING * self.ulp)
            text = own or reasons.exchanged(near) or text
        return Finding(key, line, text, details, factor=factor, calls=value.calls)

    def _missing_sum(self) -> Found | None:
        """The layout in which parts of a sum on the ranks make one device's value, but for
        rounding, though it has to be whole.
        """
        must_be_whole = self.entry.key.kind in notes.OF_GRADIENTS or self.entry.is_whole
        if not must_be_whole or self.value.is_broken:
            return None
        allowed = Allowed(tolerance=self._tolerance())
        found = find(self.value.one, self.value.wholes, self.layout, allowed)
        is_part = found is not None and any(piece.is_partial for piece in found.pieces)
        return found if is_part else None

    def _source_of_parts(self, found: Found) -> str:
        """Names the first output in the backward pass whose gradient is a part of the same sum."""
        dims = set(found.dims_with("P", self.layout))
        for key, each in self.verdict.layouts.items():
            is_gradient = key.kind == notes.OUTPUT_GRADIENT
            if is_gradient and dims & set(each.dims_with("P", self.layout)):
                return f", as the {key.text} was not"
        return ""

    def _tolerance(self) -> float:
        return min(FOLLOWING * self.ulp, 0.05) if self.verdict.limits else ROUNDINGS * self.ulp

    def _limit(self, near: Nearest | None) -> str | None:
        """The limit that explains a difference; None if there is none."""
        if self._has_own_statistics():
            return "it follows from statistics of each rank's own rows, and isn't judged"
        if self._follows_shards_of_muon():
            return "it follows from Muon's products of shards, and isn't judged"
        if self._is_of_muon():
            return reasons.MUON_ON_SHARDS
        if self.entry.is_of_rows and near is not None and not self.verdict.faults:
            return reasons.BATCH_STATISTICS
        follows = bool(self.verdict.limits)
        if follows and self.entry.key.kind in (notes.PARAMETER, notes.STATE):
            return "it follows from gradients that differ by rounding"
        one = self.value.one
        if self.value.is_broken or not one.elements.is_floating_point():
            return None
        if near is not None and reasons.only_subnormal(near, one.elements.dtype):
            return reasons.SUBNORMAL
        allowed = replace(self.value.allowed, reordered=False, tolerance=self._tolerance())
        close = find(one, self.value.wholes, self.layout, allowed)
        if close is None:
            return None
        self.verdict.layouts[self.entry.key] = close
        if self._has_pending_state():
            return reasons.PENDING_STATE
        return reasons.rounding(close, self.layout, self._scales(), follows)

    def _has_own_statistics(self) -> bool:
        return any(each.text == reasons.BATCH_STATISTICS for each in self.verdict.findings)

    def _has_pending_state(self) -> bool:
        """True if the state of an optimizer for this parameter is a part of a sum on the ranks."""
        key = self.entry.key
        if key.kind not in (notes.PARAMETER, notes.STATE):
            return False
        of_parameter = f" of {key.name.rpartition(' of ')[2]}"
        return any(
            each.kind == notes.STATE and each.name.endswith(of_parameter) and _is_pending(entry)
            for each, entry in self.ranks[0].entries.items()
        )

    def _follows_shards_of_muon(self) -> bool:
        return any(each.text == reasons.MUON_ON_SHARDS for each in self.verdict.findings)

    def _is_of_muon(self) -> bool:
        """True for a cut parameter that a step of Muon changes as on one device, but for rounding
        to bfloat16.
        """
        key, whole = self.entry.key, next((each for each in self.value.wholes if each), None)
        if key.kind != notes.PARAMETER or self.verdict.faults or whole is None:
            return False
        before = self.one.entries.get(self._key_before())
        if key.name not in self.ranks[0].orthogonalized or before is None or not before.snapshot:
            return False
        one, first = self.value.one.elements, before.snapshot.exact.elements
        if len({each.shape for each in (one, first, whole.elements)}) > 1:
            return False
        update = float((one - first).abs().max())
        return float((whole.elements - one).abs().max()) <= OF_A_BFLOAT16_STEP * update

    def _key_before(self) -> Key:
        """The key of a parameter before the step that it is noted after."""
        key = self.entry.key
        if key.occurrence == 0:
            return Key(notes.INITIAL, key.name, 0)
        return Key(notes.PARAMETER, key.name, key.occurrence - 1)

    def _scales(self) -> set[float]:
        return {found.scale for found in self.verdict.layouts.values()}

    def _is_unchanged(self) -> bool:
        """True if a step left a parameter as it was on all ranks, and not on one device."""
        key = self.entry.key
        if key.kind != notes.PARAMETER:
            return False
        before = self._key_before()
        if _is_same(self.one.entries.get(before), self.one.entries.get(key)):
            return False
        return all(_is_same(each.entries.get(before), each.entries.get(key)) for each in self.ranks)

    def _rows(self) -> list[int] | None:
        """The number of rows of each rank, from the first value that is cut along dim 0."""
        for key, found in self.verdict.layouts.items():
            if any(piece.letter == "S" and piece.dim == 0 for piece in found.pieces):
                snapshots = [
                    each.entries[key].snapshot for each in self.ranks if key in each.entries
                ]
                rows = [len(each.exact.elements) for each in snapshots if each is not None]
                if len(rows) == len(self.ranks):
                    return rows
        return None


def _is_pending(entry: Entry) -> bool:
    declared = None if entry.snapshot is None else entry.snapshot.declared
    return declared is not None and any(each.is_partial() for each in declared.placements)


def _is_same(one: Entry | None, other: Entry | None) -> bool:
    if one is None or other is None or one.snapshot is None or other.snapshot is None:
        return False
    return same_bits(one.snapshot.exact.elements, other.snapshot.exact.elements)
