"""Compares what the ranks of a layout noted with what one device noted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from simmesh.one_device import notebook as notes
from simmesh.one_device import reasons
from simmesh.one_device.assembly import NotJudged, whole_of_declared
from simmesh.one_device.layout import Layout
from simmesh.one_device.nearest import Nearest, factor_of, nearest
from simmesh.one_device.notebook import Entry, Key, Notebook
from simmesh.one_device.numbering import renumber
from simmesh.one_device.operators import OperatorAtFault, Window
from simmesh.one_device.search import Allowed, Found, find
from simmesh.one_device.snapshot import Exact, Snapshot, same_bits, ulp_of

#: A difference that one more rounding can make, in units of the last place of the largest element.
ROUNDINGS = 8

#: A difference that may follow from an earlier one of ROUNDINGS.
FOLLOWING = 256


_MADE_BY_OPERATORS = frozenset(
    {notes.OUTPUT, notes.OUTPUT_GRADIENT, notes.GRADIENT, notes.LEFT_GRADIENT, notes.NOTED,
     notes.RETURNED}
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A value that isn't one device's.

    ``is_limit`` says that exact arithmetic can't make it equal: then it is no fault of the
    program. ``text`` has the reason, ``details`` where, expected and came. ``factor`` is the
    number that all elements are times one device's. ``is_missing_sum`` says that the parts on the
    ranks add up to one device's.
    """

    key: Key | None
    line: str
    text: str
    details: str = ""
    is_limit: bool = False
    factor: float | None = None
    is_missing_sum: bool = False


@dataclass
class Verdict:
    """The comparison of one layout with one device.

    ``layouts`` has how each value lies on the ranks that is one device's. ``skipped`` has what
    couldn't be compared, with the reason. ``constant`` is the number of values that are compared
    and have several elements, all of them equal: a wrong layout of these may not show.
    """

    layout: Layout
    findings: list[Finding] = field(default_factory=list)
    layouts: dict[Key, Found] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    compared: int = 0
    constant: int = 0
    operator: OperatorAtFault | None = None

    @property
    def faults(self) -> list[Finding]:
        """The findings that are faults of the program."""
        return [each for each in self.findings if not each.is_limit]

    @property
    def limits(self) -> list[Finding]:
        """The findings that are due to limits of exact arithmetic."""
        return [each for each in self.findings if each.is_limit]

    def window(self, one: Notebook) -> Window | None:
        """The part of the program in which an operator made the first value at fault; None if
        that value was made by no operator, or the finding says all.
        """
        if not self.faults:
            return None
        first = self.faults[0]
        if first.key is None or first.is_missing_sum or first.key.kind not in _MADE_BY_OPERATORS:
            return None
        if first.key.kind in notes.OF_GRADIENTS:
            return self._window_of_gradient(first.key)
        begin = None
        for key in one.entries:
            if key == first.key:
                break
            if key in self.layouts:
                begin = key
        return Window(begin, first.key)

    def _window_of_gradient(self, key: Key) -> Window:
        """From the gradient of the output of the parameter's module."""
        module = key.name.rpartition(".")[0]
        begins = [
            each for each in self.layouts
            if each.kind == notes.OUTPUT_GRADIENT and each.name == module
        ]  # fmt: skip
        return Window(begins[0] if begins else None, key)


def judge(one: Notebook, ranks: Sequence[Notebook], layout: Layout) -> Verdict:
    """Compares all that one device noted with the ranks, in the order of one device's program."""
    return _Judge(one, [renumber(one, each) for each in ranks], layout).run()


class _Judge:
    def __init__(self, one: Notebook, ranks: Sequence[Notebook], layout: Layout) -> None:
        self.one = one
        self.ranks = ranks
        self.layout = layout
        self.verdict = Verdict(layout)
        self.has_own_statistics = False

    def run(self) -> Verdict:
        self._strays()
        for key, entry in self.one.entries.items():
            counts = {each.counts[key.kind, key.name] for each in self.ranks} - {0}
            here = self.one.counts[key.kind, key.name]
            if counts and counts != {here}:
                calls = ", ".join(map(str, sorted(counts)))
                self.verdict.skipped[f"{key.kind} of {key.name}"] = (
                    f"noted {here} times on one device, {calls} times on ranks"
                )
                continue
            self._compare(entry, [each.entries.get(key) for each in self.ranks])
        return self.verdict

    def _strays(self) -> None:
        for each in [*self.one.strays[:1], *self.ranks[0].strays[:1]][-1:]:
            self.verdict.findings.append(Finding(None, each.line, reasons.stray(each)))

    def _compare(self, entry: Entry, others: list[Entry | None]) -> None:
        if entry.snapshot is None or all(each is None or each.snapshot is None for each in others):
            self._absent(entry, others)
            return
        snapshots = [None if each is None else each.snapshot for each in others]
        try:
            one = whole_of_declared([entry.snapshot])[0]
            wholes = whole_of_declared(snapshots)
        except NotJudged as error:
            self.verdict.skipped[entry.key.text] = f"it is declared as {error}"
            return
        assert one is not None
        self.verdict.compared += 1
        self.verdict.constant += _is_constant(one)
        lost = [
            rank for rank, each in enumerate(others) if each is not None and each.snapshot is None
        ]
        pending = entry.key.kind in notes.MAY_BE_PENDING and not entry.is_whole
        allowed = Allowed(
            pending=pending,
            scale=entry.key.kind == notes.OUTPUT_GRADIENT,
            reordered=entry.key.kind in notes.OF_MODULES,
        )
        found = find(one, wholes, self.layout, allowed)
        if found is not None and not lost:
            self.verdict.layouts[entry.key] = found
            return
        stage = self._of_one_stage(entry, one, wholes, allowed)
        if stage is not None:
            self.verdict.layouts[entry.key] = stage
            return
        if entry.snapshot.is_number and reasons.number_fits(one, wholes):
            return
        self.verdict.findings.append(self._finding(entry, one, wholes, snapshots, lost))

    def _of_one_stage(
        self, entry: Entry, one: Exact, wholes: list[Exact | None], allowed: Allowed
    ) -> Found | None:
        """The layout of the output of a module that has its submodules on several ranks, as a
        pipeline has: one stage's output is one device's.
        """
        if entry.key.kind not in notes.OF_MODULES or not self._is_cut(entry.key.name):
            return None
        for dim, size in enumerate(self.layout.sizes):
            for place in range(size) if size > 1 else ():
                only = [
                    each if self.layout.coordinates(rank)[dim] == place else None
                    for rank, each in enumerate(wholes)
                ]
                found = find(one, only, self.layout, allowed)
                if found is not None:
                    return found
        return None

    def _is_cut(self, module: str) -> bool:
        """True if each rank has some of the parameters in a module, and none has all."""
        expected = _parameters_in(self.one, module)
        return all(_parameters_in(each, module) < expected for each in self.ranks)

    def _absent(self, entry: Entry, others: list[Entry | None]) -> None:
        if all(each is None for each in others):
            if entry.key.kind in (notes.GRADIENT, notes.PARAMETER) and entry.snapshot is not None:
                text = "one device has it, no rank has a parameter of this name"
                self.verdict.skipped[entry.key.text] = text
            return
        if entry.snapshot is not None:
            text = "one device has one, no rank has"
            self.verdict.findings.append(Finding(entry.key, entry.line, text))
            return
        for rank, each in enumerate(others):
            if each is not None and each.snapshot is not None:
                if bool(each.snapshot.exact.elements.any()):
                    text = f"one device has none, rank {rank} has one that isn't zero"
                    self.verdict.findings.append(Finding(entry.key, each.line, text))
                return

    def _finding(
        self, entry: Entry, one: Exact, wholes: list[Exact | None],
        snapshots: list[Snapshot | None], lost: list[int],
    ) -> Finding:  # fmt: skip
        key, line = entry.key, entry.line
        if lost:
            have = [rank for rank, each in enumerate(wholes) if each is not None]
            return Finding(key, line, reasons.lost(lost, have))
        summed = self._missing_sum(entry, one, wholes)
        if summed is not None:
            text = reasons.missing_sum(summed, self.layout) + self._source_of_parts(summed)
            return Finding(key, line, text, is_missing_sum=True)
        if self._is_unchanged(entry, one):
            return Finding(key, line, "this step changed it on one device, and on no rank")
        broken = reasons.broken_declaration(snapshots)
        pieces = [
            each.exact if whole is None and each is not None else whole
            for whole, each in zip(wholes, snapshots)
        ]
        near = nearest(one, pieces, self.layout)
        details = reasons.details(one, near, pieces, self.layout)
        if not broken and key.kind not in notes.MAY_BE_PENDING and near is not None:
            broken = reasons.broken_replicas(near, pieces, self.layout)
        limit = None if broken else self._limit(entry, one, wholes, near)
        if limit is not None:
            return Finding(key, line, limit, details, is_limit=True)
        factor = None if near is None else factor_of(near, FOLLOWING * ulp_of(one.elements.dtype))
        text = broken or reasons.difference(key, factor, one, pieces, self._rows(), self.layout)
        if not broken and factor is None and near is not None:
            own = reasons.own_factors(near, FOLLOWING * ulp_of(one.elements.dtype))
            text = own or reasons.exchanged(near) or text
        return Finding(key, line, text, details, factor=factor)

    def _missing_sum(self, entry: Entry, one: Exact, wholes: list[Exact | None]) -> Found | None:
        """The layout in which parts of a sum on the ranks make one device's value, but for
        rounding, though it has to be whole.
        """
        if entry.key.kind not in notes.OF_GRADIENTS and not entry.is_whole:
            return None
        found = find(one, wholes, self.layout, Allowed(tolerance=self._tolerance(one)))
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

    def _tolerance(self, one: Exact) -> float:
        ulps = ulp_of(one.elements.dtype)
        return min(FOLLOWING * ulps, 0.05) if self.verdict.limits else ROUNDINGS * ulps

    def _limit(
        self, entry: Entry, one: Exact, wholes: list[Exact | None], near: Nearest | None
    ) -> str | None:
        """The limit that explains a difference; None if there is none."""
        if self.has_own_statistics:
            return "it follows from statistics of each rank's own rows, and isn't judged"
        if entry.is_of_rows and near is not None and not self.verdict.faults:
            self.has_own_statistics = True
            return reasons.BATCH_STATISTICS
        follows = bool(self.verdict.limits)
        if follows and entry.key.kind in (notes.PARAMETER, notes.STATE):
            return "it follows from gradients that differ by rounding"
        if not one.elements.is_floating_point():
            return None
        if near is not None and reasons.only_subnormal(near, one.elements.dtype):
            return reasons.SUBNORMAL
        allowed = Allowed(
            pending=entry.key.kind in notes.MAY_BE_PENDING and not entry.is_whole,
            scale=entry.key.kind == notes.OUTPUT_GRADIENT,
            tolerance=self._tolerance(one),
        )
        close = find(one, wholes, self.layout, allowed)
        if close is None:
            return None
        self.verdict.layouts[entry.key] = close
        return reasons.rounding(close, self.layout, self._scales(), follows)

    def _scales(self) -> set[float]:
        return {found.scale for found in self.verdict.layouts.values()}

    def _is_unchanged(self, entry: Entry, one: Exact) -> bool:
        """True if a step left a parameter as it was on all ranks, and not on one device."""
        key = entry.key
        if key.kind != notes.PARAMETER:
            return False
        before = Key(notes.PARAMETER, key.name, key.occurrence - 1)
        if key.occurrence == 0:
            before = Key(notes.INITIAL, key.name, 0)
        if _is_same(self.one.entries.get(before), self.one.entries.get(key)):
            return False
        return all(_is_same(each.entries.get(before), each.entries.get(key)) for each in self.ranks)

    def _rows(self) -> list[int] | None:
        """The number of rows of each rank, from the first value that is cut along dim 0."""
        for key, found in self.verdict.layouts.items():
            if any(piece.letter == "S" and piece.dim == 0 for piece in found.pieces):
                entries = [each.entries.get(key) for each in self.ranks]
                if all(each is not None and each.snapshot is not None for each in entries):
                    return [len(each.snapshot.exact.elements) for each in entries]  # type: ignore[union-attr]
        return None


def _parameters_in(notebook: Notebook, module: str) -> set[str]:
    """The names of the parameters in a module, which is a root if it has none by its name."""
    every = notebook.parameter_names
    path = module.partition("[")[0] + "."
    return {name for name in every if name.startswith(path)} or every


def _is_constant(one: Exact) -> bool:
    elements = one.elements.reshape(-1)
    return len(elements) > 1 and bool((elements == elements[0]).all())


def _is_same(one: Entry | None, other: Entry | None) -> bool:
    if one is None or other is None or one.snapshot is None or other.snapshot is None:
        return False
    return same_bits(one.snapshot.exact.elements, other.snapshot.exact.elements)
