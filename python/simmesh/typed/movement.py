"""The data movement of conversions: what a rank holds after each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.distributed as dist

from simmesh import _core
from simmesh.typed.axes import MeshAxis
from simmesh.typed.dtypes import Dtypes, cast
from simmesh.typed.kinds import SpmdType, type_of_text


@dataclass(frozen=True)
class Move:
    """One conversion along an axis.

    ``cut`` and ``join`` are the dims that are taken apart and put together: those of a shard, or
    the one that plain varying types stack and unbind. ``sizes`` are those of the ranks' pieces,
    where they aren't those of torch.chunk; ``joined_sizes`` those of an uneven all-to-all's result.
    """

    op: str
    src: SpmdType
    dst: SpmdType
    axis: MeshAxis
    cut: int = 0
    join: int = 0
    sizes: tuple[int, ...] | None = None
    joined_sizes: tuple[int, ...] | None = None
    is_expert: bool = False
    is_in_place: bool = False
    dtypes: Dtypes = field(default_factory=Dtypes)

    @property
    def index(self) -> int:
        """The place of this rank along the axis."""
        return self.axis.ranks.index(dist.get_rank()) if self.axis.size > 1 else 0

    def backward(self, shape: torch.Size) -> list[Move]:
        """The conversions of the gradient, in order; ``shape`` is that of the operand."""
        calls = _core.typed.backward_calls(self.op, repr(self.src), repr(self.dst), True)
        moves = []
        for at, (op, src, dst) in enumerate(calls):
            move = Move(op, type_of_text(src), type_of_text(dst), self.axis, self.join, self.cut,
                        self.sizes, is_expert=True)  # fmt: skip
            if self.op == "all_to_all":
                move = replace(move, sizes=self.joined_sizes, joined_sizes=self.sizes)
            elif self.sizes is None and self.cuts_whole and self.dst.dim is not None:
                move = replace(move, sizes=pieces(shape[self.cut], self.axis.size))
            moves.append(replace(move, dtypes=_backward_dtypes(self.dtypes, at, len(calls))))
        return moves

    @property
    def cuts_whole(self) -> bool:
        """True if a rank gets its piece of a whole tensor."""
        return self.dst.letter == "V" and self.src.letter in "RIP" and self.op != "reinterpret"

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """This rank's result."""
        x = cast(x, self.dtypes.op)
        return cast(_MOVES[self.op](self, x), self.dtypes.out)


def _backward_dtypes(dtypes: Dtypes, at: int, count: int) -> Dtypes:
    """The first call of several takes the gradient to its dtype, and the last one back."""
    options = dtypes.options()
    return Dtypes(
        options.get("op_dtype"),
        options.get("out_dtype") if at == count - 1 else None,
        options.get("backward_options"),
    )


def pieces(size: int, ranks: int) -> tuple[int, ...]:
    """The sizes of the pieces of a dim, as torch.chunk cuts it: 5 rows are 2, 2, 1 and 0."""
    each = -(-size // ranks) if size else 0
    return tuple(max(0, min(each, size - rank * each)) for rank in range(ranks))


def _all_reduce(move: Move, x: torch.Tensor) -> torch.Tensor:
    result = x if move.is_in_place else x.clone(memory_format=torch.contiguous_format)
    if move.axis.size > 1:
        dist.all_reduce(result, op=dist.ReduceOp.SUM, group=move.axis.group)
    return result


def _gathered(move: Move, x: torch.Tensor, sizes: Sequence[int] | None, dim: int) -> list[Any]:
    if move.axis.size == 1:
        return [x]
    x = x.contiguous()
    outputs = []
    for rank in range(move.axis.size):
        shape = list(x.shape)
        if sizes is not None:
            shape[dim] = sizes[rank]
        outputs.append(x.new_empty(shape))
    dist.all_gather(outputs, x, group=move.axis.group)
    return outputs


def _all_gather(move: Move, x: torch.Tensor) -> torch.Tensor:
    if move.src.dim is None:
        return torch.stack(_gathered(move, x, None, 0), move.join)
    return torch.cat(_gathered(move, x, move.sizes, move.join), move.join)


def _cut(move: Move, x: torch.Tensor, kind: SpmdType) -> list[torch.Tensor]:
    """The ranks' pieces of a whole tensor."""
    if kind.dim is None:
        if x.dim() <= move.cut or x.shape[move.cut] != move.axis.size:
            raise ValueError(
                f"[typed] {move.op}: expected {move.axis.size} elements in dim {move.cut}, one a "
                f"rank of axis {move.axis.name}, got shape {list(x.shape)}"
            )
        return list(x.unbind(move.cut))
    sizes = move.sizes or pieces(x.shape[move.cut], move.axis.size)
    return list(x.split(list(sizes), move.cut))


def _reduce_scatter(move: Move, x: torch.Tensor) -> torch.Tensor:
    parts = [part.contiguous() for part in _cut(move, x, move.dst)]
    if move.axis.size == 1:
        return parts[0].clone()
    result = torch.empty_like(parts[move.index])
    dist.reduce_scatter(result, parts, op=dist.ReduceOp.SUM, group=move.axis.group)
    return result


def _all_to_all(move: Move, x: torch.Tensor) -> torch.Tensor:
    is_stack = move.src.dim is None and move.dst.dim is None
    if is_stack:
        parts = _cut(move, x, move.src)
    else:
        _require_even(move, x)
        parts = list(x.split(list(move.sizes or pieces(x.shape[move.cut], move.axis.size)),
                             move.cut))  # fmt: skip
    parts = [part.contiguous() for part in parts]
    if move.axis.size > 1:
        outputs = []
        for rank, part in enumerate(parts):
            shape = list(part.shape)
            if move.joined_sizes is not None:
                shape[move.cut] = move.joined_sizes[rank]
            outputs.append(part.new_empty(shape))
        dist.all_to_all(outputs, parts, group=move.axis.group)
        parts = outputs
    return torch.stack(parts, move.join) if is_stack else torch.cat(parts, move.join)


def _require_even(move: Move, x: torch.Tensor) -> None:
    if move.sizes is None and x.shape[move.cut] % move.axis.size:
        raise ValueError(
            f"[typed] all_to_all: expected a multiple of {move.axis.size} in dim {move.cut}, got "
            f"{x.shape[move.cut]}"
        )


def _convert(move: Move, x: torch.Tensor) -> torch.Tensor:
    if move.dst.letter == "V":
        return _cut(move, x, move.dst)[move.index].clone()
    if move.src.letter == "V":
        return _in_own_slot(move, x)
    if move.dst.letter == "P":
        return x.clone() if move.index == 0 else torch.zeros_like(x)
    return x


def _same(move: Move, x: torch.Tensor) -> torch.Tensor:
    return x


def _in_own_slot(move: Move, x: torch.Tensor) -> torch.Tensor:
    shape, dim = list(x.shape), move.join
    if move.src.dim is None:
        shape.insert(dim, move.axis.size)
        whole = x.new_zeros(shape)
        whole.select(dim, move.index).copy_(x)
        return whole
    sizes = move.sizes or (shape[dim],) * move.axis.size
    shape[dim] = sum(sizes)
    whole = x.new_zeros(shape)
    whole.narrow(dim, sum(sizes[: move.index]), sizes[move.index]).copy_(x)
    return whole


_MOVES = {
    "all_reduce": _all_reduce, "all_gather": _all_gather, "reduce_scatter": _reduce_scatter,
    "all_to_all": _all_to_all, "convert": _convert, "reinterpret": _same,
}  # fmt: skip


class Conversion(torch.autograd.Function):
    """A conversion with the backward pass that its types ask for."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, move: Move) -> torch.Tensor:
        """Runs the conversion."""
        ctx.move, ctx.shape = move, x.shape
        result = move(x)
        if move.is_in_place:
            ctx.mark_dirty(x)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        """Runs the conversions of the gradient."""
        for move in ctx.move.backward(ctx.shape):
            gradient = Conversion.apply(gradient, move)  # type: ignore[no-untyped-call]
        return gradient, None
