"""Functions that communicate, each right and subtly wrong, with the rule that they should keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch import Tensor
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.nn import functional as F

import simmesh

Group = Any


@dataclass(frozen=True)
class Communicates:
    """A function that keeps a rule, one that doesn't, and how they are judged."""

    name: str
    right: Callable[..., Any]
    wrong: Callable[..., Any]
    rule: Any
    inputs: Sequence[Any]
    options: dict[str, Any] = field(default_factory=dict)


FORWARD = {"backward": False}
FULL = {"pieces": ["even", "uneven"]}
EVEN = {"pieces": ["even"]}


def summed(x: Tensor, group: Group, op: Any = dist.ReduceOp.SUM) -> Tensor:
    """The sum over ranks, as a new tensor."""
    result = x.detach().clone().contiguous()
    dist.all_reduce(result, op, group)
    return result


def gathered(x: Tensor, dim: int, group: Group) -> Tensor:
    """The concatenation of pieces of any sizes."""
    sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(group.size())]
    dist.all_gather(sizes, torch.tensor([x.shape[dim]]), group)
    most = max(int(size) for size in sizes)
    shape = list(x.shape)
    shape[dim] = most - x.shape[dim]
    padded = torch.cat([x.detach(), x.new_zeros(shape)], dim).contiguous()
    parts = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(parts, padded, group)
    return torch.cat([p.narrow(dim, 0, int(size)) for p, size in zip(parts, sizes)], dim)


def start_of(count: int, group: Group) -> int:
    """The index at which the piece of this rank starts."""
    counts = gathered(torch.tensor([count]), 0, group)
    return int(counts[: group.rank()].sum())


class Copy(torch.autograd.Function):
    """Nothing, with a reduction of the gradient: the entry of a tensor parallel layer."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return summed(grad, ctx.group), None


class Reduce(torch.autograd.Function):
    """A sum over ranks, whose gradient is the same on each: the exit of the layer."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        return summed(x, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return grad, None


class SumBoth(torch.autograd.Function):
    """A sum over ranks forward and backward: each rank uses the sum for itself."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return summed(x, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return summed(grad, ctx.group), None


class Gather(torch.autograd.Function):
    """Pieces of dim 0 made whole; backward adds the gradients up, and takes this rank's part."""

    reduces = True

    @classmethod
    def forward(cls, ctx: Any, x: Tensor, group: Group) -> Tensor:
        ctx.group, ctx.count = group, x.shape[0]
        return gathered(x, 0, group)

    @classmethod
    def backward(cls, ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        total = summed(grad, ctx.group) if cls.reduces else grad
        return total.narrow(0, start_of(ctx.count, ctx.group), ctx.count), None


class GatherWithoutReduction(Gather):
    """The same without the sum of gradients."""

    reduces = False


def column_parallel(x: Tensor, w: Tensor, group: Group) -> Tensor:
    return F.linear(Copy.apply(x, group), w)


def column_parallel_wrong(x: Tensor, w: Tensor, group: Group) -> Tensor:
    return F.linear(x, w)


def row_parallel(x: Tensor, w: Tensor, bias: Tensor, group: Group) -> Tensor:
    return Reduce.apply(F.linear(x, w), group) + bias


def row_parallel_wrong(x: Tensor, w: Tensor, bias: Tensor, group: Group) -> Tensor:
    return Reduce.apply(F.linear(x, w, bias), group)


def sequence_column(x: Tensor, w: Tensor, group: Group) -> Tensor:
    return F.linear(Gather.apply(x, group), w)


def sequence_column_wrong(x: Tensor, w: Tensor, group: Group) -> Tensor:
    return F.linear(GatherWithoutReduction.apply(x, group), w)


def norm_of_rows(x: Tensor, weight: Tensor, group: Group) -> Tensor:
    scale = x.square().mean(-1, keepdim=True).add(1e-6).rsqrt()
    return x * scale * Copy.apply(weight, group)


def norm_of_rows_wrong(x: Tensor, weight: Tensor, group: Group) -> Tensor:
    return x * x.square().mean(-1, keepdim=True).add(1e-6).rsqrt() * weight


class VocabularyLoss(torch.autograd.Function):
    """Cross entropy of logits whose classes are cut, summed over rows."""

    offsets = True

    @classmethod
    def forward(cls, ctx: Any, logits: Tensor, target: Tensor, group: Group) -> Tensor:
        top = summed(logits.amax(1), group, dist.ReduceOp.MAX)
        start = start_of(logits.shape[1], group) if cls.offsets else 0
        local = target - start
        inside = (local >= 0) & (local < logits.shape[1])
        local = local.clamp(0, logits.shape[1] - 1).unsqueeze(1)
        shifted = logits - top.unsqueeze(1)
        picked = summed(shifted.gather(1, local).squeeze(1) * inside, group)
        total = summed(shifted.exp().sum(1), group)
        ctx.save_for_backward(shifted.exp() / total.unsqueeze(1), local, inside)
        return (total.log() - picked).sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        softmax, local, inside = ctx.saved_tensors
        hit = torch.zeros_like(softmax).scatter(1, local, inside.to(softmax.dtype).unsqueeze(1))
        return (softmax - hit) * grad, None, None


class VocabularyLossWithoutOffset(VocabularyLoss):
    """The same, with targets taken as local ones on each rank."""

    offsets = False


class Softmax(torch.autograd.Function):
    """Softmax over a cut dim."""

    reduces = True

    @classmethod
    def forward(cls, ctx: Any, x: Tensor, group: Group) -> Tensor:
        top = x.amax(1) if x.shape[1] else x.new_full((x.shape[0],), -torch.inf)
        top = summed(top, group, dist.ReduceOp.MAX)
        raised = (x - top.unsqueeze(1)).exp()
        result = raised / summed(raised.sum(1), group).unsqueeze(1)
        ctx.save_for_backward(result)
        ctx.group = group
        return result

    @classmethod
    def backward(cls, ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        (result,) = ctx.saved_tensors
        inner = (grad * result).sum(1)
        inner = summed(inner, ctx.group) if cls.reduces else inner
        return result * (grad - inner.unsqueeze(1)), None


class SoftmaxOfLocalGradient(Softmax):
    """The same, with the inner product of this rank's columns alone."""

    reduces = False


class Halo(torch.autograd.Function):
    """The columns of a cut sequence with one column of each neighbour, zeros at the ends."""

    returns = True

    @classmethod
    def forward(cls, ctx: Any, x: Tensor, group: Group) -> Tensor:
        ctx.group = group
        left, right = exchange(x[..., -1:], x[..., :1], group)
        return torch.cat([left, x, right], -1)

    @classmethod
    def backward(cls, ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        own = grad[..., 1:-1].clone()
        left, right = exchange(grad[..., -1:], grad[..., :1], ctx.group)
        if cls.returns:
            own[..., :1] += left
            own[..., -1:] += right
        return own, None


class HaloWithoutGradient(Halo):
    """The same, whose gradient of the neighbours' columns is lost."""

    returns = False


def exchange(to_right: Tensor, to_left: Tensor, group: Group) -> tuple[Tensor, Tensor]:
    """Sends to both neighbours; returns what came from the left and from the right."""
    rank, size = group.rank(), group.size()
    from_left, from_right = torch.zeros_like(to_right), torch.zeros_like(to_left)
    ranks = dist.get_process_group_ranks(group)
    works = []
    if rank + 1 < size:
        works.append(dist.isend(to_right.contiguous(), ranks[rank + 1], group=group))
        works.append(dist.irecv(from_right, ranks[rank + 1], group=group))
    if rank > 0:
        works.append(dist.isend(to_left.contiguous(), ranks[rank - 1], group=group))
        works.append(dist.irecv(from_left, ranks[rank - 1], group=group))
    for work in works:
        work.wait()
    return from_left, from_right


def convolution(x: Tensor, w: Tensor, group: Group) -> Tensor:
    return F.conv1d(Halo.apply(x, group), Copy.apply(w, group))


def convolution_wrong(x: Tensor, w: Tensor, group: Group) -> Tensor:
    return F.conv1d(HaloWithoutGradient.apply(x, group), Copy.apply(w, group))


def top_two(x: Tensor, group: Group, per_rank: int = 2) -> Tensor:
    own = x.topk(min(per_rank, x.shape[1]), 1).values
    return gathered(own, 1, group).topk(2, 1).values


def top_two_wrong(x: Tensor, group: Group) -> Tensor:
    return top_two(x, group, 1) if group.size() > 1 else top_two(x, group)


class Exchange(torch.autograd.Function):
    """Rows cut to columns cut, by an all-to-all."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return rows_to_columns(x, group)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return rows_to_columns(grad.t(), ctx.group).t(), None


def rows_to_columns(x: Tensor, group: Group, reverses: bool = False) -> Tensor:
    """Sends each rank its columns of this rank's rows."""
    sent = [each.contiguous() for each in x.chunk(group.size(), 1)]
    came = [torch.empty_like(each) for each in sent]
    dist.all_to_all(came, sent, group=group)
    return torch.cat(came[::-1] if reverses else came, 0)


def exchange_wrong(x: Tensor, group: Group) -> Tensor:
    return rows_to_columns(x, group, reverses=True)


def global_norm(x: Tensor, group: Group) -> Tensor:
    return Reduce.apply(x.square().sum(), group).sqrt()


def global_norm_wrong(x: Tensor, group: Group) -> Tensor:
    return Reduce.apply(x.square().sum().sqrt(), group)


def clipped(x: Tensor, group: Group) -> Tensor:
    return x * (1 / global_norm(x, group)).clamp(max=1)


def clipped_wrong(x: Tensor, group: Group) -> Tensor:
    return x * (1 / x.square().sum().sqrt()).clamp(max=1)


def batch_norm(x: Tensor, group: Group) -> Tensor:
    count = summed(torch.tensor(float(x.shape[0])), group)
    mean = SumBoth.apply(x.sum(0), group) / count
    return x - mean


def batch_norm_wrong(x: Tensor, group: Group) -> Tensor:
    return x - SumBoth.apply(x.mean(0), group) / group.size()


def mean_of_rows(x: Tensor, group: Group) -> Tensor:
    count = summed(torch.tensor(float(x.shape[0])), group)
    return Reduce.apply(x.sum(0), group) / count


def mean_of_rows_wrong(x: Tensor, group: Group) -> Tensor:
    return Reduce.apply(x.mean(0), group) / group.size()


def ring(q: Tensor, k: Tensor, v: Tensor, group: Group, steps: int | None = None) -> Tensor:
    """Linear attention: keys and values go around a ring."""
    size, rank = group.size(), group.rank()
    ranks = dist.get_process_group_ranks(group)
    result, block = torch.zeros_like(q), torch.stack([k, v]).detach()
    for _ in range(size if steps is None else steps):
        result = result + q @ (block[0].t() @ block[1])
        if size == 1:
            break
        came = torch.empty_like(block)
        work = dist.isend(block, ranks[(rank + 1) % size], group=group)
        dist.recv(came, ranks[(rank - 1) % size], group=group)
        work.wait()
        block = came
    return result


def ring_wrong(q: Tensor, k: Tensor, v: Tensor, group: Group) -> Tensor:
    return ring(q, k, v, group, min(2, group.size()))


def running_sum(x: Tensor, group: Group) -> Tensor:
    totals = gathered(x.sum(0, keepdim=True), 0, group)
    return x.cumsum(0) + totals[: group.rank()].sum(0)


def running_sum_wrong(x: Tensor, group: Group) -> Tensor:
    totals = gathered(x.sum(0, keepdim=True), 0, group)
    return x.cumsum(0) + totals[max(0, group.rank() - 1) : group.rank()].sum(0)


def best_column(x: Tensor, group: Group, offsets: bool = True) -> Tensor:
    best = x.max(1)
    start = start_of(x.shape[1], group) if offsets else 0
    values = gathered(best.values.unsqueeze(1), 1, group)
    indices = gathered((best.indices + start).unsqueeze(1), 1, group)
    return indices.gather(1, values.argmax(1, keepdim=True)).squeeze(1)


def best_column_wrong(x: Tensor, group: Group) -> Tensor:
    return best_column(x, group, offsets=False)


def embedding(w: Tensor, i: Tensor, group: Group, beyond: int = 0) -> Tensor:
    local = i - start_of(w.shape[0], group)
    inside = (local >= 0) & (local < w.shape[0] + beyond)
    rows = F.embedding(local.clamp(0, w.shape[0] - 1), w)
    return Reduce.apply(rows * inside.unsqueeze(-1).to(rows.dtype), group)


def embedding_wrong(w: Tensor, i: Tensor, group: Group) -> Tensor:
    return embedding(w, i, group, 1)


def redistributed(x: Tensor, mesh: Any) -> Tensor:
    return DTensor.from_local(x, mesh, [Shard(0)]).redistribute(mesh, [Replicate()]).to_local()


def redistributed_wrong(x: Tensor, mesh: Any) -> Tensor:
    whole = DTensor.from_local(x, mesh, [Shard(1)]).redistribute(mesh, [Replicate()]).to_local()
    return whole.reshape(-1, x.shape[1])


def mean_with_wait(x: Tensor, group: Group) -> Tensor:
    return summed(x.sum(0), group)


def mean_without_wait(x: Tensor, group: Group) -> Tensor:
    # A rank without rows doesn't come.
    return summed(x.sum(0), group) if x.shape[0] else x.sum(0)


def gather_padded(x: Tensor, group: Group) -> Tensor:
    return gathered(x, 0, group)


def gather_as_if_even(x: Tensor, group: Group) -> Tensor:
    whole = x.new_empty((x.shape[0] * group.size(), *x.shape[1:]))
    dist.all_gather_into_tensor(whole, x.contiguous(), group)
    return whole


def functional_matmul(x: Tensor, w: Tensor, mesh: Any) -> Tensor:
    return funcol.all_reduce(torch.mm(x, w), "sum", mesh)


def functional_matmul_wrong(x: Tensor, w: Tensor, mesh: Any) -> Tensor:
    return funcol.all_reduce(torch.mm(x, w), "avg", mesh)


def norm_of_columns(x: Tensor, group: Group) -> Tensor:
    count = summed(torch.tensor(float(x.shape[1])), group)
    mean = SumBoth.apply(x.sum(1, keepdim=True), group) / count
    return (x - mean).square()


def norm_of_columns_wrong(x: Tensor, group: Group) -> Tensor:
    count = summed(torch.tensor(float(x.shape[1])), group)
    # The gradient of the mean is that of this rank's columns alone.
    mean = Reduce.apply(x.sum(1, keepdim=True), group) / count
    return (x - mean).square()


def next_row(x: Tensor) -> Tensor:
    group = simmesh.rule_mesh().get_group()
    _, right = exchange(x[-1:], x[:1], group)
    return torch.cat([x[1:], right])


def next_row_wrong(x: Tensor) -> Tensor:
    group = simmesh.rule_mesh().get_group()
    left, _ = exchange(x[-1:], x[:1], group)
    return torch.cat([x[1:], left])


def default_group(x: Tensor) -> Tensor:
    return summed(x.sum(), None)


def default_group_wrong(x: Tensor) -> Tensor:
    return summed(x.sum(), None) / dist.get_world_size()


_TARGET = simmesh.RuleInput("b", torch.tensor([0, 1, 0]))

COMMUNICATE = (
    Communicates("column_parallel", column_parallel, column_parallel_wrong,
                 "I, S(0) -> S(1)", ["bk", "nk"]),
    Communicates("row_parallel", row_parallel, row_parallel_wrong,
                 "S(1), S(1), I -> I", ["bk", "nk", "n"]),
    Communicates("sequence_column", sequence_column, sequence_column_wrong,
                 "S(0), S(0) -> S(1)", ["bk", "nk"]),
    Communicates("norm_of_rows", norm_of_rows, norm_of_rows_wrong, "S(0), I -> S(0)", ["bk", "k"]),
    Communicates("vocabulary_loss", VocabularyLoss, VocabularyLossWithoutOffset,
                 "S(1), R -> I", ["bv", _TARGET], FULL),
    Communicates("softmax", Softmax, SoftmaxOfLocalGradient, "S(1) -> S(1)", ["bk"]),
    Communicates("convolution", convolution, convolution_wrong, "S(2), I -> S(2)",
                 [("b", 2, "t"), (3, 2, 3)], FULL),
    Communicates("top_two", top_two, top_two_wrong, "S(1) -> R", ["bk"], FORWARD),
    Communicates("exchange", Exchange, exchange_wrong, "S(0) -> S(1)", [("b", 12)], EVEN),
    Communicates("global_norm", global_norm, global_norm_wrong, "S(0) -> I", ["bk"]),
    Communicates("clipping", clipped, clipped_wrong, "S(0) -> S(0)", ["bk"], FORWARD | FULL),
    Communicates("batch_norm", batch_norm, batch_norm_wrong, "S(0) -> S(0)", ["bk"], FULL),
    Communicates("mean", mean_of_rows, mean_of_rows_wrong, "S(0) -> I", ["bk"], FULL),
    Communicates("ring", ring, ring_wrong, "S(0), S(0), S(0) -> S(0)", ["bk", "bk", "bk"],
                 {**FORWARD, **EVEN, "values": "whole"}),
    Communicates("running_sum", running_sum, running_sum_wrong, "S(0) -> S(0)", ["bk"], FORWARD),
    Communicates("best_column", best_column, best_column_wrong, "S(1) -> R", ["bk"],
                 FORWARD | FULL),
    Communicates("embedding", embedding, embedding_wrong, "S(0), R -> I",
                 ["vk", simmesh.RuleInput("n", torch.tensor([0, 1, 0]))],
                 {**FULL, "whole": lambda w, i: F.embedding(i, w)}),
    Communicates("redistributed", redistributed, redistributed_wrong, "S(0) -> R", [("b", 4)],
                 EVEN),
    Communicates("mean_with_wait", mean_with_wait, mean_without_wait, "S(0) -> R", ["bk"], FORWARD),
    Communicates("gather", gather_padded, gather_as_if_even, "S(0) -> R", ["bk"], FORWARD),
    Communicates("functional", functional_matmul, functional_matmul_wrong, "S(1), S(0) -> R",
                 ["mk", "kn"], FORWARD),
    Communicates("norm_of_columns", norm_of_columns, norm_of_columns_wrong, "S(1) -> S(1)", ["bk"],
                 FULL),
    Communicates("next_row", next_row, next_row_wrong, "S(0) -> S(0)", ["bk"], FORWARD | FULL),
    Communicates("default_group", default_group, default_group_wrong, "S(0) -> R", ["bk"], FORWARD),
)  # fmt: skip
