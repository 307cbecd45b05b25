"""Goes over the rows of a rule and the meshes on which they are judged."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch

from simmesh.rules.argument_sizes import OutputSizes, letters_of
from simmesh.rules.forms import Judged
from simmesh.rules.rule import PARTIAL, REPLICATE, VARYING, Row, RulePlacement, shard
from simmesh.rules.sizes import Shapes, shapes_for
from simmesh.rules.trial import Mismatch, Values
from simmesh.rules.verdict import RuleCheck, RuleCounterExample

# More assignments of dims to V than that aren't tried.
_VARYING_MAX = 64


class RowsJudge(ABC):
    """Judges rows on meshes. A subclass runs the function."""

    # The most cut letters of which all pairs of sizes are judged.
    _product_max = 2
    # Rows that aren't claimed are looked for only where there are few.
    _candidates_max = 256

    def __init__(
        self,
        judged: Judged,
        kinds: Sequence[str],
        are_whole: bool,
        has_backward: bool,
        seed: int,
    ) -> None:
        self._judged, self._kinds, self._has_backward = judged, kinds, has_backward
        self._inputs, self._rule = judged.inputs, judged.rule
        self._values = Values(torch.Generator().manual_seed(seed), are_whole)
        self._check = RuleCheck(judged.name)
        # The row as which each row is read, where values decide that.
        self._read: dict[Row, Row] = {}
        self._judged_rows: set[Row] = set()

    @abstractmethod
    def _counter_example(
        self, rows: Sequence[Row], mesh: Sequence[int], claimed: Sequence[Row]
    ) -> RuleCounterExample | None:
        """The smallest counter-example of rows on a mesh. ``claimed`` are the rows as written."""

    @abstractmethod
    def _row_that_holds(self, placements: tuple[RulePlacement, ...]) -> Row | None:
        """A row with these inputs that holds on meshes of 2 and 3 ranks; None where none does."""

    def judge(self, meshes: Sequence[Sequence[int]], finds_unclaimed: bool) -> RuleCheck:
        """The verdict on all rows, and what the rule leaves out."""
        rows = list(dict.fromkeys(self._rule.rows))
        refuted: list[Row] = []
        for mesh in meshes:
            for combination in self._combinations(rows, mesh):
                if any(row in refuted for row in combination):
                    continue
                found = self._judge(combination, mesh)
                if found is None:
                    continue
                self._check.refuted.append(found)
                if len(combination) == 1:
                    refuted.append(combination[0])
        self._check.refuted.sort(key=lambda each: each.order)
        wrong = {row for each in self._check.refuted for row in each.rows}
        joint = [row for each in self._rule.joint for row in each if row not in wrong]
        held = [self._read.get(row, row) for row in rows if row not in refuted] + joint
        if finds_unclaimed:
            self._find_unclaimed(held)
        self._check.readings += [
            f"{row} is read as {read}" for row, read in self._read.items() if row not in refuted
        ]
        self._check.left_out += self._rule.left_out
        self._check.left_out += [
            f"row {row}: no size at which the function runs and the rule has it"
            for row in dict.fromkeys((*rows, *(r for each in self._rule.joint for r in each)))
            if row not in self._judged_rows and len(meshes) > 0
        ]
        return self._check

    def _find_unclaimed(self, rows: Sequence[Row]) -> None:
        """Counts the placements of the inputs that rows cover, and finds those that could be."""
        claimed = {row.inputs for row in rows}
        alphabets: list[list[RulePlacement]] = [
            [REPLICATE, *map(shard, range(len(each.dims))),
             *([PARTIAL] if each.values is None else [])]
            for each in self._inputs
        ]  # fmt: skip
        combinations = itertools.product(*alphabets)
        few = list(itertools.islice(combinations, self._candidates_max + 1))
        if len(few) > self._candidates_max:
            return
        for placements in few:
            if all(placement == REPLICATE for placement in placements):
                continue
            if placements in claimed:
                self._check.covered += 1
                self._check.coverable += 1
                continue
            row = self._row_that_holds(placements)
            if row is not None:
                self._check.coverable += 1
                self._check.unclaimed.append(row)

    def _combinations(self, rows: Sequence[Row], mesh: Sequence[int]) -> Iterator[tuple[Row, ...]]:
        """The rows of all mesh dims that are judged together on a mesh."""
        yield from (each for each in self._rule.joint if len(each) == len(mesh))
        yield from itertools.product(rows, repeat=len(mesh)) if rows else ()

    def _judge(self, rows: tuple[Row, ...], mesh: Sequence[int]) -> RuleCounterExample | None:
        if any(VARYING in (*row.inputs, *row.outputs) and row not in self._read for row in rows):
            return self._judge_varying(rows, mesh)
        return self._counter_example([self._read.get(row, row) for row in rows], mesh, rows)

    def _judge_varying(
        self, rows: tuple[Row, ...], mesh: Sequence[int]
    ) -> RuleCounterExample | None:
        """Finds dims for V with which the rows hold, and reads V so from then on."""
        first = None
        for assigned in itertools.islice(self._assignments(rows), _VARYING_MAX):
            found = self._counter_example(assigned, mesh, rows)
            if found is None:
                self._read.update(zip(rows, assigned))
                return None
            first = first or found
        assert first is not None
        return replace(first, hint="V is read as S(0) here; no other dims hold either")

    def _assignments(self, rows: Sequence[Row]) -> Iterator[list[Row]]:
        most = max([len(each.dims) for each in self._inputs] + [1])
        per_row = [
            itertools.product(
                itertools.product(
                    *(
                        _dims_for(each, len(given.dims))
                        for each, given in zip(row.inputs, self._inputs)
                    )
                ),
                itertools.product(*(_dims_for(each, most) for each in row.outputs)),
            )
            for row in rows
        ]
        for sides in itertools.product(*per_row):
            yield [_assigned(row, *side) for row, side in zip(rows, sides)]

    def _with_hint(
        self, found: RuleCounterExample, row: Row, holds: Callable[[Row], bool]
    ) -> RuleCounterExample:
        """A counter-example on gradients, with the row that holds if gradients lie otherwise."""
        for other in _other_gradients(row):
            if holds(other):
                return replace(found, hint=f"it holds as {other}")
        return found

    def _shapes(
        self, rows: Sequence[Row], mesh: Sequence[int], claimed: Sequence[Row]
    ) -> list[Shapes]:
        """The shapes at which rows are judged: those at which the rule claims them."""
        found = list(shapes_for(self._inputs, rows, mesh, self._kinds, self._product_max))
        claims = self._rule.claims
        if claims is None:
            return found
        return [shapes for shapes in found if claims(claimed, mesh, shapes)]

    def _output_sizes(
        self, rows: Sequence[Row], mesh: Sequence[int], shapes: Shapes
    ) -> OutputSizes | None:
        """The sizes of outputs, for a function that gets them."""
        if not self._judged.call.takes_sizes:
            return None
        count = len(rows[0].outputs)
        placements = [[row.outputs[at] for row in rows] for at in range(count)]
        return OutputSizes(letters_of(self._inputs, shapes), placements, mesh)

    def _expect_outputs(self, rows: Sequence[Row], count: int) -> None:
        if count != len(rows[0].outputs):
            raise ValueError(
                f"[rules] expected {len(rows[0].outputs)} outputs, as the rule has, got {count}"
            )

    @staticmethod
    def _example(
        rows: Sequence[Row], mesh: Sequence[int], shapes: Shapes, mismatch: Mismatch
    ) -> RuleCounterExample:
        return RuleCounterExample(
            tuple(rows), tuple(mesh), shapes, mismatch.what, mismatch.problem,
            mismatch.index, mismatch.expected, mismatch.got, mismatch.hint,
        )  # fmt: skip


def with_gradients(row: Row, of_inputs: RulePlacement, of_outputs: RulePlacement) -> Row:
    """A row with these placements of the gradients of replicated inputs and outputs."""

    def gradient(placement: RulePlacement, of_replicated: RulePlacement) -> RulePlacement:
        if placement.kind == "partial":
            return REPLICATE
        return of_replicated if placement == REPLICATE else placement

    return replace(
        row,
        input_gradients=tuple(gradient(each, of_inputs) for each in row.inputs),
        output_gradients=tuple(gradient(each, of_outputs) for each in row.outputs),
        is_typed=row.is_typed or row.input_gradients is None,
    )


def _other_gradients(row: Row) -> list[Row]:
    """Rows that differ from one in the gradients of replicated tensors."""
    if row.is_replicated or not row.has_gradients:
        return []
    sides = itertools.product((PARTIAL, REPLICATE), repeat=2)
    found = [with_gradients(row, *each) for each in sides]
    return [each for each in dict.fromkeys(found) if each != row]


def _dims_for(placement: RulePlacement, dims: int) -> list[RulePlacement]:
    return list(map(shard, range(dims))) if placement == VARYING else [placement]


def _assigned(
    row: Row, inputs: tuple[RulePlacement, ...], outputs: tuple[RulePlacement, ...]
) -> Row:
    """The row with dims for V, and for its gradients."""

    def gradients(
        given: tuple[RulePlacement, ...] | None, placements: tuple[RulePlacement, ...]
    ) -> tuple[RulePlacement, ...] | None:
        if given is None:
            return None
        return tuple(new if old == VARYING else old for old, new in zip(given, placements))

    return replace(
        row,
        inputs=inputs,
        outputs=outputs,
        input_gradients=gradients(row.input_gradients, inputs),
        output_gradients=gradients(row.output_gradients, outputs),
    )
