"""Judges rows of a function that doesn't communicate, on the pieces of one rank after another."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from simmesh.rules.rows_judge import RowsJudge
from simmesh.rules.rule import PARTIAL, REPLICATE, Row, RulePlacement, shard
from simmesh.rules.sizes import Shapes, shapes_for
from simmesh.rules.trial import FunctionRefuses, Trial
from simmesh.rules.verdict import RuleCounterExample


class LocalJudge(RowsJudge):
    """Judges rows by calling the function for each rank."""

    def _trial(self, rows: Sequence[Row], mesh: Sequence[int], shapes: Shapes) -> Trial | None:
        placements = [[row.inputs[at] for row in rows] for at in range(len(self._inputs))]
        try:
            return Trial(
                self._judged.call, self._inputs, shapes, mesh, placements, self._values,
                self._output_sizes(rows, mesh, shapes),
            )  # fmt: skip
        except FunctionRefuses as refusal:
            self._check.refused[shapes] = str(refusal)
            return None

    def _counter_example(
        self, rows: Sequence[Row], mesh: Sequence[int], claimed: Sequence[Row]
    ) -> RuleCounterExample | None:
        found = self._first_mismatch(rows, mesh, claimed)
        says_gradients = rows[0].input_gradients is not None
        if found is None or not found.what.startswith("gradient") or not says_gradients:
            return found
        if len(mesh) > 1:
            return found
        return self._with_hint(
            found, rows[0], lambda other: self._first_mismatch([other], mesh, claimed) is None
        )

    def _first_mismatch(
        self, rows: Sequence[Row], mesh: Sequence[int], claimed: Sequence[Row]
    ) -> RuleCounterExample | None:
        for shapes in self._shapes(rows, mesh, claimed):
            trial = self._trial(rows, mesh, shapes)
            if trial is None:
                continue
            self._expect_outputs(rows, len(trial.outputs))
            mismatch = trial.problem
            for at in range(len(trial.outputs)):
                if mismatch is None:
                    mismatch = trial.forward(at, [row.outputs[at] for row in rows])
            try:
                if mismatch is None and self._has_backward:
                    mismatch = trial.backward(rows)
            except FunctionRefuses as refusal:
                self._check.refused[shapes] = str(refusal)
                continue
            self._check.trials += 1
            self._judged_rows.update(claimed)
            if mismatch is not None:
                return self._example(rows, mesh, shapes, mismatch)
        return None

    def _row_that_holds(self, placements: tuple[RulePlacement, ...]) -> Row | None:
        if self._judged.call.takes_sizes:
            return self._row_of_sizes_that_holds(placements)
        outputs: list[list[RulePlacement]] | None = None
        probe = Row(placements, ())
        for mesh in ((2,), (3,)):
            for shapes in shapes_for(self._inputs, [probe], mesh, self._kinds):
                trial = self._trial([probe], mesh, shapes)
                if trial is None:
                    continue
                if trial.problem is not None:
                    return None
                if outputs is None:
                    outputs = [
                        [REPLICATE, *map(shard, range(output.dim())), PARTIAL]
                        for output in trial.outputs
                    ]
                for at, fitting in enumerate(outputs):
                    fitting[:] = [each for each in fitting if trial.forward(at, [each]) is None]
                    if not fitting:
                        return None
        if not outputs:
            return None
        row = Row(placements, tuple(fitting[0] for fitting in outputs))
        if self._has_backward and any(self._fails(row, mesh) for mesh in ((2,), (3,))):
            return None
        return row

    def _row_of_sizes_that_holds(self, placements: tuple[RulePlacement, ...]) -> Row | None:
        """The same for a function that gets sizes, which depend on the outputs' placements."""
        call, count = self._judged.call, len(self._rule.all_rows[0].outputs)
        dims = max(len(slot.value.dims) for slot in call.slots if slot.kind == "sizes")
        for of_outputs in itertools.product(
            (REPLICATE, *map(shard, range(dims)), PARTIAL), repeat=count
        ):
            row = Row(placements, of_outputs)
            if all(self._holds_with_outputs(row, mesh) for mesh in ((2,), (3,))):
                return row
        return None

    def _holds_with_outputs(self, row: Row, mesh: Sequence[int]) -> bool:
        trials = [
            self._trial([row], mesh, shapes)
            for shapes in shapes_for(self._inputs, [row], mesh, self._kinds)
        ]
        run = [trial for trial in trials if trial is not None]
        is_right = all(
            trial.problem is None
            and all(trial.forward(at, [each]) is None for at, each in enumerate(row.outputs))
            and not (self._has_backward and self._has_wrong_gradient(trial, row))
            for trial in run
        )
        return is_right and bool(run)

    def _fails(self, row: Row, mesh: Sequence[int]) -> bool:
        for shapes in shapes_for(self._inputs, [row], mesh, self._kinds):
            trial = self._trial([row], mesh, shapes)
            if trial is None:
                continue
            self._check.trials += 1
            if trial.problem is not None or self._has_wrong_gradient(trial, row):
                return True
        return False

    @staticmethod
    def _has_wrong_gradient(trial: Trial, row: Row) -> bool:
        try:
            return trial.backward([row]) is not None
        except FunctionRefuses:
            return False
