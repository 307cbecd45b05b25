"""Judges a sharding rule of a function."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from simmesh.rules.rule import PARTIAL, REPLICATE, Row, Rule, RulePlacement, parse_rule, shard
from simmesh.rules.sizes import PIECES, RuleInput, Shapes, inputs_of, shapes_for
from simmesh.rules.verdict import RuleCheck, RuleCounterExample

if TYPE_CHECKING:
    from simmesh.rules.trial import Function, Trial

# Rows that aren't claimed are looked for only where there are few.
_CANDIDATES_MAX = 256


def rulecheck(
    function: Function,
    rule: str | Iterable[str],
    inputs: Sequence[Any] | None = None,
    *,
    meshes: Sequence[Sequence[int]] = ((2,), (3,), (4,), (2, 2)),
    values: str = "any",
    backward: bool = True,
    unclaimed: bool = True,
    pieces: Sequence[str] = PIECES,
    seed: int = 0,
) -> RuleCheck:
    """Judges a sharding rule of a function by values, with no tolerance.

    Args:
        function: of tensors, returns one or several. It doesn't communicate.
        rule: rows of placements, one a line or in a list ("S(0), R -> S(0)"), or letters
            ("mk, kn -> mn"), where each letter may be cut and one that the outputs lack is summed.
            Placements are R, S(d), _S(d,sf) and P with sum, avg, min or max.
        inputs: for each input letters for its dims ("mk"), or a shape. The sizes of letters vary,
            numbers beside letters don't; where no input has letters, equal sizes vary together. A
            RuleInput also has the values of indices and masks.
        meshes: sizes of the meshes; a mesh of two dims has every pair of rows.
        values: "any" draws floating numbers and computes by exact arithmetic; "whole" draws small
            whole numbers and calls PyTorch's own operators, for functions that are exact on them.
        backward: also judges the gradients of the inputs.
        unclaimed: also looks for rows that hold and that the rule doesn't have.
        pieces: which sizes of cut dims are judged: "even" ones, "uneven" ones, "few" with ranks
            that hold nothing, and "none" with no rank that holds anything.
        seed: of the values.

    Raises ValueError for a rule or inputs that can't be read.
    """
    claimed = parse_rule(rule)
    given = inputs_of(inputs, claimed.letters)
    if len(given) != len(claimed.rows[0].inputs):
        raise ValueError(
            f"[rules] expected {len(claimed.rows[0].inputs)} inputs, as the rule has, got "
            f"{len(given)}"
        )
    for mesh in meshes:
        if not mesh or min(mesh) < 1:
            raise ValueError(f"[rules] expected sizes of a mesh of at least 1, got {mesh!r}")
    if values not in ("any", "whole"):
        raise ValueError(f"[rules] values: expected 'any' or 'whole', got {values!r}")

    unknown = [kind for kind in pieces if kind not in PIECES]
    if unknown or not pieces or isinstance(pieces, str):
        raise ValueError(f"[rules] pieces: expected some of {', '.join(PIECES)}, got {pieces!r}")

    def judge() -> RuleCheck:
        return _Judge(function, given, pieces, values == "whole", backward, seed).judge(
            claimed, meshes, unclaimed
        )

    if values == "whole":
        return judge()
    from simmesh.torch.exact import one_device

    check: RuleCheck = one_device(judge)
    return check


class _Judge:
    def __init__(
        self,
        function: Function,
        inputs: Sequence[RuleInput],
        kinds: Sequence[str],
        are_whole: bool,
        has_backward: bool,
        seed: int,
    ) -> None:
        import torch

        from simmesh.rules.trial import Values

        self._function, self._inputs, self._kinds = function, inputs, kinds
        self._has_backward = has_backward
        self._values = Values(torch.Generator().manual_seed(seed), are_whole)
        name = getattr(function, "__name__", type(function).__name__)
        self._check = RuleCheck(name)

    def judge(
        self, rule: Rule, meshes: Sequence[Sequence[int]], finds_unclaimed: bool
    ) -> RuleCheck:
        """The verdict on all rows, and what the rule leaves out."""
        rows = list(dict.fromkeys(rule.rows))
        refuted: list[Row] = []
        for mesh in sorted(meshes, key=lambda sizes: (len(sizes), sizes)):
            for combination in itertools.product(rows, repeat=len(mesh)):
                if any(row in refuted for row in combination):
                    continue
                found = self._counter_example(combination, mesh)
                if found is None:
                    continue
                self._check.refuted.append(found)
                if len(combination) == 1:
                    refuted.append(combination[0])
        if finds_unclaimed:
            self._find_unclaimed([row for row in rows if row not in refuted])
        return self._check

    def _trial(self, rows: Sequence[Row], mesh: Sequence[int], shapes: Shapes) -> Trial | None:
        from simmesh.rules.trial import FunctionRefuses, Trial

        placements = [[row.inputs[at] for row in rows] for at in range(len(self._inputs))]
        try:
            return Trial(self._function, self._inputs, shapes, mesh, placements, self._values)
        except FunctionRefuses as refusal:
            self._check.refused[shapes] = str(refusal)
            return None

    def _counter_example(
        self, rows: Sequence[Row], mesh: Sequence[int]
    ) -> RuleCounterExample | None:
        for shapes in shapes_for(self._inputs, rows, mesh, self._kinds):
            trial = self._trial(rows, mesh, shapes)
            if trial is None:
                continue
            self._check.trials += 1
            if len(trial.outputs) != len(rows[0].outputs):
                raise ValueError(
                    f"[rules] expected {len(rows[0].outputs)} outputs, as the rule has, got "
                    f"{len(trial.outputs)}"
                )
            mismatch = trial.problem
            for at in range(len(trial.outputs)):
                if mismatch is None:
                    mismatch = trial.forward(at, [row.outputs[at] for row in rows])
            if mismatch is None and self._has_backward:
                mismatch = trial.backward(rows)
            if mismatch is not None:
                return RuleCounterExample(
                    tuple(rows), tuple(mesh), shapes, mismatch.what, mismatch.problem,
                    mismatch.index, mismatch.expected, mismatch.got,
                )  # fmt: skip
        return None

    def _alphabet(self, given: RuleInput) -> list[RulePlacement]:
        shards = [shard(dim) for dim in range(len(given.dims))]
        return [REPLICATE, *shards, *([PARTIAL] if given.values is None else [])]

    def _find_unclaimed(self, rows: Sequence[Row]) -> None:
        """Counts the placements of the inputs that rows cover, and finds those that could be."""
        claimed = {row.inputs for row in rows}
        combinations = list(itertools.product(*map(self._alphabet, self._inputs)))
        if len(combinations) > _CANDIDATES_MAX:
            return
        for placements in combinations:
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

    def _row_that_holds(self, placements: tuple[RulePlacement, ...]) -> Row | None:
        """The row with these inputs that holds on meshes of 2 and 3 ranks; None where none does."""
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
        if self._has_backward and any(self._counter_example([row], mesh) for mesh in ((2,), (3,))):
            return None
        return row
