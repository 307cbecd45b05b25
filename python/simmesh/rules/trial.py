"""One trial of a rule: the function on whole inputs, and on the pieces of every rank of a mesh."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from simmesh.rules.argument_sizes import OutputSizes, giving_sizes
from simmesh.rules.pieces import difference, fits, outside_of_modes, pieces, repeated, whole
from simmesh.rules.rule import REPLICATE, Row, RulePlacement
from simmesh.rules.sizes import RuleInput, Shapes

Function = Callable[..., Any]
Coordinate = tuple[int, ...]
OfRanks = dict[Coordinate, Tensor]


_EMPTY_PIECE = 'a piece is empty; pieces=["even", "uneven"] judges the rule without such sizes'
# A part of PyTorch's error for an input without a gradient that requires one.
_NOT_DIFFERENTIABLE = "is not differentiable with respect to argument"


class FunctionRefuses(Exception):
    """The function itself raises for whole inputs of these sizes."""


@dataclass(frozen=True)
class Mismatch:
    """The first difference of a trial, or a problem without an element."""

    what: str
    problem: str = ""
    index: tuple[int, ...] | None = None
    expected: float | None = None
    got: float | None = None
    hint: str = ""


@dataclass(frozen=True)
class Values:
    """The values of a trial: any floating numbers, or small whole ones."""

    generator: torch.Generator
    are_whole: bool

    def draw(self, shape: Sequence[int], dtype: torch.dtype | None = None) -> Tensor:
        """A tensor of that shape."""
        if self.are_whole:
            drawn = torch.randint(-4, 5, list(shape), generator=self.generator)
            return drawn.to(dtype or torch.float64)
        drawn = torch.randn(list(shape), generator=self.generator, dtype=torch.float64)
        return drawn.to(dtype or torch.float32)

    def draw_term(
        self, shape: Sequence[int], terms: int, dtype: torch.dtype | None = None
    ) -> Tensor:
        """One of several terms. Their sum and their mean are numbers of the dtype, exactly: so all
        functions read from the sum what stands behind it.
        """
        dtype = dtype or (torch.float64 if self.are_whole else torch.float32)
        # Formats of few bits hold few such numbers.
        bound = 512 if torch.finfo(dtype).bits >= 32 else 8
        drawn = torch.randint(-bound, bound + 1, list(shape), generator=self.generator) * terms
        return drawn.to(dtype) / (1 if self.are_whole else bound // 2)


@dataclass
class Spread:
    """A tensor, and what the ranks hold of it."""

    of_whole: Tensor
    of_ranks: OfRanks


def _reduced(tensors: OfRanks, placements: Sequence[RulePlacement], mesh: Sequence[int]) -> Tensor:
    """Returns what tensors stand for, from the innermost mesh dim to the outermost one."""
    for at in reversed(range(len(mesh))):
        rests = {coordinate[:at] for coordinate in tensors}
        tensors = {
            rest: whole([tensors[(*rest, rank)] for rank in range(mesh[at])], placements[at])
            for rest in sorted(rests)
        }
    return tensors[()]


def _cut(tensors: OfRanks, placement: RulePlacement, at: int, count: int) -> OfRanks:
    """Cuts each tensor along the mesh dim ``at``. Terms are there already."""
    if placement.kind == "partial":
        return tensors
    result = {}
    for coordinate, tensor in tensors.items():
        for rank, piece in enumerate(pieces(tensor, placement, count)):
            result[(*coordinate[:at], rank, *coordinate[at:])] = piece
    return result


def spread(
    given: RuleInput,
    shape: Sequence[int],
    placements: Sequence[RulePlacement],
    mesh: Sequence[int],
    values: Values,
    dtype: torch.dtype | None = None,
) -> Spread:
    """Draws a tensor: a term for each place along partial mesh dims, which then are cut."""
    are_partial = [placement.kind == "partial" for placement in placements]
    counts = [size if partial else 1 for size, partial in zip(mesh, are_partial)]

    def draw() -> Tensor:
        if given.values is not None:
            return repeated(given.values, shape)
        if any(are_partial):
            return values.draw_term(shape, math.prod(counts), dtype)
        return values.draw(shape, dtype)

    with outside_of_modes():
        drawn = {place: draw() for place in itertools.product(*map(range, counts))}
    kinds = [p if partial else REPLICATE for p, partial in zip(placements, are_partial)]
    of_whole = _reduced(drawn, kinds, counts)
    terms = {
        tuple(i for i, partial in zip(place, are_partial) if partial): tensor
        for place, tensor in drawn.items()
    }
    ranks = terms
    with outside_of_modes():
        for at, (placement, size) in enumerate(zip(placements, mesh)):
            ranks = _cut(ranks, placement, at, size)
    return Spread(of_whole, ranks)


def outputs_of(function: Function, inputs: Sequence[Tensor]) -> list[Tensor]:
    result = function(*inputs)
    outputs = list(result) if isinstance(result, (tuple, list)) else [result]
    outputs = [_plain(output) for output in outputs]
    if not all(isinstance(output, Tensor) for output in outputs):
        raise TypeError(
            "[rules] expected a function that returns tensors, got "
            f"{', '.join(type(output).__name__ for output in outputs)}"
        )
    return outputs


def _plain(output: Any) -> Any:
    """The tensor of a rank behind one that a functional collective or DTensor returns."""
    if type(output) is Tensor:
        return output
    if hasattr(output, "to_local"):
        output = output.to_local()
    return output.wait() if type(output).__name__ == "AsyncCollectiveTensor" else output


def leaf_of(tensor: Tensor) -> Tensor:
    leaf = tensor.detach()
    return leaf.requires_grad_() if leaf.is_floating_point() else leaf


def _difference_of_ranks(first: Tensor, other: Tensor) -> str:
    """Says where two tensors differ that should be the same; empty where they don't."""
    if first is other:
        return ""
    if first.shape != other.shape:
        return f"shapes {list(first.shape)} and {list(other.shape)}"
    index = difference(first, other)
    if index is None:
        return ""
    return f"{first[index].item()!r} and {other[index].item()!r} at {list(index)}"


def compare(
    what: str,
    expected: Tensor,
    tensors: OfRanks,
    placements: Sequence[RulePlacement],
    mesh: Sequence[int],
) -> Mismatch | None:
    """Compares what the ranks' tensors stand for with the whole tensor."""
    if any(placement.kind == "none" for placement in placements):
        return None
    if any(placement.kind == "partial" for placement in placements):
        return _compare(what, expected, tensors, placements, mesh)
    with outside_of_modes():
        return _compare(what, expected, tensors, placements, mesh)


def _compare(
    what: str,
    expected: Tensor,
    tensors: OfRanks,
    placements: Sequence[RulePlacement],
    mesh: Sequence[int],
) -> Mismatch | None:
    for at in reversed(range(len(mesh))):
        for rest in sorted({coordinate[:at] for coordinate in tensors}):
            line = [tensors[(*rest, rank)] for rank in range(mesh[at])]
            if placements[at].kind == "replicate":
                for rank, tensor in enumerate(line):
                    where = "" if len(mesh) == 1 else f" of mesh dim {at}"
                    problem = _difference_of_ranks(line[0], tensor)
                    if problem:
                        return Mismatch(what, f"ranks 0 and {rank}{where} differ: {problem}")
            try:
                if not fits(line, placements[at]):
                    shapes = [list(tensor.shape) for tensor in line]
                    return Mismatch(what, f"the pieces have the shapes {shapes}")
                joined = whole(line, placements[at])
            except RuntimeError as error:
                return Mismatch(what, str(error))
            tensors = {key: each for key, each in tensors.items() if key[:at] != rest}
            tensors[rest] = joined
    got = tensors[()]
    if got.shape != expected.shape:
        return Mismatch(what, f"expected the shape {list(expected.shape)}, got {list(got.shape)}")
    with outside_of_modes():
        index = difference(expected, got)
    if index is None:
        return None
    return Mismatch(what, "", index, expected[index].item(), got[index].item())


def _raises(
    coordinate: Coordinate, part: str, error: Exception, leaves: Sequence[Tensor]
) -> Mismatch:
    rank = ", ".join(map(str, coordinate))
    is_empty = any(leaf.numel() == 0 for leaf in leaves)
    return Mismatch(
        f"rank ({rank})",
        f"the {part} raises {type(error).__name__}: {error}",
        hint=_EMPTY_PIECE if is_empty else "",
    )


class Trial:
    """A function at certain sizes, on a mesh, with a row of a rule on each mesh dim."""

    def __init__(
        self,
        function: Function,
        inputs: Sequence[RuleInput],
        shapes: Shapes,
        mesh: Sequence[int],
        placements: Sequence[Sequence[RulePlacement]],
        values: Values,
        sizes: OutputSizes | None = None,
    ) -> None:
        """``placements`` has those of each input, one a mesh dim. ``sizes`` are those of outputs,
        for a function that gets them.

        Raises FunctionRefuses where the function raises for the whole inputs.
        """
        self._function, self._mesh, self._values = function, tuple(mesh), values
        self._sizes = sizes
        self._inputs = [
            spread(given, shape, placement, mesh, values)
            for given, shape, placement in zip(inputs, shapes, placements)
        ]
        self._constants: set[int] = set()
        self._leaves = self._leaves_of([given.of_whole for given in self._inputs])
        try:
            with giving_sizes(sizes):
                self.outputs = self._whole_outputs()
        except TypeError:
            raise
        except Exception as error:  # whatever a user's function raises
            raise FunctionRefuses(f"{type(error).__name__}: {error}") from None
        self._local_leaves: dict[Coordinate, list[Tensor]] = {}
        self._local: dict[Coordinate, list[Tensor]] = {}
        self.problem = self._run_ranks()

    def _leaves_of(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        leaves = [leaf_of(tensor) for tensor in tensors]
        return [
            leaf.requires_grad_(False) if at in self._constants else leaf
            for at, leaf in enumerate(leaves)
        ]

    def _whole_outputs(self) -> list[Tensor]:
        """The outputs of the whole inputs. An input by which PyTorch can't differentiate the
        function, such as the weights of classes, is a constant.
        """
        try:
            return outputs_of(self._function, self._leaves)
        except RuntimeError as error:
            if _NOT_DIFFERENTIABLE not in str(error):
                raise
            for at, leaf in enumerate(self._leaves):
                if leaf.requires_grad and self._runs_with_constant(at):
                    return outputs_of(self._function, self._leaves)
            raise

    def _runs_with_constant(self, at: int) -> bool:
        self._constants.add(at)
        self._leaves = self._leaves_of(self._leaves)
        try:
            outputs_of(self._function, self._leaves)
        except RuntimeError as error:
            if _NOT_DIFFERENTIABLE not in str(error):
                raise
            self._constants.remove(at)
            self._leaves = self._leaves_of(self._leaves)
            return False
        return True

    def _run_ranks(self) -> Mismatch | None:
        for coordinate in itertools.product(*map(range, self._mesh)):
            leaves = self._leaves_of([given.of_ranks[coordinate] for given in self._inputs])
            try:
                with giving_sizes(self._sizes, coordinate):
                    outputs = outputs_of(self._function, leaves)
            except Exception as error:  # whatever a user's function raises
                return _raises(coordinate, "function", error, leaves)
            if len(outputs) != len(self.outputs):
                return Mismatch("outputs", f"expected {len(self.outputs)}, got {len(outputs)}")
            self._local_leaves[coordinate], self._local[coordinate] = leaves, outputs
        return None

    def forward(self, at: int, placements: Sequence[RulePlacement]) -> Mismatch | None:
        """Compares an output, with the placement on each mesh dim."""
        of_ranks = {coordinate: outputs[at].detach() for coordinate, outputs in self._local.items()}
        return compare(f"output {at}", self.outputs[at].detach(), of_ranks, placements, self._mesh)

    def backward(self, rows: Sequence[Row]) -> Mismatch | None:
        """Compares the gradients of the inputs, for drawn gradients of the outputs.

        Raises FunctionRefuses where the gradient of the whole outputs raises.
        """
        if not all(row.has_gradients for row in rows):
            return None
        places = [at for at, output in enumerate(self.outputs) if output.requires_grad]
        places = [at for at in places if rows[0].outputs[at].kind != "none"]
        if not places:
            return None
        drawn = [gradient_of(self.outputs[at], at, rows, self._mesh, self._values) for at in places]
        try:
            wholes = [each.of_whole for each in drawn]
            expected = gradients(self.outputs, self._leaves, places, wholes)
        except Exception as error:  # whatever a user's function raises
            raise FunctionRefuses(f"its gradient: {type(error).__name__}: {error}") from None
        local: dict[Coordinate, list[Tensor]] = {}
        for coordinate, outputs in self._local.items():
            grads = [each.of_ranks[coordinate] for each in drawn]
            leaves = self._local_leaves[coordinate]
            try:
                local[coordinate] = gradients(outputs, leaves, places, grads)
            except Exception as error:  # whatever a user's function raises
                return _raises(coordinate, "gradient", error, leaves)
        for at, gradient in enumerate(expected):
            if not self._leaves[at].requires_grad:
                continue
            mismatch = compare_gradient(
                at, gradient, {key: grads[at] for key, grads in local.items()}, rows, self._mesh
            )
            if mismatch is not None:
                return mismatch
        return None


def gradient_of(
    output: Tensor, at: int, rows: Sequence[Row], mesh: Sequence[int], values: Values
) -> Spread:
    """Draws the gradient of an output, and spreads it as the rows place it."""
    return spread(
        RuleInput(tuple(output.shape)),
        output.shape,
        [row.gradient_of_output(at) for row in rows],
        mesh,
        values,
        output.dtype,
    )


def compare_gradient(
    at: int, expected: Tensor, of_ranks: OfRanks, rows: Sequence[Row], mesh: Sequence[int]
) -> Mismatch | None:
    """Compares the gradient of an input with that of the whole input."""
    placements = [row.gradient_of_input(at) for row in rows]
    return compare(f"gradient of input {at}", expected, of_ranks, placements, mesh)


def gradients(
    outputs: Sequence[Tensor],
    leaves: Sequence[Tensor],
    places: Sequence[int],
    grads: Sequence[Tensor],
) -> list[Tensor]:
    """The gradients of all leaves, for gradients of the outputs in these places."""
    pairs = [(outputs[at], grad) for at, grad in zip(places, grads) if outputs[at].requires_grad]
    wanted = [leaf for leaf in leaves if leaf.requires_grad]
    found = (
        torch.autograd.grad(
            [output for output, _ in pairs],
            wanted,
            [grad for _, grad in pairs],
            allow_unused=True,
        )
        if pairs and wanted
        else [None] * len(wanted)
    )
    by_leaf = iter(found)
    result = []
    for leaf in leaves:
        gradient = next(by_leaf) if leaf.requires_grad else None
        result.append(torch.zeros_like(leaf) if gradient is None else gradient)
    return result
