"""A small transformer, and the ways to train it that must have the bits of one device."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_module
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils.checkpoint import checkpoint

VOCABULARY, WIDTH, HEADS, ROWS, LENGTH = 24, 16, 4, 8, 8

#: The losses, norms, gradients and parameters of a training, by name.
Record = dict[str, torch.Tensor]


class RootMeanSquare(nn.Module):
    """RMSNorm out of operators."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(WIDTH) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Attention(nn.Module):
    """Causal attention, whose number of heads follows from the width of the projections."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.o = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (
            each(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2)
            for each in (self.q, self.k, self.v)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(WIDTH, 2 * WIDTH, bias=False)
        self.down = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """Attention and a feed-forward layer, each behind a norm and beside a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.attention = RootMeanSquare(), Attention()
        self.norm2, self.feed = nn.LayerNorm(WIDTH), FeedForward()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class Transformer(nn.Module):
    """Embeddings, blocks, a norm and logits."""

    def __init__(self, layers: int = 2, checkpoints: bool = False) -> None:
        super().__init__()
        self.checkpoints = checkpoints
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(layers))
        self.norm, self.output = RootMeanSquare(), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpoints else block(x)
        return self.output(self.norm(x))


@dataclass
class Recipe:
    """The steps of a training. ``wrap`` gets the model and returns what is trained."""

    wrap: Callable[[nn.Module], nn.Module] = lambda model: model
    micro: int = 1
    steps: int = 2
    data_ranks: int = 1
    data_rank: Callable[[], int] = lambda: 0
    optimizer: Callable[..., torch.optim.Optimizer] = lambda p: torch.optim.AdamW(p, lr=1e-2)
    layers: int = 2
    checkpoints: bool = False
    syncs_each: bool = True
    loss_scope: Callable[[], Any] = contextlib.nullcontext
    autocast: bool = False
    seed: int = 0


def train(recipe: Recipe) -> Record:
    """Trains the model on the same data however it is split, and records what must be equal."""
    torch.manual_seed(recipe.seed)
    model = Transformer(recipe.layers, recipe.checkpoints)
    data = torch.randint(0, VOCABULARY, (recipe.steps, ROWS, LENGTH + 1))
    wrapped = recipe.wrap(model)
    optimizer = recipe.optimizer(wrapped.parameters())
    record: Record = {}
    for step in range(recipe.steps):
        rows = data[step].chunk(recipe.data_ranks)[recipe.data_rank()]
        loss = torch.zeros(())
        for index, part in enumerate(rows.chunk(recipe.micro)):
            last = index == recipe.micro - 1
            loss = loss + _backward(wrapped, part, recipe, recipe.syncs_each or last)
        if recipe.data_ranks == 1:
            record[f"{step} loss"] = loss
        norm = nn.utils.clip_grad_norm_(wrapped.parameters(), 1.0)
        record[f"{step} norm"] = _full(norm)
        record |= _named(wrapped, f"{step} gradient", lambda parameter: parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
    return record | _named(wrapped, "parameter", lambda parameter: parameter.detach())


def _backward(wrapped: nn.Module, rows: torch.Tensor, recipe: Recipe, syncs: bool) -> torch.Tensor:
    no_sync = isinstance(wrapped, DistributedDataParallel) and not syncs
    if hasattr(wrapped, "set_requires_gradient_sync"):
        wrapped.set_requires_gradient_sync(syncs)
    with wrapped.no_sync() if no_sync else contextlib.nullcontext(), recipe.loss_scope():
        with torch.autocast("cpu", torch.bfloat16, enabled=recipe.autocast):
            logits = wrapped(rows[:, :-1])
        loss = functional.cross_entropy(logits.flatten(0, 1).float(), rows[:, 1:].flatten())
        loss = loss / recipe.micro
        loss.backward()
    return _full(loss.detach())


def _full(tensor: Any) -> torch.Tensor:
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).clone()


def _named(
    model: nn.Module, kind: str, of: Callable[[nn.Parameter], torch.Tensor | None]
) -> Record:
    found = {name: of(parameter) for name, parameter in model.named_parameters()}
    return {
        f"{kind} {name.replace('module.', '')}": _full(each)
        for name, each in found.items()
        if each is not None
    }


def data_parallel(ranks: int, **options: Any) -> Recipe:
    """DDP; buckets of one gradient each."""

    def wrap(model: nn.Module) -> nn.Module:
        return DistributedDataParallel(model, bucket_cap_mb=1e-5)

    return Recipe(wrap, data_ranks=ranks, data_rank=dist.get_rank, **options)


def shard(model: nn.Module, mesh: DeviceMesh, policy: MixedPrecisionPolicy | None = None,
          reshard: bool = True) -> nn.Module:  # fmt: skip
    """Shards each block and the rest."""
    for module in (*model.blocks, model):
        fully_shard(module, mesh=mesh, mp_policy=policy or MixedPrecisionPolicy(),
                    reshard_after_forward=reshard)  # fmt: skip
    return model


def fully_sharded(ranks: int, policy: MixedPrecisionPolicy | None = None, reshard: bool = True,
                  **options: Any) -> Recipe:  # fmt: skip
    """FSDP2 over all ranks."""
    return Recipe(
        lambda model: shard(model, init_device_mesh("cpu", (ranks,)), policy, reshard),
        data_ranks=ranks, data_rank=dist.get_rank, **options,
    )  # fmt: skip


def hybrid_sharded(policy: MixedPrecisionPolicy | None = None, **options: Any) -> Recipe:
    """FSDP2 that shards over two ranks and replicates over two."""
    names = ("replicate", "shard")
    return Recipe(
        lambda model: shard(model, init_device_mesh("cpu", (2, 2), mesh_dim_names=names), policy),
        data_ranks=4, data_rank=dist.get_rank, **options,
    )  # fmt: skip


def parallelize(model: nn.Module, mesh: DeviceMesh, sequence: bool, loss: bool) -> nn.Module:
    """Splits each layer over the mesh, and with ``sequence`` the activations between layers."""
    whole, split = Replicate(), Shard(1)
    between = split if sequence else whole
    plan: dict[str, Any] = {
        "tokens": RowwiseParallel(input_layouts=whole, output_layouts=between),
        "output": ColwiseParallel(
            input_layouts=between, output_layouts=Shard(-1) if loss else whole,
            use_local_output=not loss,
        ),
    }  # fmt: skip
    norm = SequenceParallel() if sequence else _Whole()
    plan |= {"norm": norm, "positions": _Whole(splits=sequence)}
    parallelize_module(model, mesh, plan)
    for block in model.blocks:
        parts: dict[str, Any] = {
            f"attention.{name}": ColwiseParallel(use_local_output=True) for name in "qkv"
        }
        parts |= {f"feed.{name}": ColwiseParallel() for name in ("gate", "up")}
        parts |= {
            "attention.o": RowwiseParallel(output_layouts=between),
            "feed.down": RowwiseParallel(output_layouts=between),
        }
        parts |= {"norm1": norm, "norm2": norm}
        if sequence:
            parts |= {
                "attention": PrepareModuleInput(input_layouts=(split,),
                                                desired_input_layouts=(whole,)),
                "feed": PrepareModuleInput(input_layouts=(split,), desired_input_layouts=(whole,)),
            }  # fmt: skip
        parallelize_module(block, mesh, parts)
    return model


class _Whole(ParallelStyle):
    """Keeps parameters whole, as DTensors, and splits the rows of the output on request."""

    def __init__(self, splits: bool = False) -> None:
        super().__init__()
        self._splits = splits

    def _apply(self, module: nn.Module, device_mesh: DeviceMesh) -> nn.Module:
        def given(module: nn.Module, inputs: Any, mesh: DeviceMesh) -> Any:
            return DTensor.from_local(inputs[0], mesh, [Replicate()], run_check=False)

        def taken(module: nn.Module, outputs: Any, mesh: DeviceMesh) -> Any:
            placement = Shard(0) if self._splits else Replicate()
            return outputs.redistribute(placements=[placement]).to_local()

        return distribute_module(module, device_mesh, None, given, taken)


def tensor_parallel(ranks: int, sequence: bool = False, loss: bool = False,
                    **options: Any) -> Recipe:  # fmt: skip
    """Tensor parallelism, with activations split between layers and the loss on request."""
    return Recipe(
        lambda model: parallelize(model, init_device_mesh("cpu", (ranks,)), sequence, loss),
        loss_scope=loss_parallel if loss else contextlib.nullcontext, **options,
    )  # fmt: skip


def tensor_and_fully_sharded(loss: bool = False, **options: Any) -> Recipe:
    """Tensor parallelism over two ranks and FSDP2 over two."""

    def wrap(model: nn.Module) -> nn.Module:
        mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
        return shard(parallelize(model, mesh["tp"], True, loss), mesh["dp"])

    return Recipe(
        wrap, data_ranks=2, data_rank=lambda: dist.get_rank() // 2,
        loss_scope=loss_parallel if loss else contextlib.nullcontext, **options,
    )  # fmt: skip
