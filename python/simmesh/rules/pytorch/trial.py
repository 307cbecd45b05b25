"""Judges one row that PyTorch claims: the operator on the ranks' pieces against the whole call."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor._dtensor_spec import DTensorSpec
from torch.distributed.tensor.placement_types import Placement, Replicate, _MaskPartial
from torch.utils import _pytree as pytree

from simmesh.rules.pieces import first_false, same
from simmesh.rules.pytorch.placed import (
    Coordinate,
    DoesNotFit,
    OfRanks,
    Unsupported,
    cut,
    is_norm,
    joined,
)
from simmesh.rules.pytorch.propagation import Answer, Call, Placements, Propagation, mesh_of
from simmesh.rules.pytorch.samples import prepared

_SEED = 7


@dataclass(frozen=True)
class Mismatch:
    """The mistake: the values of the first element that differs, or a problem without one.

    ``kind`` is "values", "ranks differ", "shape", "raises" or "metadata".
    """

    kind: str
    what: str
    problem: str = ""
    index: tuple[int, ...] | None = None
    expected: Any = None
    got: Any = None

    @property
    def text(self) -> str:
        """The mismatch in a sentence."""
        if self.index is None:
            return f"{self.what}: {self.problem}"
        return f"{self.what}{list(self.index)}: expected {self.expected!r}, got {self.got!r}"


@dataclass
class Results:
    """The outputs of a call, and its arguments afterwards."""

    outputs: list[Any]
    changed: dict[int, Tensor] = field(default_factory=dict)


def flat_outputs(result: Any) -> list[Any]:
    """The outputs in a list; an operator without a result has none."""
    if isinstance(result, (tuple, list)):
        return list(result)
    return [] if result is None else [result]


def changed_tensors(call: Call) -> list[int]:
    """The numbers of the tensors that the operator writes to."""
    writes: list[bool] = []
    by_name = {argument.name: argument for argument in call.op._schema.arguments}
    for argument, value in zip(call.op._schema.arguments, call.args):
        writes += [_is_written(argument)] * _count(value)
    for name, value in call.kwargs.items():
        writes += [_is_written(by_name[name])] * _count(value)
    return [at for at, written in enumerate(writes) if written]


def _is_written(argument: Any) -> bool:
    return argument.alias_info is not None and argument.alias_info.is_write


def _count(value: Any) -> int:
    return sum(isinstance(leaf, Tensor) for leaf in pytree.tree_leaves(value))


def run_whole(call: Call) -> Results:
    """Runs the call on copies of its tensors. Raises what it raises."""
    again = prepared(call)
    result = call.op(*again.args, **again.kwargs)
    tensors = again.tensors
    return Results(flat_outputs(result), {at: tensors[at] for at in changed_tensors(call)})


class Trial:
    """A row that PyTorch claims for a call on a mesh."""

    def __init__(
        self, call: Call, mesh: Sequence[int], propagation: Propagation, placements: Placements,
        answer: Answer,
    ) -> None:  # fmt: skip
        self._call, self._mesh, self._propagation = call, tuple(mesh), propagation
        self._placements, self._answer = placements, answer
        self._changed = changed_tensors(call)

    def pieces(self, placements: Placements) -> list[OfRanks]:
        """The pieces that the ranks hold of each tensor."""
        generator = torch.Generator().manual_seed(_SEED)
        return [
            cut(tensor.clone(), each, self._mesh, generator)
            for tensor, each in zip(self._call.tensors, placements)
        ]

    def judge(self, is_close: bool = False) -> Mismatch | None:
        """The first thing that is wrong. ``is_close`` forgives roundings.

        Raises Unsupported for placements that can't be made or read.
        """
        moved = [
            at for at in self._changed if self._answer.inputs[at] != tuple(self._placements[at])
        ]
        if moved:
            return Mismatch(
                "values", f"input {moved[0]}",
                "the operator writes to a redistributed copy of it, and it stays as it was",
            )  # fmt: skip
        whole = run_whole(self._call)
        ranks: dict[Coordinate, Results] = {}
        pieces = self.pieces(self._answer.inputs)
        for coordinate in itertools.product(*map(range, self._mesh)):
            try:
                ranks[coordinate] = self._run_rank(coordinate, pieces)
            except Unsupported:
                raise
            except Exception as error:  # whatever an operator raises
                rank = ", ".join(map(str, coordinate))
                text = str(error).strip().splitlines() or [""]
                return Mismatch(
                    "raises", f"rank ({rank})", f"raises {type(error).__name__}: {text[0][:160]}"
                )
        return self._compare(whole, ranks, is_close)

    def _run_rank(self, coordinate: Coordinate, pieces: list[OfRanks]) -> Results:
        masks: list[_MaskPartial] = []
        local = []
        for placements, of_ranks in zip(self._answer.inputs, pieces):
            tensor = of_ranks[coordinate].clone()
            for dim, placement in enumerate(placements):
                if isinstance(placement, _MaskPartial):
                    masks.append(placement)
                    mesh = mesh_of(self._mesh, coordinate)
                    tensor = placement._partition_value(tensor, mesh, dim)
            local.append(tensor)
        try:
            op, args, kwargs = self._propagation.local_call(
                self._answer, self._placements, coordinate, local
            )
            results = Results(flat_outputs(op(*args, **kwargs)))
            specs = self._specs(len(results.outputs))
            for spec, output in zip(specs, results.outputs):
                for placement in spec.placements if spec is not None else ():
                    if isinstance(placement, _MaskPartial):
                        placement.mask_buffer.apply_mask(output)
        finally:
            for mask in masks:
                mask.mask_buffer.data, mask.mask_buffer.refcount = None, 0
        results.changed = {at: local[at] for at in self._changed}
        return results

    def _specs(self, count: int) -> list[DTensorSpec | None]:
        specs = self._answer.outputs
        if specs is None or isinstance(specs, DTensorSpec):
            return [specs] * count
        return [*specs, *[None] * (count - len(specs))]

    def _compare(
        self, whole: Results, ranks: dict[Coordinate, Results], is_close: bool
    ) -> Mismatch | None:
        counts = {len(results.outputs) for results in ranks.values()}
        if counts != {len(whole.outputs)}:
            return Mismatch(
                "shape", "outputs", f"expected {len(whole.outputs)}, got {sorted(counts)}"
            )
        specs = self._specs(len(whole.outputs))
        for at, (expected, spec) in enumerate(zip(whole.outputs, specs)):
            of_ranks = {place: results.outputs[at] for place, results in ranks.items()}
            found = self._compare_output(f"output {at}", expected, of_ranks, spec, is_close)
            if found is not None:
                return found
        if whole.outputs:
            return None
        for at, tensor in whole.changed.items():
            changed = {place: results.changed[at] for place, results in ranks.items()}
            placements = self._answer.inputs[at]
            found = compare(f"input {at}", tensor, changed, placements, self._mesh, is_close)
            if found is not None:
                return found
        return None

    def _compare_output(
        self, what: str, expected: Any, of_ranks: dict[Coordinate, Any], spec: DTensorSpec | None,
        is_close: bool,
    ) -> Mismatch | None:  # fmt: skip
        if not isinstance(expected, Tensor):
            return self._compare_value(what, expected, of_ranks)
        if not all(isinstance(tensor, Tensor) for tensor in of_ranks.values()):
            return Mismatch("shape", what, "expected tensors on all ranks")
        if spec is None:
            placements: tuple[Placement, ...] = (Replicate(),) * len(self._mesh)
        else:
            placements = tuple(spec.placements)
            wrong = _metadata_problem(expected, spec)
            if wrong is not None:
                return Mismatch("metadata", what, wrong)
        return compare(what, expected, of_ranks, placements, self._mesh, is_close)

    def _compare_value(
        self, what: str, expected: Any, of_ranks: dict[Coordinate, Any]
    ) -> Mismatch | None:
        if self._call.op is torch.ops.aten.equal.default:
            # PyTorch takes the minimum over the ranks.
            got = all(of_ranks.values())
            return None if got == expected else Mismatch("values", what, "", (), expected, got)
        for coordinate, got in of_ranks.items():
            if not (got == expected or (got != got and expected != expected)):
                problem = f"expected {expected!r}, got {got!r} on rank {coordinate}"
                return Mismatch("values", what, problem)
        return None


def _metadata_problem(expected: Tensor, spec: DTensorSpec) -> str | None:
    meta = spec.tensor_meta
    if meta is None:
        return "the claim has no shape"
    if tuple(meta.shape) != tuple(expected.shape):
        return f"expected the shape {list(expected.shape)}, the claim is {list(meta.shape)}"
    if meta.dtype != expected.dtype:
        return f"expected {expected.dtype}, the claim is {meta.dtype}"
    return None


def compare(
    what: str, expected: Tensor, tensors: OfRanks, placements: Sequence[Placement],
    mesh: Sequence[int], is_close: bool,
) -> Mismatch | None:  # fmt: skip
    """Compares what the ranks' tensors stand for with the whole tensor."""
    close = is_close or any(map(is_norm, placements))
    dtypes = {tensor.dtype for tensor in tensors.values()}
    if dtypes != {expected.dtype}:
        return Mismatch(
            "metadata", what, f"expected {expected.dtype}, got {sorted(map(str, dtypes))}"
        )
    for at in reversed(range(len(mesh))):
        rests = sorted({coordinate[:at] for coordinate in tensors})
        try:
            tensors = {
                rest: joined([tensors[(*rest, rank)] for rank in range(mesh[at])], placements[at])
                for rest in rests
            }
        except DoesNotFit as problem:
            kind = "ranks differ" if "different values" in str(problem) else "shape"
            return Mismatch(kind, what, str(problem))
    got = tensors[()]
    if got.shape != expected.shape:
        problem_text = f"expected the shape {list(expected.shape)}, got {list(got.shape)}"
        return Mismatch("shape", what, problem_text)
    index = _difference(expected, got, close)
    if index is None:
        return None
    return Mismatch("values", what, "", index, expected[index].item(), got[index].item())


def are_close(expected: Tensor, got: Tensor) -> Tensor:
    """Elements that differ by no more than roundings: by 1e-5, and where terms cancel, by as much
    of the largest element as the dtype resolves with 20 bits to spare.
    """
    finite = expected.abs()[torch.isfinite(expected)]
    largest = float(finite.max()) if finite.numel() else 0.0
    spare = min(2.0**20 * torch.finfo(expected.dtype).eps, 1e-4) * largest
    return torch.isclose(got, expected, rtol=1e-5, atol=spare, equal_nan=True)


def _difference(expected: Tensor, got: Tensor, is_close: bool) -> tuple[int, ...] | None:
    equal = same(expected, got)
    if is_close and (expected.is_floating_point() or expected.is_complex()):
        equal = equal | are_close(expected, got.to(expected.dtype))
    return first_false(equal)


def judged(trial: Trial) -> tuple[str, Mismatch | None]:
    """The verdict on a trial: "confirmed", "rounding", "wrong" or "unsupported".

    PyTorch's own arithmetic comes first: equal bits need no proof. Where values differ, exact
    arithmetic may confirm the row; otherwise differences beyond roundings refute it.
    """
    try:
        found = trial.judge()
    except Unsupported as problem:
        return "unsupported", Mismatch("unsupported", "", str(problem))
    if found is None:
        return "confirmed", None
    if found.kind not in ("values", "ranks differ"):
        return "wrong", found
    if _exactly(trial.judge) is None:
        return "confirmed", None
    close = trial.judge(is_close=True)
    if close is None:
        return "rounding", None
    return "wrong", found if found.index is not None else close


def _exactly(judge: Callable[[], Mismatch | None]) -> Any:
    from simmesh.torch.exact import one_device

    try:
        return one_device(judge)
    except Exception:  # exact arithmetic refuses operators that it doesn't have
        return "refused"
