"""Further functions with a sharding rule that holds and one that is subtly wrong."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

import simmesh
from rule_functions import Judged


def _indices(dims: Any, *values: int) -> simmesh.RuleInput:
    return simmesh.RuleInput(dims, torch.tensor(values))


def _rotary_of_heads(x: Tensor, positions: Tensor) -> Tensor:
    """Rotates the halves of each packed head of four."""
    heads = x.unflatten(1, (-1, 4))
    angles = positions.to(x.dtype)[:, None, None] * torch.tensor([1.0, 0.1])
    a, b = heads[..., :2], heads[..., 2:]
    turned = [a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()]
    return torch.cat(turned, -1).flatten(1)


def _qkv(x: Tensor, weight: Tensor) -> Tensor:
    q, k, v = (x @ weight.t()).chunk(3, 1)
    return q * k + v


def _qkv_of_heads(x: Tensor, weight: Tensor) -> Tensor:
    q, k, v = torch.einsum("bk,hck->bhc", x, weight).chunk(3, 2)
    return q * k + v


def _scattered(index: Tensor, source: Tensor) -> Tensor:
    return source.new_zeros(4, source.shape[1]).scatter(0, index, source)


def _scatter_added(index: Tensor, source: Tensor) -> Tensor:
    return source.new_zeros(4, source.shape[1]).scatter_add(0, index, source)


def _index_added(base: Tensor, index: Tensor, source: Tensor) -> Tensor:
    return base.index_add(0, index, source)


def _weighted_loss(x: Tensor, target: Tensor, weight: Tensor) -> Tensor:
    return F.cross_entropy(x, target, weight, reduction="sum")


def _loss_of_some(x: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(x, target, ignore_index=3)


def _complex_product(x: Tensor, y: Tensor) -> Tensor:
    return torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(y))


def _seeded_dropout(x: Tensor) -> Tensor:
    drawn = torch.rand(x.shape, generator=torch.Generator().manual_seed(5))
    return x * (drawn > 0.5)


def _causal(scores: Tensor) -> Tensor:
    allowed = torch.ones(scores.shape[1:], dtype=torch.bool).tril()
    return scores.masked_fill(~allowed, -1e9).softmax(2)


def _pooled(x: Tensor, mask: Tensor) -> Tensor:
    return (x * mask).sum(1) / mask.to(x.dtype).sum(1).add(1)


class _ScaledByRows(torch.autograd.Function):
    """The identity, whose gradient is multiplied by the number of local rows."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.rows = x.shape[0]
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient * ctx.rows


class _StraightThrough(torch.autograd.Function):
    """Rounds, with the gradient of the identity."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.round()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient


# Functions that PyTorch doesn't run on empty pieces, and one with sums that have no exact form.
OPTIONS: dict[str, dict[str, Any]] = {
    "pixel_shuffle": {"pieces": ["even", "uneven"]},
    "quantile": {"pieces": ["even", "uneven"]},
    "max_pool": {"pieces": ["even", "uneven"]},
    "bilinear": {"pieces": ["even", "uneven"]},
    "logcumsumexp": {"values": "whole"},
}

_MASK = simmesh.RuleInput("mn", torch.tensor([True, False, False, True, False]))

SUBTLE = (
    Judged("group_norm", lambda x: F.group_norm(x, 2), [("b", 4, "t")], "S(0) -> S(0)",
           "S(1) -> S(1)"),
    Judged("instance_norm", F.instance_norm, [("b", "c", "t")], "S(1) -> S(1)", "S(2) -> S(2)"),
    Judged("batch_norm", lambda x: F.batch_norm(x, None, None, training=True), ["bc"],
           "S(1) -> S(1)", "S(0) -> S(0)"),
    Judged("rotary_of_heads", _rotary_of_heads, [("t", 8), _indices("t", 0, 1, 2, 3, 4, 5, 6)],
           "S(0), S(0) -> S(0)", "_S(1,2), R -> _S(1,2)"),
    Judged("qkv", _qkv, ["bk", (12, "k")], "R, _S(0,3) -> S(1)", "R, S(0) -> S(1)"),
    Judged("qkv_of_heads", _qkv_of_heads, ["bk", ("h", 6, "k")], "R, S(0) -> S(1)",
           "R, S(1) -> S(2)"),
    Judged("glu", lambda x: F.glu(x, 1), [("m", 8)], "_S(1,2) -> S(1)", "S(1) -> S(1)"),
    Judged("gather", lambda x, i: x.gather(0, i), [(4, "n"), _indices("pn", 0, 3, 1)],
           "S(1), S(1) -> S(1)", "S(0), R -> P"),
    Judged("scatter", _scattered, [_indices("pn", 0, 3, 1, 1), "pn"], "S(1), S(1) -> S(1)",
           "S(0), S(0) -> P"),
    Judged("scatter_add", _scatter_added, [_indices("pn", 0, 3, 1, 1), "pn"], "S(0), S(0) -> P",
           "S(0), S(0) -> R"),
    Judged("index_add", _index_added, [(4, "n"), _indices("p", 0, 3, 1), "pn"],
           "P, S(0), S(0) -> P", "R, S(0), S(0) -> P"),
    Judged("median", lambda x: x.median(1).values, ["mn"], "S(0) -> S(0)", "S(1) -> P(avg)"),
    Judged("quantile", lambda x: x.quantile(0.5, 1), ["mn"], "S(0) -> S(0)", "S(1) -> P(avg)"),
    Judged("argmax", lambda x: x.argmax(1), ["mn"], "S(0) -> S(0)", "S(1) -> P(max)"),
    Judged("largest", lambda x: x.max(1), ["mn"], "S(0) -> S(0), S(0)", "S(1) -> P(max), P(max)"),
    Judged("sort", lambda x: x.sort(1).values, ["mn"], "S(0) -> S(0)", "S(1) -> S(1)"),
    Judged("argsort", lambda x: x.argsort(1), ["mn"], "S(0) -> S(0)", "S(1) -> S(1)"),
    Judged("unique", torch.unique, [_indices("m", 0, 3, 1, 1, 0)], "R -> R", "S(0) -> R"),
    Judged("cumprod", lambda x: x.cumprod(1), ["mn"], "S(0) -> S(0)", "P -> P"),
    Judged("logcumsumexp", lambda x: x.logcumsumexp(1), ["mn"], "S(0) -> S(0)", "S(1) -> S(1)"),
    Judged("cummax", lambda x: x.cummax(1).values, ["mn"], "P(max) -> P(max)", "P -> P"),
    Judged("roll_of_all", lambda x: x.roll(1), ["mn"], "P -> P", "S(1) -> S(1)"),
    Judged("flip_both", lambda x: x.flip(0, 1), ["mn"], "P -> P", "S(0) -> S(0)"),
    Judged("windows", lambda x: x.unfold(1, 2, 1), ["mn"], "S(0) -> S(0)", "S(1) -> S(1)"),
    Judged("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), [("b", 4, "h", "w")], "S(0) -> S(0)",
           "S(2) -> S(2)"),
    Judged("channel_shuffle", lambda x: F.channel_shuffle(x, 2), [("b", 4, "h", "w")],
           "S(0) -> S(0)", "S(1) -> S(1)"),
    Judged("transposed", lambda x, w: F.conv_transpose1d(x, w, stride=2),
           [("b", 2, 4), (2, 3, 2)], "S(0), R -> S(0)", "S(2), R -> S(2)"),
    Judged("dilated", lambda x, w: F.conv1d(x, w, padding=2, dilation=2),
           [("b", 2, "t"), (3, 2, 3)], "S(0), R -> S(0)", "S(2), R -> S(2)"),
    Judged("groups", lambda x, w: F.conv1d(x, w, groups=2), [("b", 4, 5), (8, 2, 3)],
           "S(0), R -> S(0)", "R, S(0) -> S(1)"),
    Judged("bilinear", F.bilinear, ["bi", "bj", "oij"], "S(1), R, S(1) -> P", "P, P, R -> P"),
    Judged("nearest", lambda x: F.interpolate(x, scale_factor=2), [("b", 2, "t")], "S(0) -> S(0)",
           "S(2) -> S(2)"),
    Judged("linear_interpolation",
           lambda x: F.interpolate(x, scale_factor=2, mode="linear"), [("b", 2, "t")], "P -> P",
           "S(2) -> S(2)"),
    Judged("max_pool", lambda x: F.max_pool1d(x, 2), [("b", "c", 6)], "S(1) -> S(1)",
           "S(2) -> S(2)"),
    Judged("mean_of_bags", lambda i, w: F.embedding_bag(i, w, mode="mean"),
           [_indices(("b", 3), 0, 3, 1, 4), (5, "n")], "S(0), R -> S(0)", "S(1), R -> P(avg)"),
    Judged("weighted_loss", _weighted_loss, [("m", 5), _indices("m", 0, 3, 1), (5,)],
           "S(0), S(0), R -> P", "S(0), S(0), R -> P(avg)"),
    Judged("loss_of_some", _loss_of_some, [("m", 5), _indices("m", 0, 3, 1)], "R, R -> R",
           "S(0), S(0) -> P(avg)"),
    Judged("diagonal", lambda x: x.diagonal(0, 1, 2), [("b", 4, 4)], "S(0) -> S(0)",
           "S(1) -> S(1)"),
    Judged("outer", lambda x, y: torch.einsum("i,j->ij", x, y), ["i", "j"], "S(0), R -> S(0)",
           "P, P -> P"),
    Judged("expand", lambda x: x.expand(3, -1), ["n"], "S(0) -> S(1)", "S(0) -> S(0)"),
    Judged("repeat", lambda x: x.repeat(2, 1), ["mn"], "S(0) -> _S(0,2)", "S(0) -> S(0)"),
    Judged("interleaved", lambda x: x.repeat_interleave(2, 0), ["mn"], "S(1) -> S(1)",
           "S(0) -> S(0)"),
    Judged("tile", lambda x: x.tile(1, 2), ["mn"], "S(1) -> _S(1,2)", "S(1) -> S(1)"),
    Judged("two_parts", lambda x, y: torch.cat([x, y], 1), ["mn", "mn"], "S(1), S(1) -> _S(1,2)",
           "S(1), S(1) -> S(1)"),
    Judged("kron", torch.kron, ["mn", (2, 2)], "P, R -> P", "S(0), R -> S(0)"),
    Judged("batches", torch.matmul, [(1, "m", "k"), ("b", "k", "n")], "R, S(0) -> S(0)",
           "P, S(0) -> S(0)"),
    Judged("complex_abs", lambda x: torch.view_as_complex(x).abs(), [("m", 2)], "S(0) -> S(0)",
           "P -> P"),
    Judged("complex_product", _complex_product, [("m", 2), ("m", 2)], "P, R -> P", "P, P -> P"),
    Judged("scaled_by_rows", _ScaledByRows.apply, ["mn"], "S(1) -> S(1)", "S(0) -> S(0)"),
    Judged("straight_through", _StraightThrough.apply, ["mn"], "S(0) -> S(0)", "P -> P"),
    Judged("input_type", F.linear, ["bk", "nk"], "R, S(0) -> S(1)", "I, S(0) -> S(1)"),
    Judged("factors", lambda x: x.transpose(1, 2).flatten(1), None,
           "b h d -> b (d h) {h=4, d=2}", "b h d -> b (h d) {h=4, d=2}"),
    Judged("variance", lambda x: x.var(1), ["mn"], "S(0) -> S(0)", "S(1) -> P(avg)"),
    Judged("cosine", lambda x, y: F.cosine_similarity(x, y, 1), ["mn", "mn"],
           "S(0), S(0) -> S(0)", "S(1), S(1) -> P"),
    Judged("logsumexp", lambda x: x.logsumexp(1), ["mn"], "S(0) -> S(0)", "S(1) -> P(max)"),
    Judged("where", torch.where, [_MASK, "mn", "mn"], "R, P, P -> P", "R, P, R -> P"),
    Judged("clamp", lambda x: x.clamp(min=0), ["mn"], "P(max) -> P(max)", "P -> P"),
    Judged("exp", torch.exp, ["mn"], "P(min) -> P(min)", "P(sum) -> P(sum)"),
    Judged("square", torch.square, ["mn"], "S(0) -> S(0)", "P(max) -> P(max)"),
    Judged("tril", torch.tril, ["mn"], "P -> P", "S(0) -> S(0)"),
    Judged("addmm", torch.addmm, ["n", "mk", "kn"], "P, S(1), S(0) -> P", "R, S(1), S(0) -> P"),
    Judged("seeded_dropout", _seeded_dropout, ["mn"], "P -> P", "S(0) -> S(0)"),
    Judged("causal", _causal, ["bqk"], "S(0) -> S(0)", "S(1) -> S(1)"),
    Judged("pooled", _pooled, ["mn", _MASK], "S(0), S(0) -> S(0)", "S(1), S(1) -> P(avg)"),
    Judged("product", lambda x: x.prod(0), ["mn"], "S(1) -> S(0)", "S(0) -> P"),
    Judged("any", lambda x: (x > 0).any(0), ["mn"], "S(1) -> S(0)", "S(0) -> P(min)"),
    Judged("counts", lambda i: i.bincount(minlength=5), [_indices("m", 0, 3, 1, 4)], "S(0) -> P",
           "S(0) -> R"),
    Judged("gram", lambda x: x.t() @ x, ["mn"], "S(0) -> P", "S(1) -> S(0)"),
    Judged("pad", lambda x: F.pad(x, (1, 1)), ["mn"], "P -> P", "S(1) -> S(1)"),
    Judged("differences", lambda x: x.diff(dim=1), ["mn"], "P -> P", "S(1) -> S(1)"),
)  # fmt: skip
