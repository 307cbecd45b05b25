"""The layers of the swarm's programs. A program has the source of those that it uses."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import DeviceMesh
from torch.utils.checkpoint import checkpoint

WIDTH, HEADS, LENGTH, CLASSES, EXPERTS = 8, 4, 4, 12, 4


class Model(nn.Module):
    """Layers between an embedding and a head; the last activations may be a mean over places."""

    def __init__(
        self, embed: nn.Module, layers: list[nn.Module], norm: nn.Module, head: nn.Module,
        tied: bool = False, pooled: bool = False, checkpoints: str = "",
    ) -> None:  # fmt: skip
        super().__init__()
        self.embed, self.layers = embed, nn.ModuleList(layers)
        self.norm, self.head = norm, head
        self.pooled, self.checkpoints = pooled, checkpoints
        if tied:
            self.head.weight = self.embed.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for layer in self.layers:
            if self.checkpoints:
                x = checkpoint(layer, x, use_reentrant=self.checkpoints == "reentrant")
            else:
                x = layer(x)
        x = self.norm(x)
        return self.head(x.flatten(2).mean(-1) if self.pooled else x)


class Residual(nn.Module):
    """A layer behind a norm and beside a residual."""

    def __init__(self, norm: nn.Module, body: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm, self.body, self.dropout = norm, body, nn.Dropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.dropout(self.body(self.norm(x)))


class Attention(nn.Module):
    """Attention; several heads may share their keys and values."""

    def __init__(self, kv_heads: int = HEADS, causal: bool = True, bias: bool = False) -> None:
        super().__init__()
        each = WIDTH // HEADS
        self.q = nn.Linear(WIDTH, WIDTH, bias=bias)
        self.k, self.v = (nn.Linear(WIDTH, kv_heads * each, bias=bias) for _ in range(2))
        self.out = nn.Linear(WIDTH, WIDTH, bias=bias)
        self.causal, self.shares = causal, kv_heads < HEADS

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            each(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)
            for each in (self.q, self.k, self.v)
        )
        mixed = F.scaled_dot_product_attention(
            q, k, v, is_causal=self.causal, enable_gqa=self.shares
        )
        return self.out(mixed.transpose(1, 2).flatten(2))


class Softmax(Attention):
    """Attention out of operators."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            each(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)
            for each in (self.q, self.k, self.v)
        )
        groups = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        scores = q @ k.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5
        if self.causal:
            later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


class Gated(nn.Module):
    """SwiGLU, or GeGLU."""

    def __init__(self, activation: Any = F.silu, bias: bool = False) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, 2 * WIDTH, bias=bias)
        self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=bias)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=bias)
        self.activation = activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.activation(self.gate(x)) * self.up(x))


class Mlp(nn.Module):
    """Two linear layers."""

    def __init__(self, activation: Any = F.gelu, bias: bool = True) -> None:
        super().__init__()
        self.up = nn.Linear(WIDTH, 2 * WIDTH, bias=bias)
        self.down = nn.Linear(2 * WIDTH, WIDTH, bias=bias)
        self.activation = activation

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(self.activation(self.up(x)))


class Twice(nn.Module):
    """A layer that is called twice."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.tanh(self.linear(x)))


class Convolution(nn.Module):
    """A convolution over the places of a sequence."""

    def __init__(self, groups: int = 1, kernel: int = 3) -> None:
        super().__init__()
        self.conv = nn.Conv1d(WIDTH, WIDTH, kernel, padding=kernel // 2, groups=groups)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.silu(self.conv(x.transpose(1, 2))).transpose(1, 2)


class Pixels(nn.Module):
    """A convolution over pixels."""

    def __init__(self, groups: int = 1, dilation: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(WIDTH, WIDTH, 3, padding=dilation, dilation=dilation, groups=groups)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.gelu(self.conv(x))


class Scale(nn.Module):
    """RMSNorm out of operators."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(WIDTH) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.weight


class Experts(nn.Module):
    """A router that sends each token to some experts, all of them here."""

    def __init__(self, chosen: int = 2, normalized: bool = True) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.experts = nn.ModuleList(Mlp(F.silu, bias=False) for _ in range(EXPERTS))
        self.chosen, self.normalized = chosen, normalized

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape, x = x.shape, x.reshape(-1, WIDTH)
        weights, chosen = torch.softmax(self.router(x), -1).topk(self.chosen)
        if self.normalized:
            weights = weights / weights.sum(-1, keepdim=True)
        result = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, place = (chosen == number).nonzero(as_tuple=True)
            mixed = expert(x[rows]) * weights[rows, place, None]
            result = result.index_add(0, rows, mixed.to(result.dtype))
        return result.view(shape)


class Exchange(torch.autograd.Function):
    """Rows sent to other ranks; gradients go back."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, sent: Any, received: Any, group: Any) -> torch.Tensor:
        ctx.splits = (sent, received, group)
        y = x.new_empty(sum(received), *x.shape[1:])
        dist.all_to_all_single(y, x.contiguous(), received, sent, group=group)
        return y

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        sent, received, group = ctx.splits
        x = gradient.new_empty(sum(sent), *gradient.shape[1:])
        dist.all_to_all_single(x, gradient.contiguous(), sent, received, group=group)
        return x, None, None, None


class SentExperts(nn.Module):
    """A router that sends tokens to the ranks of their experts."""

    def __init__(self, mesh: DeviceMesh, chosen: int = 2) -> None:
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        every = [Mlp(F.silu, bias=False) for _ in range(EXPERTS)]
        each = EXPERTS // mesh.size()
        self.first, self.each = mesh.get_local_rank() * each, each
        self.owned = nn.ModuleDict(
            {str(index): every[index] for index in range(self.first, self.first + each)}
        )
        self.chosen, self.ranks, self.group = chosen, mesh.size(), mesh.get_group()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape, x = x.shape, x.reshape(-1, WIDTH)
        weights, chosen = torch.softmax(self.router(x), -1).topk(self.chosen)
        order = torch.argsort(chosen.flatten(), stable=True)
        counts = torch.bincount(chosen.flatten(), minlength=EXPERTS)
        theirs = torch.empty_like(counts)
        dist.all_to_all_single(theirs, counts, group=self.group)
        sent = counts.view(self.ranks, -1).sum(1).tolist()
        received = theirs.view(self.ranks, -1).sum(1).tolist()
        rows = Exchange.apply(x[order // self.chosen], sent, received, self.group)
        owners = torch.arange(self.each).repeat(self.ranks).repeat_interleave(theirs)
        result = torch.zeros_like(rows)
        for index in range(self.each):
            at = (owners == index).nonzero()[:, 0]
            mixed = self.owned[str(self.first + index)](rows[at])
            result = result.index_copy(0, at, mixed.to(result.dtype))
        back = Exchange.apply(result, received, sent, self.group)
        weighted = back * weights.flatten()[order, None].to(back.dtype)
        return torch.zeros_like(x).index_add(0, order // self.chosen, weighted).view(shape)
