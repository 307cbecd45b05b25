"""Trials of a function that communicates: every rank of a mesh runs, under several schedules."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh

from simmesh.rules.argument_sizes import OutputSizes, giving_sizes
from simmesh.rules.calls import on_mesh
from simmesh.rules.rule import Row
from simmesh.rules.sizes import RuleInput, Shapes
from simmesh.rules.trial import (
    Coordinate,
    Function,
    Mismatch,
    Spread,
    Values,
    compare,
    compare_gradient,
    gradient_of,
    gradients,
    leaf_of,
    outputs_of,
    spread,
)

# The schedules under which a function that communicates runs.
SCHEDULES = ("fifo", "seeded:1", "pct:3")


@dataclass
class _Case:
    """A function at certain sizes: its inputs, and what it gives for whole inputs and on ranks."""

    shapes: Shapes
    inputs: list[Spread]
    sizes: OutputSizes | None = None
    outputs: list[Tensor] = field(default_factory=list)
    grads: list[Tensor] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    drawn: list[Spread] = field(default_factory=list)
    refused: str = ""
    of_ranks: dict[Coordinate, tuple[list[Tensor], list[Tensor]]] = field(default_factory=dict)
    mismatch: Mismatch | None = None


@dataclass
class Found:
    """The trials of rows on a mesh: how many there were, those that the function refuses for whole
    inputs, the first mismatch with its sizes, and the number of outputs.
    """

    trials: int = 0
    refused: dict[Shapes, str] = field(default_factory=dict)
    mismatch: Mismatch | None = None
    shapes: Shapes = ()
    outputs: int | None = None


@dataclass
class RankTrials:
    """The trials of a function on simulated ranks.

    ``function`` runs on ranks and ``whole`` gives what is right for whole inputs: by default the
    same function on one rank. ``is_whole_mesh`` gives the function the mesh with all its dims, not
    only the one dim along which its row cuts.
    """

    function: Function
    whole: Function | None
    inputs: Sequence[RuleInput]
    values: Values
    has_backward: bool
    schedules: Sequence[str] = SCHEDULES
    local: str = "exact"
    communicated: bool = False

    def judge(
        self,
        rows: Sequence[Row],
        mesh: Sequence[int],
        shapes: Sequence[tuple[Shapes, OutputSizes | None]],
        along: int | None,
    ) -> Found:
        """Judges rows on a mesh at these shapes, up to the first mismatch, with the sizes of
        outputs for a function that gets them. ``along`` is the mesh dim of which the function gets
        the mesh; None gives it all of them.
        """
        cases = [self._case(rows, mesh, *each) for each in shapes]
        self._run_whole(cases, rows, mesh, along)
        found = Found(refused={case.shapes: case.refused for case in cases if case.refused})
        cases = [case for case in cases if not case.refused]
        if cases:
            found.outputs = len(cases[0].outputs)
        if not cases or len(rows[0].outputs) != found.outputs:
            return found
        failure = self._run_ranks(cases, mesh, along)
        if failure is not None:
            self._find_failure(cases, failure, mesh, along)
        self._compare(cases, rows, mesh)
        for case in cases:
            found.trials += 1
            if case.mismatch is not None:
                found.mismatch, found.shapes = case.mismatch, case.shapes
                break
        return found

    def _case(
        self, rows: Sequence[Row], mesh: Sequence[int], shapes: Shapes, sizes: OutputSizes | None
    ) -> _Case:
        return _Case(
            shapes,
            [
                spread(given, shape, [row.inputs[at] for row in rows], mesh, self.values)
                for at, (given, shape) in enumerate(zip(self.inputs, shapes))
            ],
            sizes,
        )

    def _run(self, body: Callable[[], Any], ranks: int, schedule: str = "fifo") -> Any:
        from simmesh.spmd import spmd_run

        # A rule takes many short runs, and their programs share what they compute.
        return spmd_run(
            body, world_size=ranks, local=self.local, schedule=schedule, seats="threads"
        )

    def _run_whole(
        self, cases: list[_Case], rows: Sequence[Row], mesh: Sequence[int], along: int | None
    ) -> None:
        """Runs the function on one rank for all sizes, with drawn gradients of its outputs."""
        has_backward = self.has_backward and all(row.has_gradients for row in rows)

        def body() -> None:
            of_one = _sub_mesh([1] * len(mesh), along)
            for case in cases:
                leaves = [leaf_of(each.of_whole.clone()) for each in case.inputs]
                with on_mesh(of_one), giving_sizes(case.sizes):
                    try:
                        outputs = outputs_of(self.whole or self.function, leaves)
                    except TypeError:
                        raise
                    except Exception as error:  # whatever a user's function raises
                        case.refused = f"{type(error).__name__}: {error}"
                        continue
                    case.outputs = [output.detach() for output in outputs]
                    if not has_backward or len(outputs) != len(rows[0].outputs):
                        continue
                    case.places = [
                        at
                        for at, output in enumerate(outputs)
                        if output.requires_grad and rows[0].outputs[at].kind != "none"
                    ]
                    case.drawn = [
                        gradient_of(outputs[at], at, rows, mesh, self.values) for at in case.places
                    ]
                    given = [each.of_whole.clone() for each in case.drawn]
                    try:
                        case.grads = gradients(outputs, leaves, case.places, given)
                    except Exception as error:  # whatever a user's function raises
                        case.refused = f"its gradient: {type(error).__name__}: {error}"

        ran = self._run(body, 1)
        if not ran.outcome.ok:
            raise ran.outcome.exception or RuntimeError(ran.outcome.report)

    def _run_ranks(
        self, cases: list[_Case], mesh: Sequence[int], along: int | None
    ) -> Mismatch | None:
        """Runs the cases on all ranks, under every schedule; returns the failure of a run."""
        coordinates = list(itertools.product(*map(range, mesh)))
        first = None
        for schedule in self.schedules:

            def body() -> list[list[Tensor]]:
                of_rank = _sub_mesh(mesh, along)
                coordinate = coordinates[torch.distributed.get_rank()]
                before = _started()
                result = [self._on_rank(case, coordinate, of_rank) for case in cases]
                self.communicated |= _started() > before
                return [[*outputs, *grads] for outputs, grads in result]

            ran = self._run(body, math.prod(mesh), schedule)
            if not ran.outcome.ok:
                return Mismatch(f"schedule {schedule}", _report(ran.outcome))
            if first is None:
                first = ran.outcome.data_hash
            elif first != ran.outcome.data_hash:
                return Mismatch(
                    f"schedule {schedule}", f"other bits than under {self.schedules[0]}"
                )
        return None

    def _on_rank(
        self, case: _Case, coordinate: Coordinate, mesh: DeviceMesh
    ) -> tuple[list[Tensor], list[Tensor]]:
        leaves = [leaf_of(each.of_ranks[coordinate].clone()) for each in case.inputs]
        with on_mesh(mesh), giving_sizes(case.sizes, coordinate):
            outputs = outputs_of(self.function, leaves)
            grads: list[Tensor] = []
            if len(outputs) == len(case.outputs) and case.places:
                given = [each.of_ranks[coordinate].clone() for each in case.drawn]
                for at, grad in zip(case.places, given):
                    if outputs[at].shape != grad.shape:
                        # The forward comparison says what is wrong.
                        return case.of_ranks.setdefault(coordinate, (_detached(outputs), []))
                grads = gradients(outputs, leaves, case.places, given)
        case.of_ranks[coordinate] = (_detached(outputs), grads)
        return case.of_ranks[coordinate]

    def _find_failure(
        self, cases: list[_Case], failure: Mismatch, mesh: Sequence[int], along: int | None
    ) -> None:
        """Runs the cases one by one, to find the first that fails."""
        for case in cases:
            case.of_ranks.clear()
            case.mismatch = self._run_ranks([case], mesh, along)
            if case.mismatch is not None:
                return
        cases[-1].mismatch = failure

    def _compare(self, cases: list[_Case], rows: Sequence[Row], mesh: Sequence[int]) -> None:
        def body() -> None:
            for case in cases:
                if case.mismatch is None:
                    case.mismatch = self._mismatch(case, rows, mesh)
                if case.mismatch is not None:
                    return

        ran = self._run(body, 1)
        if not ran.outcome.ok:
            raise ran.outcome.exception or RuntimeError(ran.outcome.report)

    def _mismatch(self, case: _Case, rows: Sequence[Row], mesh: Sequence[int]) -> Mismatch | None:
        for coordinate, (outputs, _) in case.of_ranks.items():
            if len(outputs) != len(case.outputs):
                rank = ", ".join(map(str, coordinate))
                return Mismatch(
                    f"outputs of rank ({rank})",
                    f"expected {len(case.outputs)}, got {len(outputs)}",
                )
        for at, expected in enumerate(case.outputs):
            of_ranks = {key: outputs[at] for key, (outputs, _) in case.of_ranks.items()}
            found = compare(
                f"output {at}", expected, of_ranks, [row.outputs[at] for row in rows], mesh
            )
            if found is not None:
                return found
        if not all(grads for _, grads in case.of_ranks.values()):
            shapes = [list(outputs[0].shape) for outputs, _ in case.of_ranks.values()]
            return (
                Mismatch("output 0", f"the pieces have the shapes {shapes}")
                if (case.places)
                else None
            )
        for at, expected in enumerate(case.grads):
            if not expected.is_floating_point():
                continue
            of_ranks = {key: grads[at] for key, (_, grads) in case.of_ranks.items()}
            found = compare_gradient(at, expected, of_ranks, rows, mesh)
            if found is not None:
                return found
        return None


def _detached(tensors: Sequence[Tensor]) -> list[Tensor]:
    return [tensor.detach() for tensor in tensors]


def _sub_mesh(sizes: Sequence[int], along: int | None) -> DeviceMesh:
    names = tuple(f"dim{at}" for at in range(len(sizes)))
    mesh = init_device_mesh("cpu", tuple(sizes), mesh_dim_names=names)
    return mesh if along is None or len(sizes) == 1 else mesh[names[along]]


def _started() -> int:
    """The number of operations that this rank has started."""
    from simmesh.torch import rank_state

    return rank_state.of_rank().started


def _report(outcome: Any) -> str:
    """The report of a run that failed, without the line that reproduces it."""
    lines = outcome.report.rstrip("\n").split("\n")
    lines = [line for line in lines if not line.startswith("reproduce:")]
    error = outcome.exception
    if error is not None and str(error) not in "\n".join(lines):
        lines.insert(0, f"{type(error).__name__}: {error}")
    return "\n".join(lines)
