"""Functions with a sharding rule that holds and one that doesn't."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional as F

import simmesh


@dataclass(frozen=True)
class Judged:
    """A function, its inputs, a rule that holds, and one that is subtly wrong."""

    name: str
    function: Callable[..., Any]
    inputs: Sequence[Any] | None
    right: str
    wrong: str


def _indices(dims: Any, *values: int) -> simmesh.RuleInput:
    return simmesh.RuleInput(dims, torch.tensor(values))


def _rotary(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    angles = positions.to(x.dtype).unsqueeze(1) * torch.tensor([1.0, 0.1])
    a, b = x[:, :2], x[:, 2:]
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], 1)


def _local_rotary(x: torch.Tensor) -> torch.Tensor:
    return _rotary(x, torch.arange(x.shape[0]))


def _vocabulary_loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits, target, reduction="sum")


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = torch.matmul(q, k.transpose(-1, -2))
    return torch.matmul(scores.softmax(-1), v)


def _top_two(x: torch.Tensor) -> torch.Tensor:
    return x.topk(2, dim=1).values


def _normalized(x: torch.Tensor) -> torch.Tensor:
    return x / x.pow(2).mean(-1, keepdim=True).add(1e-6).sqrt()


def _halo(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return F.conv1d(x, w, padding=1)


def _one_hot(x: torch.Tensor) -> torch.Tensor:
    return F.one_hot(x, 5).to(torch.float32)


def _masked(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return x.masked_fill(mask, 0.0)


def _swiglu(x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    return F.silu(x @ gate) * (x @ up)


_MASK = simmesh.RuleInput("mn", torch.tensor([True, False, False, True, False]))

JUDGED = (
    Judged("matmul", torch.matmul, ["mk", "kn"], "S(1), S(0) -> P", "S(1), S(0) -> S(0)"),
    Judged("matmul_rows", torch.matmul, ["mk", "kn"], "S(0), R -> S(0)", "S(0), R -> R"),
    Judged("matmul_terms", torch.matmul, ["mk", "kn"], "P, R -> P", "P, P -> P"),
    Judged("linear_bias", F.linear, ["mk", "nk", "n"], "R, S(0), S(0) -> S(1)",
           "S(1), S(1), R -> P"),
    Judged("add", torch.add, ["mn", "mn"], "P, P -> P", "P, R -> P"),
    Judged("add_avg", torch.add, ["mn", "mn"], "P(avg), R -> P(avg)", "P(sum), R -> P(avg)"),
    Judged("mul", torch.mul, ["mn", "n"], "P, R -> P", "P, P -> P"),
    Judged("broadcast", torch.add, ["mn", "n"], "S(1), S(0) -> S(1)", "S(0), S(0) -> S(0)"),
    Judged("relu", torch.relu, ["mn"], "S(0) -> S(0)", "P -> P"),
    Judged("relu_max", torch.relu, ["mn"], "P(max) -> P(max)", "P(avg) -> P(avg)"),
    Judged("neg_min", torch.neg, ["mn"], "P -> P", "P(min) -> P(min)"),
    Judged("gelu", F.gelu, ["mn"], "_S(0,2) -> _S(0,2)", "_S(0,2) -> S(0)"),
    Judged("abs", torch.abs, ["mn"], "S(1) -> S(1)", "P -> P"),
    Judged("sum", lambda x: x.sum(0), ["mn"], "S(0) -> P", "S(0) -> P(avg)"),
    Judged("sum_other", lambda x: x.sum(0), ["mn"], "S(1) -> S(0)", "S(1) -> P"),
    Judged("mean", lambda x: x.mean(0), ["mn"], "S(1) -> S(0)", "S(0) -> P(avg)"),
    Judged("amax", lambda x: x.amax(1), ["mn"], "S(0) -> S(0)", "P -> P"),
    Judged("norm", lambda x: x.norm(dim=1), ["mn"], "S(0) -> S(0)", "S(1) -> P"),
    Judged("square_sum", lambda x: (x * x).sum(0), ["mn"], "S(0) -> P", "P -> P"),
    Judged("softmax", lambda x: x.softmax(1), ["mn"], "S(0) -> S(0)", "S(1) -> S(1)"),
    Judged("log_softmax", lambda x: x.log_softmax(0), ["mn"], "S(1) -> S(1)", "S(0) -> S(0)"),
    Judged("layer_norm", lambda x: F.layer_norm(x, x.shape[1:]), ["mn"], "S(0) -> S(0)",
           "S(1) -> S(1)"),
    Judged("rms_norm", _normalized, ["mn"], "S(0) -> S(0)", "P -> P"),
    Judged("cumsum", lambda x: x.cumsum(1), ["mn"], "P -> P", "S(1) -> S(1)"),
    Judged("flip", lambda x: x.flip(0), ["mn"], "S(1) -> S(1)", "S(0) -> S(0)"),
    Judged("roll", lambda x: x.roll(1, 1), ["mn"], "S(0) -> S(0)", "S(1) -> S(1)"),
    Judged("transpose", torch.t, ["mn"], "S(0) -> S(1)", "S(0) -> S(0)"),
    Judged("flatten", torch.flatten, ["mn"], "P -> P", "S(0) -> S(0)"),
    Judged("view", lambda x: x.reshape(-1, 2), [("m", 4)], "P -> P", "S(0) -> S(0)"),
    Judged("cat", lambda x, y: torch.cat([x, y], 1), ["mn", "mn"], "S(0), S(0) -> S(0)",
           "S(1), S(1) -> S(1)"),
    Judged("top_k", _top_two, [("m", 5)], "S(0) -> S(0)", "S(1) -> S(1)"),
    Judged("one_hot", _one_hot, [_indices("m", 0, 3, 1)], "S(0) -> S(0)", "S(0) -> S(1)"),
    Judged("embedding", F.embedding, [_indices("m", 0, 3, 1), (5, "n")], "R, S(1) -> S(1)",
           "R, S(0) -> P"),
    Judged("index_select", lambda x, i: x.index_select(0, i), [("n", 4), _indices("m", 0)],
           "S(1), R -> S(1)", "S(0), R -> P"),
    Judged("mask", _masked, ["mn", _MASK], "P, R -> P", "S(0), R -> S(0)"),
    Judged("attention", _attention, ["btd", "bsd", "bsd"], "S(0), S(0), S(0) -> S(0)",
           "R, S(1), S(1) -> P"),
    Judged("queries", _attention, ["btd", "bsd", "bsd"], "S(1), R, R -> S(1)",
           "S(1), S(1), S(1) -> S(1)"),
    Judged("rotary", _rotary, [("m", 4), _indices("m", 0, 1, 2, 3, 4, 5, 6, 7, 8)],
           "S(0), S(0) -> S(0)", "S(0), R -> S(0)"),
    Judged("local_positions", _local_rotary, [("m", 4)], "P -> P", "S(0) -> S(0)"),
    Judged("loss", _vocabulary_loss, [("m", 5), _indices("m", 0, 3, 1)], "S(0), S(0) -> P",
           "S(1), R -> P"),
    Judged("loss_mean", F.cross_entropy, [("m", 5), _indices("m", 0, 3, 1)], "R, R -> R",
           "S(0), S(0) -> P(avg)"),
    Judged("halo", _halo, [("b", 2, "t"), (3, 2, 3)], "S(0), R -> S(0)", "S(2), R -> S(2)"),
    Judged("channels", F.conv1d, [("b", 2, 4), (3, 2, 3)], "S(0), R -> S(0)", "S(1), S(1) -> S(1)"),
    Judged("swiglu", _swiglu, ["mk", "kn", "kn"], "R, S(1), S(1) -> S(1)", "S(1), S(0), S(0) -> P"),
    Judged("dropout", lambda x: F.dropout(x, 0.5), [("m", 16)], "R -> R", "S(0) -> S(0)"),
)  # fmt: skip
