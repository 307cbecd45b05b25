"""Judges rows of a function that communicates, on simulated ranks under several schedules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from simmesh.rules.communication import names_rule_mesh
from simmesh.rules.ranks import RankTrials
from simmesh.rules.rows_judge import RowsJudge, with_gradients
from simmesh.rules.rule import PARTIAL, REPLICATE, Row, RulePlacement, shard
from simmesh.rules.verdict import RuleCheck, RuleCounterExample


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

    def judge(self, meshes: Sequence[Sequence[int]], finds_unclaimed: bool) -> RuleCheck:
        """The verdict on all rows, and what the rule leaves out."""
        check = super().judge(meshes, finds_unclaimed)
        check.communicates = self._trials.communicated
        return check

    def _combinations(self, rows: Sequence[Row], mesh: Sequence[int]) -> Iterator[tuple[Row, ...]]:
        """Along each mesh dim a row, while the others replicate: the function gets the mesh of that
        dim. A function of the default group has the whole mesh alone.
        """
        yield from (each for each in self._rule.joint if len(each) == len(mesh))
        if len(mesh) > 1 and not self._has_sub_mesh:
            return
        for row in rows:
            for at in range(len(mesh)) if not row.is_replicated else (0,):
                replicated = Row(
                    (REPLICATE,) * len(row.inputs),
                    tuple(e if e.kind == "none" else REPLICATE for e in row.outputs),
                )
                yield tuple(row if at == dim else replicated for dim in range(len(mesh)))

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
        shapes = self._shapes(rows, mesh, claimed)
        if not shapes:
            return None
        along = self._along(claimed, mesh)
        found = self._trials.judge([_whole_gradients(row) for row in rows], mesh, shapes, along)
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

    def _row_that_holds(self, placements: tuple[RulePlacement, ...]) -> Row | None:
        count = len(self._rule.all_rows[0].outputs)
        most = max([len(each.dims) for each in self._inputs] + [1])
        outputs = [REPLICATE, *map(shard, range(most)), PARTIAL]
        for of_outputs in itertools.product(outputs, repeat=count):
            row = Row(placements, of_outputs)
            if all(self._counter_example([row], mesh, [row]) is None for mesh in ((2,), (3,))):
                return self._read.pop(row, row)
        return None


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
