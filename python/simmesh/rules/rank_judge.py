"""Judges rows of a function that communicates, on simulated ranks under several schedules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from simmesh.rules.argument_sizes import OutputSizes
from simmesh.rules.communication import names_rule_mesh
from simmesh.rules.ranks import RankTrials
from simmesh.rules.rows_judge import RowsJudge, with_gradients
from simmesh.rules.rule import PARTIAL, REPLICATE, VARYING, Row, RulePlacement, shard
from simmesh.rules.sizes import Shapes
from simmesh.rules.verdict import RuleCheck, RuleCounterExample


class _Pair(tuple[Row, ...]):
    """The rows of a mesh of two dims, of which the function gets the one of dim ``along``."""

    along: int

    @classmethod
    def of(cls, rows: Sequence[Row], along: int) -> _Pair:
        pair = cls(rows)
        pair.along = along
        return pair


class RankJudge(RowsJudge):
    """Judges rows by running the function on every rank of a mesh."""

    _product_max = 1
    _candidates_max = 64

    def prepare(self, whole: Callable[..., Any] | None, schedules: Sequence[str]) -> None:
        """Sets the function that is right for whole inputs, and the schedules."""
        call = self._judged.call
        reference = None
        if whole is not None:
            # The function on one device takes no mesh.
            kept = [slot for slot in call.slots if slot.kind not in ("mesh", "group")]
            reference = replace(call, function=whole, slots=tuple(kept), named=())
        self._trials = RankTrials(
            call, reference, self._inputs, self._values, self._has_backward, schedules,
            local="plain" if self._values.are_whole else "exact",
        )  # fmt: skip
        self._has_sub_mesh = call.takes_ranks or names_rule_mesh(call.function)
        self._takes_group = call.takes_group
        # True for a row that holds on ranks that don't communicate with one another.
        self._holds_apart: dict[Row, bool] = {}

    def judge(self, meshes: Sequence[Sequence[int]], finds_unclaimed: bool) -> RuleCheck:
        """The verdict on all rows, and what the rule leaves out."""
        check = super().judge(meshes, finds_unclaimed)
        check.communicates = self._trials.communicated
        return check

    def _combinations(self, rows: Sequence[Row], mesh: Sequence[int]) -> Iterator[tuple[Row, ...]]:
        """Along each mesh dim a row, while the others replicate: the function gets the mesh of that
        dim. On two dims the other one also has each row that holds without communication. A
        function of the default group has the whole mesh alone.
        """
        yield from (each for each in self._rule.joint if len(each) == len(mesh))
        if len(mesh) > 1 and not self._has_sub_mesh:
            return
        for row in rows:
            for at in range(len(mesh)) if not row.is_replicated else (0,):
                replicated = _replicated_like(row)
                yield tuple(row if at == dim else replicated for dim in range(len(mesh)))
        if len(mesh) != 2:
            return
        cut = [row for row in rows if not row.is_replicated and not _varies(row)]
        for row, other in itertools.product(cut, repeat=2):
            if self._does_hold_apart(other, mesh):
                yield _Pair.of((row, other), 0)
                yield _Pair.of((other, row), 1)

    def _does_hold_apart(self, row: Row, mesh: Sequence[int]) -> bool:
        """True if a row holds on ranks that each have a mesh of themselves alone."""
        if row not in self._holds_apart:
            rows, sizes = (_replicated_like(row), row), (1, mesh[1])
            shapes = self._shapes(rows, sizes, [row])
            found = self._trials.judge(rows, sizes, self._sized(rows, sizes, shapes), 0)
            self._holds_apart[row] = found.mismatch is None and found.trials > 0
        return self._holds_apart[row]

    def _judge(self, rows: tuple[Row, ...], mesh: Sequence[int]) -> RuleCounterExample | None:
        if isinstance(rows, _Pair):
            return self._judge_pair(rows, rows.along, mesh)
        if rows not in self._rule.joint or not self._takes_group:
            return super()._judge(rows, mesh)
        # The claim says not along which dim the function communicates: one that holds is it.
        found = []
        for along in range(len(mesh)):
            each = self._judge_pair(rows, along, mesh)
            if each is None:
                return None
            found.append(each)
        # One that is right but for its gradients is what was meant.
        return max(found, key=lambda each: each.what.startswith("gradient"))

    def _judge_pair(
        self, rows: Sequence[Row], along: int, mesh: Sequence[int]
    ) -> RuleCounterExample | None:
        """Judges rows whose function communicates along one mesh dim. In the others its gradients
        are terms of a sum where its inputs are replicated, as those of any function.
        """
        read = self._read.get(rows[along], rows[along])
        readings = [_whole_gradients(read) if at == along else row for at, row in enumerate(rows)]
        return self._judge_along(readings, mesh, rows, along)

    def _along(self, rows: Sequence[Row], mesh: Sequence[int]) -> int | None:
        if len(mesh) == 1 or tuple(rows) in self._rule.joint:
            return None
        return next((at for at, row in enumerate(rows) if not row.is_replicated), 0)

    def _counter_example(
        self, rows: Sequence[Row], mesh: Sequence[int], claimed: Sequence[Row]
    ) -> RuleCounterExample | None:
        found = self._judge_as(rows, mesh, claimed)
        if found is None or not found.what.startswith("gradient") or len(mesh) > 1:
            return found
        row = rows[0]
        for reading in _readings(row, self._trials.communicated):
            if self._judge_as([reading], mesh, claimed) is None:
                self._read[claimed[0]] = reading
                return None
        return self._with_hint(
            found, row, lambda other: self._judge_as([other], mesh, claimed) is None
        )

    def _judge_as(
        self, rows: Sequence[Row], mesh: Sequence[int], claimed: Sequence[Row]
    ) -> RuleCounterExample | None:
        whole = [_whole_gradients(row) for row in rows]
        return self._judge_along(whole, mesh, claimed, self._along(claimed, mesh))

    def _judge_along(
        self, rows: Sequence[Row], mesh: Sequence[int], claimed: Sequence[Row], along: int | None
    ) -> RuleCounterExample | None:
        shapes = self._shapes(rows, mesh, claimed)
        if not shapes:
            return None
        found = self._trials.judge(rows, mesh, self._sized(rows, mesh, shapes), along)
        self._check.trials += found.trials
        self._check.refused.update(found.refused)
        if found.outputs is None:
            return None
        self._expect_outputs(rows, found.outputs)
        self._judged_rows.update(claimed)
        if found.mismatch is None:
            return None
        return self._example(rows, mesh, found.shapes, found.mismatch)

    def _find_unclaimed(self, rows: Sequence[Row]) -> None:
        trials = self._check.trials
        super()._find_unclaimed(rows)
        self._check.trials = trials

    def _sized(
        self, rows: Sequence[Row], mesh: Sequence[int], shapes: Sequence[Shapes]
    ) -> list[tuple[Shapes, OutputSizes | None]]:
        return [(each, self._output_sizes(rows, mesh, each)) for each in shapes]

    def _row_that_holds(self, placements: tuple[RulePlacement, ...]) -> Row | None:
        count = len(self._rule.all_rows[0].outputs)
        most = max([len(each.dims) for each in self._inputs] + [1])
        outputs = [REPLICATE, *map(shard, range(most)), PARTIAL]
        for of_outputs in itertools.product(outputs, repeat=count):
            row = Row(placements, of_outputs)
            if all(self._counter_example([row], mesh, [row]) is None for mesh in ((2,), (3,))):
                return self._read.pop(row, row)
        return None


def _replicated_like(row: Row) -> Row:
    """The row of replicated tensors, with None where a row has it."""
    outputs = tuple(each if each.kind == "none" else REPLICATE for each in row.outputs)
    return Row((REPLICATE,) * len(row.inputs), outputs)


def _varies(row: Row) -> bool:
    return VARYING in (*row.inputs, *row.outputs)


def _whole_gradients(row: Row) -> Row:
    """A row whose replicated tensors have whole gradients, unless it says otherwise."""
    if row.input_gradients is not None or row.is_replicated or not row.has_gradients:
        return row
    return with_gradients(row, REPLICATE, REPLICATE)


def _readings(row: Row, communicates: bool) -> list[Row]:
    """The other rows as which a row of placements may be read: a replicated output's gradient may
    be a sum of terms. That of a replicated input may be one if the function never communicates.
    """
    if row.input_gradients is not None or row.is_replicated or not row.has_gradients:
        return []
    of_inputs = REPLICATE if communicates else PARTIAL
    found = [with_gradients(row, of_inputs, each) for each in (PARTIAL, REPLICATE)]
    return [each for each in found if each != with_gradients(row, REPLICATE, REPLICATE)]
