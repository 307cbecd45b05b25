"""Compares what the ranks of a layout noted with what one device noted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simmesh.one_device import notebook as notes
from simmesh.one_device import reasons
from simmesh.one_device.assembly import NotJudged
from simmesh.one_device.explanation import explain
from simmesh.one_device.layout import Layout
from simmesh.one_device.notebook import Entry, Notebook
from simmesh.one_device.numbering import with_names_of
from simmesh.one_device.rows import REPEATED
from simmesh.one_device.search import Allowed, Found, find
from simmesh.one_device.snapshot import same_bits
from simmesh.one_device.value import Value, of_calls, of_one_call, without_padding
from simmesh.one_device.verdict import Finding, Verdict

# Kinds that a program notes once for each micro-batch.
_OF_CALLS = frozenset({notes.OUTPUT, notes.OUTPUT_GRADIENT, notes.NOTED})
_Name = tuple[str, str, int]


def judge(
    one: Notebook, ranks: Sequence[Notebook], layout: Layout, goes_on: bool = False
) -> Verdict:
    """Compares all that one device noted with the ranks, in the order of one device's program."""
    verdict = Verdict(layout, goes_on=goes_on)
    return _Judge(one, [with_names_of(one, each) for each in ranks], verdict).run()


class _Judge:
    def __init__(self, one: Notebook, ranks: Sequence[Notebook], verdict: Verdict) -> None:
        self.one = one
        self.ranks = ranks
        self.layout = verdict.layout
        self.verdict = verdict
        self.calls = [_by_step(each) for each in (one, *ranks)]

    def run(self) -> Verdict:
        self._strays()
        self._expect_names()
        self._expect_steps()
        judged: set[_Name] = set()
        for key, entry in self.one.entries.items():
            name = (key.kind, key.name, entry.step)
            if name in judged:
                continue
            try:
                if self._judge(entry, name):
                    judged.add(name)
            except NotJudged as error:
                self.verdict.skipped[key.text] = f"it is declared as {error}"
        self._leave_out_counts()
        self._leave_out_repeated_rows()
        self._leave_out_sums_made_elsewhere()
        return self.verdict

    def _leave_out_counts(self) -> None:
        """Leaves out whole numbers that modules return, if all else is one device's: a router
        numbers the rows of its own rank.
        """
        findings = self.verdict.findings
        if not all(each.key is not None and self._is_count(each.key) for each in findings):
            return
        for each in findings:
            assert each.key is not None
            self.verdict.skipped[each.key.text] = "ranks count their own rows"
        self.verdict.findings = []

    def _leave_out_repeated_rows(self) -> None:
        """Leaves out outputs in which ranks have rows of one device twice, if all else is one
        device's: loaders fill up the last batch, and what is gathered is cut again.
        """
        findings = self.verdict.findings
        for each in findings:
            is_output = each.key is not None and each.key.kind == notes.OUTPUT
            if not is_output or not each.text.endswith(REPEATED):
                return
        for each in findings:
            assert each.key is not None
            self.verdict.skipped[each.key.text] = "ranks have rows more than once"
        self.verdict.findings = []

    def _leave_out_sums_made_elsewhere(self) -> None:
        """Leaves out gradients that stay parts of sums, if there is no other fault and the
        parameters were stepped: ranks may add up their steps instead.
        """
        for each in self.verdict.faults:
            if not each.is_missing_sum or each.key is None or not self._is_stepped(each.key.name):
                return
        for each in self.verdict.faults:
            assert each.key is not None
            self.verdict.skipped[each.key.text] = "its parts are added up after the step"
        self.verdict.findings = self.verdict.limits

    def _is_stepped(self, parameter: str) -> bool:
        """True if a parameter was changed on one device, and on the ranks alike."""
        last = self.one.counts[notes.PARAMETER, parameter] - 1
        keys = notes.Key(notes.INITIAL, parameter, 0), notes.Key(notes.PARAMETER, parameter, last)
        first, end = (self.one.entries.get(key) for key in keys)
        if first is None or end is None or first.snapshot is None or end.snapshot is None:
            return False
        is_changed = not same_bits(first.snapshot.exact.elements, end.snapshot.exact.elements)
        has_it = any(keys[1] in each.entries for each in self.ranks)
        return is_changed and has_it and all(each.key != keys[1] for each in self.verdict.faults)

    def _is_count(self, key: notes.Key) -> bool:
        entry = self.one.entries.get(key)
        if entry is None or entry.snapshot is None or key.kind != notes.OUTPUT:
            return False
        return not entry.snapshot.exact.elements.is_floating_point()

    def _strays(self) -> None:
        for each in [*self.one.strays[:1], *self.ranks[0].strays[:1]][-1:]:
            self.verdict.findings.append(Finding(None, each.line, reasons.stray(each)))

    def _expect_names(self) -> None:
        """Finds that ranks have none of one device's parameters: then little would be compared."""
        one = self.one.parameter_names
        ranks = set().union(*(each.parameter_names for each in self.ranks))
        if one and not one & ranks:
            text = reasons.other_names(one, ranks)
            self.verdict.findings.append(Finding(None, "at the end", text))

    def _expect_steps(self) -> None:
        """Finds a rank whose optimizers step a parameter more or less often than one device's, as
        where a scaler skips a step on some ranks only. A rank that never steps one leaves it to
        others.
        """
        for name, times in self.one.times_stepped.items():
            got = [each.times_stepped.get(name, 0) for each in self.ranks]
            rank = next((at for at, each in enumerate(got) if each not in (0, times)), None)
            if rank is not None:
                text = reasons.other_steps(name, times, rank, got)
                self.verdict.findings.append(Finding(None, self.ranks[rank].step_line, text))
                return

    def _judge(self, entry: Entry, name: _Name) -> bool:
        """Judges a value. Returns True if all calls of its step were looked at together."""
        groups = [each.get(name, []) for each in self.calls]
        counts = {len(each) for each in groups[1:]} - {0}
        has_calls = entry.key.kind in _OF_CALLS
        if has_calls and counts and counts != {len(groups[0])}:
            self._judge_calls(groups, counts)
            return True
        others = [each.entries.get(entry.key) for each in self.ranks]
        if entry.snapshot is None or all(each is None or each.snapshot is None for each in others):
            self._absent(entry, others)
            return False
        value = of_one_call(entry, others)
        if value.lost:
            lost = tuple(rank for rank in value.lost if self._has_elements(rank, entry.key.name))
            value = replace(value, lost=lost)
        self._count(value, 1)
        if self._fits(value):
            return False
        if has_calls and len(groups[0]) > 1 and not value.is_broken:
            return self._judge_calls(groups, counts)
        self._find(value)
        return False

    def _has_elements(self, rank: int, name: str) -> bool:
        """False for a rank whose piece of a parameter is empty: it needs no gradient."""
        first = self.ranks[rank].entries.get(notes.Key(notes.INITIAL, name, 0))
        return first is None or first.snapshot is None or first.snapshot.nbytes > 0

    def _judge_calls(self, groups: Sequence[list[Entry]], counts: set[int]) -> bool:
        """Judges the calls of a step together, since micro-batches may have other rows on ranks
        than on one device. Returns True.
        """
        first = groups[0][0]
        value = of_calls(groups[0], groups[1:]) if len(counts) == 1 else None
        if value is not None:
            self._count(value, len(groups[0]))
            if self._fits(value, [each.key for each in groups[0]]):
                return True
        if value is None or counts != {len(groups[0])}:
            calls = ", ".join(map(str, sorted(counts)))
            self.verdict.skipped[f"{first.key.kind} of {first.key.name}"] = (
                f"noted {len(groups[0])} times on one device, {calls} times on ranks"
            )
        else:
            self._find(value)
        return True

    def _count(self, value: Value, calls: int) -> None:
        self.verdict.compared += calls
        self.verdict.constant += value.is_constant

    def _fits(self, value: Value, keys: Sequence[notes.Key] = ()) -> bool:
        """True if the ranks have one device's value, in a layout that is noted."""
        if value.lost or value.is_broken:
            return False
        found = find(value.one, value.wholes, self.layout, self._allowed(value))
        if found is None and value.entry.key.kind in notes.OF_MODULES:
            found = self._of_one_stage(value) or self._padded(value)
        if found is None:
            is_number = value.entry.snapshot is not None and value.entry.snapshot.is_number
            return is_number and reasons.number_fits(value.one, value.wholes)
        for key in keys or [value.entry.key]:
            self.verdict.layouts[key] = found
        return True

    def _allowed(self, value: Value) -> Allowed:
        """The forms of a value. Gradients and states lie as the parameters did at first."""
        key = value.entry.key
        if key.kind not in notes.OF_PARAMETERS or key.kind == notes.INITIAL:
            return value.allowed
        name = key.name.rpartition(" of ")[2]
        first = self.verdict.layouts.get(notes.Key(notes.INITIAL, name, 0))
        return replace(value.allowed, reordered=first is not None and first.is_reordered)

    def _find(self, value: Value) -> None:
        finding = explain(value, self.one, self.ranks, self.verdict)
        self.verdict.findings.append(finding)

    def _of_one_stage(self, value: Value) -> Found | None:
        """The layout of the output of a module that has its submodules on several ranks, as a
        pipeline has: one stage's output is one device's.
        """
        if not self._is_cut(value.entry.key.name):
            return None
        for dim, size in enumerate(self.layout.sizes):
            for place in range(size) if size > 1 else ():
                only = [
                    each if self.layout.coordinates(rank)[dim] == place else None
                    for rank, each in enumerate(value.wholes)
                ]
                found = find(value.one, only, self.layout, value.allowed)
                if found is not None:
                    return found
        return None

    def _padded(self, value: Value) -> Found | None:
        """The layout of the output of a module whose pieces are filled up to one size, as those of
        a vocabulary are.
        """
        for wholes in without_padding(value, self.layout):
            found = find(value.one, wholes, self.layout, value.allowed)
            if found is not None:
                return found
        return None

    def _is_cut(self, module: str) -> bool:
        """True if each rank has some of the parameters in a module, and none has all."""
        expected = _parameters_in(self.one, module)
        return all(_parameters_in(each, module) < expected for each in self.ranks)

    def _absent(self, entry: Entry, others: list[Entry | None]) -> None:
        if all(each is None for each in others):
            if entry.snapshot is not None:
                self.verdict.skipped[f"{entry.key.kind} {entry.key.name}"] = "no rank has it"
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


def _by_step(notebook: Notebook) -> dict[_Name, list[Entry]]:
    """The entries of each kind and name between two optimizer steps, in the order of calls."""
    found: dict[_Name, list[Entry]] = {}
    for key, entry in sorted(notebook.entries.items(), key=lambda item: item[0].occurrence):
        if entry.snapshot is not None:
            found.setdefault((key.kind, key.name, entry.step), []).append(entry)
    return found


def _parameters_in(notebook: Notebook, module: str) -> set[str]:
    """The names of the parameters in a module, which is a root if it has none by its name."""
    every = notebook.parameter_names
    path = module.partition("[")[0] + "."
    return {name for name in every if name.startswith(path)} or every
