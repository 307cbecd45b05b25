"""Explains why a value on the ranks isn't one device's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from simmesh.one_device import notebook as notes
from simmesh.one_device import reasons
from simmesh.one_device.assembly import whole_of_declared
from simmesh.one_device.nearest import Nearest, factor_between, factor_of, nearest, steady_factor
from simmesh.one_device.notebook import Entry, Key, Notebook
from simmesh.one_device.rows import rows_reason
from simmesh.one_device.search import Allowed, Found, find
from simmesh.one_device.snapshot import is_power_of_two, same_bits, ulp_of
from simmesh.one_device.value import Value, drawn_apart
from simmesh.one_device.verdict import Finding, Verdict

#: A difference that one more rounding can make, in units of the last place of the largest element.
ROUNDINGS = 8

#: A difference that may follow from an earlier one of ROUNDINGS.
FOLLOWING = 256

#: The largest difference that counts as one by rounding, as a part of the largest element.
LARGEST = 0.05


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
        self.coarsest_ulp = max(self.ulp, one.coarsest_ulp)

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
        is_judged = not self._not_judged() and not self._follows_from_own_gradient()
        if is_judged and self._is_unchanged():
            return Finding(key, line, "this step changed it on one device, and on no rank")
        broken = reasons.broken_declaration(value.snapshots)
        pieces = value.pieces
        near = nearest(value.one, pieces, self.layout)
        details = reasons.details(value.one, near, pieces, self.layout)
        if not broken and key.kind not in notes.MAY_BE_PENDING and near is not None:
            broken = reasons.broken_replicas(near, pieces, self.layout)
        if key.kind == notes.BUFFER and self._has_own_statistics():
            broken = ""
        if not broken and self.entry.drawn:
            broken = drawn_apart(value)
        limit = None if broken else self._limit(near)
        if limit is not None:
            self._note_steps(near)
            return Finding(key, line, limit, details, is_limit=True)
        simple = min(FOLLOWING * self.ulp, LARGEST)
        steady = factor = None if near is None else self._steady_factor(near)
        if near is not None and steady is None:
            factor = factor_of(near, simple)
        if not broken and (times := self._step_factor(near)):
            return Finding(key, line, reasons.step(times, self._other_setting()), details)
        text = broken or reasons.difference(
            key, factor, steady is not None, value.one, pieces, self._rows(), self.layout
        )
        if not broken and factor is None and near is not None:
            own = reasons.own_factors(near, simple)
            text = own or reasons.exchanged(near) or text
        if text == reasons.NO_LAYOUT and (setting := self._other_setting()):
            text = f"it is stepped with other options: {setting}"
        if text == reasons.NO_LAYOUT:
            text = rows_reason(value.one, pieces) or text + self._reordered_parameter()
        return Finding(key, line, text, details, factor=factor, calls=value.calls)

    def _reordered_parameter(self) -> str:
        """Names a parameter of the module whose rows are in another order on the ranks."""
        if self.entry.key.kind != notes.OUTPUT:
            return ""
        begin = f"{self.entry.key.name}."
        for key, found in self.verdict.layouts.items():
            is_inside = key.name.startswith(begin) and "." not in key.name[len(begin) :]
            if key.kind == notes.INITIAL and found.is_reordered and is_inside:
                return f", and {key.text} has its rows in another order"
        return ""

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
        if self.verdict.limits:
            drift = self.verdict.drift
            wanted = max(FOLLOWING * self.coarsest_ulp, ROUNDINGS * drift)
            return min(wanted, LARGEST if self.verdict.goes_on else max(LARGEST, drift))
        return ROUNDINGS * self.ulp

    def _floor(self) -> float:
        """The rounding errors of the gradients that this one follows from. One that is zero but
        for rounding, as that of a mean behind a norm, has no other elements.
        """
        kind = self.entry.key.kind
        kinds = (notes.OUTPUT_GRADIENT, notes.STATE, *notes.OF_GRADIENTS)
        if not self.verdict.limits or kind not in kinds:
            return 0.0
        largest, before_clipping = 0.0, 0.0
        for key, entry in self.one.entries.items():
            if key == self.entry.key:
                break
            if key.kind == notes.OUTPUT_GRADIENT:
                largest = max(largest, _largest(entry))
            if key.kind == notes.GRADIENT and key.name == self.entry.key.name:
                before_clipping = _largest(entry)
        if kind == notes.CLIPPED and before_clipping:
            largest *= min(_largest(self.entry) / before_clipping, 1.0)
        return min(FOLLOWING * self.coarsest_ulp, LARGEST) * largest

    def _limit(self, near: Nearest | None) -> str | None:
        """The limit that explains a difference; None if there is none."""
        key = self.entry.key
        after = self._not_judged()
        if after:
            return after
        if self._other_setting():
            return None
        if self.entry.drawn and key.kind == notes.OUTPUT and not self.verdict.faults:
            return reasons.random(self.entry.drawn)
        if self.entry.is_of_rows and near is not None and not self.verdict.faults:
            return reasons.BATCH_STATISTICS
        follows = bool(self.verdict.limits)
        if follows and near is None and key.kind in notes.OF_MODULES and self._has_other_rows():
            return reasons.OTHER_CHOICES
        if self._follows_from_own_gradient() and not self._step_factor(near):
            return "it follows from gradients that differ by rounding"
        one = self.value.one
        if self.value.is_broken or not one.elements.is_floating_point():
            return None
        if self.one.coarsest_product and near is not None and self._is_small_in_step(near):
            return reasons.PRODUCTS_OF_PARTS
        if near is not None and reasons.only_subnormal(near, one.elements.dtype):
            return reasons.SUBNORMAL
        allowed = replace(self.value.allowed, tolerance=self._tolerance(), floor=self._floor())
        close = find(one, self.value.wholes, self.layout, allowed) or self._scaled(allowed)
        if close is None or (not follows and self._has_steady_factor(near, close)):
            return None
        self.verdict.layouts[self.entry.key] = close
        if self._has_pending_state():
            return reasons.PENDING_STATE
        return reasons.rounding(close, self.layout, self._scales(), follows)

    def _has_steady_factor(self, near: Nearest | None, close: Found) -> bool:
        """True if all elements are the same number times one device's, which isn't rounding."""
        is_whole = close.scale == 1 and all(piece.letter in "RS" for piece in close.pieces)
        return is_whole and near is not None and self._steady_factor(near) is not None

    def _steady_factor(self, near: Nearest) -> float | None:
        return steady_factor(near.expected, near.got, self.ulp) if self.ulp else None

    def _follows_from_own_gradient(self) -> bool:
        """True for a parameter, or a state of one, whose gradients differed by rounding before. An
        optimizer may make steps of any size of rounding errors.
        """
        key = self.entry.key
        if key.kind not in (notes.PARAMETER, notes.STATE):
            return False
        name = key.name.rpartition(" of ")[2]
        kinds = (*notes.OF_GRADIENTS, notes.PARAMETER)
        return any(
            each.key is not None and each.key.kind in kinds and each.key.name == name
            and each.key != key
            for each in self.verdict.limits
        )  # fmt: skip

    def _step_factor(self, near: Nearest | None) -> float | None:
        """The number that a parameter's step is times one device's, if that isn't 1."""
        change = self._change()
        if change is None or near is None or near.expected.numel() % change.numel():
            return None
        if any(piece.letter != "R" for piece in near.pieces):
            return None
        told = self.verdict.steps.told(self.entry.key.name, change)
        copies = near.expected.numel() // change.numel()
        told, whole = told.repeat(copies), change.repeat(copies)
        got = whole + near.got - near.expected
        times = factor_between(whole[told], got[told], LARGEST)
        return times if times is not None and abs(times - 1) > LARGEST else None

    def _other_setting(self) -> str:
        """Says which option of its optimizer a parameter was stepped with on one device, and on the
        first rank that has another one; "" if there is none.
        """
        key = self.entry.key
        mine = self.one.settings.get(key, {})
        for rank, each in enumerate(self.ranks):
            for name, value in each.settings.get(key, {}).items():
                if name in mine and mine[name] != value:
                    return f"{name} is {mine[name]} on one device, and {value} on rank {rank}"
        return ""

    def _change(self) -> torch.Tensor | None:
        """The changes of one device's elements by the step; None for other values."""
        if self.entry.key.kind != notes.PARAMETER or not self.ulp:
            return None
        before = self.one.entries.get(self._key_before_step())
        if before is None or before.snapshot is None:
            return None
        (whole,) = whole_of_declared([before.snapshot])
        if whole is None:
            return None
        after = self.value.one.elements.reshape(-1)
        return (after - whole.elements.reshape(-1)).to(torch.float64)

    def _note_steps(self, near: Nearest | None) -> None:
        """Notes a gradient or parameter that differs by a limit. Optimizers make steps of rounding
        errors, where a gradient has nothing else.
        """
        key, steps = self.entry.key, self.verdict.steps
        if near is None or self.verdict.faults:
            return
        if key.kind in notes.OF_GRADIENTS:
            steps.note_gradient(key.name, near, LARGEST)
        if key.kind != notes.PARAMETER or not self._follows_from_own_gradient():
            return
        steps.note_parameter(key, near, bool(self.one.coarsest_product))
        largest = float(near.expected.abs().max())
        if largest > 0:
            drift = float((near.expected - near.got).abs().max()) / largest
            self.verdict.drift = max(self.verdict.drift, drift)

    def _is_small_in_step(self, near: Nearest) -> bool:
        """True for a parameter that a step changed by nearly what it changed one device's."""
        change = self._change()
        if change is None:
            return False
        copies = near.expected.numel() / change.numel()
        difference = float((near.expected - near.got).norm()) / copies**0.5
        return difference <= 2 * LARGEST * float(change.norm())

    def _scaled(self, allowed: Allowed) -> Found | None:
        """The layout of a value that is an odd number of times one device's, but for roundings in
        the coarsest dtype of the program: autocast rounds inside of float32 modules.
        """
        tolerance = min(ROUNDINGS * self.coarsest_ulp, LARGEST)
        close = find(
            self.value.one, self.value.wholes, self.layout, replace(allowed, tolerance=tolerance)
        )
        return close if close is not None and not is_power_of_two(close.scale) else None

    def _not_judged(self) -> str:
        """Says what the value follows from, if that lets it differ in any way; "" otherwise."""
        if self._has_own_statistics():
            return "it follows from statistics of each rank's own rows, and isn't judged"
        for each in self.verdict.findings:
            if each.text.startswith(reasons.RANDOM):
                return reasons.AFTER_RANDOM
            if each.text == reasons.OTHER_CHOICES:
                return reasons.AFTER_CHOICES
        return ""

    def _has_other_rows(self) -> bool:
        """True if ranks have the columns of one device's value, and other numbers of rows."""
        columns = self.value.one.elements.shape[1:]
        present = [each.elements for each in self.value.pieces if each is not None]
        return bool(columns) and all(each.shape[1:] == columns for each in present)

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

    def _scales(self) -> set[float]:
        return {found.scale for found in self.verdict.layouts.values()}

    def _is_unchanged(self) -> bool:
        """True if a step left a parameter as it was on all ranks, and not on one device."""
        key = self.entry.key
        if key.kind != notes.PARAMETER:
            return False
        before = self._key_before_step()
        if _is_same(self.one.entries.get(before), self.one.entries.get(key)):
            return False
        return all(_is_same(each.entries.get(before), each.entries.get(key)) for each in self.ranks)

    def _key_before_step(self) -> Key:
        """The key of a parameter before the step that changed it."""
        key = self.entry.key
        if key.occurrence == 0:
            return Key(notes.INITIAL, key.name, 0)
        return Key(notes.PARAMETER, key.name, key.occurrence - 1)

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


def _largest(entry: Entry) -> float:
    """The largest number of an entry without its sign; 0 where there is none."""
    elements = None if entry.snapshot is None else entry.snapshot.exact.elements
    if elements is None or not elements.is_floating_point() or not elements.numel():
        return 0.0
    return float(elements.abs().max())


def _is_pending(entry: Entry) -> bool:
    declared = None if entry.snapshot is None else entry.snapshot.declared
    return declared is not None and any(each.is_partial() for each in declared.placements)


def _is_same(one: Entry | None, other: Entry | None) -> bool:
    if one is None or other is None or one.snapshot is None or other.snapshot is None:
        return False
    return same_bits(one.snapshot.exact.elements, other.snapshot.exact.elements)
