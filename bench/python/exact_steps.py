"""How long does a training step of exact ranks take, beside plain ranks and processes of gloo?

Prints a table: the form of a transformer's training, the CPU time of a step of all ranks in
``local="exact"``, in plain mode and in processes of gloo, the ratio of the first two, the wall time
in the mode and what is asked of it, the bytes of exact values at the end of a step, and how many
these are for each element of a parameter. Times are in milliseconds, the least of several steps.
The model has 2 layers of dim 64; all ranks together have 64 tokens a step.

``--json`` prints lines of JSON instead.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from time import perf_counter, process_time  # real times, also in ranks, whose own are virtual
from typing import Callable

import lines
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    ParallelStyle,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import simmesh
from simmesh.torch.exact import companions

DIM, HEADS, VOCABULARY, ROWS, LENGTH, STEPS = 64, 4, 256, 8, 8, 15


class Layer(nn.Module):
    """Attention and SwiGLU, each behind a norm and beside a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(DIM), nn.RMSNorm(DIM)
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(DIM, 4 * DIM, bias=False) for _ in range(2))
        self.down = nn.Linear(4 * DIM, DIM, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm1(x)
        q, k, v = (
            each(y).unflatten(-1, (-1, DIM // HEADS)).transpose(1, 2)
            for each in (self.q, self.k, self.v)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Transformer(nn.Module):
    """Embeddings, two layers, a norm and logits."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, DIM), nn.Embedding(LENGTH, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.norm, self.output = nn.RMSNorm(DIM), nn.Linear(DIM, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


def fsdp(model: Transformer) -> nn.Module:
    """Shards each layer and the whole by FSDP2."""
    for layer in model.layers:
        fully_shard(layer)
    return fully_shard(model)


def tensor_parallel(model: Transformer) -> nn.Module:
    """Cuts the vocabulary, heads and feed-forward layers, and the sequence between them."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    outer: dict[str, ParallelStyle] = {
        "tokens": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "positions": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(0)),
        "norm": SequenceParallel(),
        "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
    }
    parallelize_module(model, mesh, outer)
    rows = RowwiseParallel(output_layouts=Shard(1))
    for layer in model.layers:
        inner: dict[str, ParallelStyle] = {
            "norm1": SequenceParallel(), "norm2": SequenceParallel(), "o": rows, "down": rows,
        }  # fmt: skip
        for name in ("q", "k", "v", "gate", "up"):
            inner[name] = ColwiseParallel(input_layouts=Shard(1))
        parallelize_module(layer, mesh, inner)
    return model


@dataclass
class Form:
    """A form of the training, and the wall time in seconds that is asked of its steps."""

    ranks: int
    wrap: Callable[[Transformer], nn.Module]
    asked: float | None
    cuts_rows: bool = True


FORMS = {
    "one device": Form(1, lambda model: model, None),
    "DDP": Form(4, DistributedDataParallel, None),
    "FSDP2": Form(4, fsdp, 0.5),
    "TP": Form(4, tensor_parallel, 0.5, cuts_rows=False),
}


@dataclass
class Took:
    """Milliseconds of a step of all ranks and the bytes behind it."""

    cpu: float
    wall: float
    nbytes: int = 0
    elements: int = 0  # of parameters


def train(form: Form, is_process: bool = False) -> Took:
    """The least times of several steps, between barriers of all ranks."""
    torch.manual_seed(0)
    model = form.wrap(Transformer())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    tokens = torch.randint(VOCABULARY, (ROWS, LENGTH + 1))
    if form.cuts_rows:
        tokens = tokens.chunk(form.ranks)[dist.get_rank()]
    least = Took(float("inf"), float("inf"))
    for _ in range(STEPS):
        dist.barrier()
        cpu, wall = process_time(), perf_counter()
        logits = model(tokens[:, :-1]).flatten(0, 1)
        loss = functional.cross_entropy(logits, tokens[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        dist.barrier()
        took = torch.tensor([process_time() - cpu], dtype=torch.float64)
        if is_process:
            dist.all_reduce(took)
        least.cpu = min(least.cpu, 1e3 * took.item())
        least.wall = min(least.wall, 1e3 * (perf_counter() - wall))
    least.nbytes = companions.nbytes()
    parameters = model.parameters()
    least.elements = sum(
        (each.to_local() if isinstance(each, DTensor) else each).numel() for each in parameters
    )
    return least


def of_ranks(form: Form, local: str) -> Took:
    """The times of a step of ranks of simmesh."""
    ran = simmesh.spmd_run(lambda: train(form), world_size=form.ranks, local=local)
    assert ran.outcome.ok, ran.outcome.report
    took: Took = ran.results[0]
    took.elements = sum(each.elements for each in ran.results)
    return took


def of_processes(name: str) -> Took:
    """The times of a step of processes of gloo."""
    with tempfile.NamedTemporaryFile() as store:
        processes = [
            subprocess.Popen(
                [sys.executable, __file__, name, str(rank), store.name + ".store"],
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1"},
            )
            for rank in range(FORMS[name].ranks)
        ]  # fmt: skip
        printed = [process.communicate()[0] for process in processes]
    cpu, wall = printed[0].split()
    return Took(float(cpu), float(wall))


def be_process(name: str, rank: int, store: str) -> None:
    """Runs one of the gloo processes."""
    form = FORMS[name]
    dist.init_process_group("gloo", store=dist.FileStore(store, form.ranks), rank=rank,
                            world_size=form.ranks)  # fmt: skip
    took = train(form, is_process=True)
    print(took.cpu, took.wall, flush=True)
    dist.destroy_process_group()


def main() -> None:
    """Prints the table."""
    lines.text(f"{'a step, ms of CPU':18}{'exact':>9}{'plain':>9}{'gloo':>9}{'ratio':>7}"
          f"{'wall, exact':>13}{'gloo':>9}{'asked':>8}{'bytes':>12}{'an element':>12}")  # fmt: skip
    for name, form in FORMS.items():
        exact, plain, gloo = of_ranks(form, "exact"), of_ranks(form, "plain"), of_processes(name)
        asked = "" if form.asked is None else f"{1e3 * form.asked:.0f}"
        for word, value in (("exact", exact.cpu), ("plain", plain.cpu), ("gloo", gloo.cpu),
                            ("wall", exact.wall)):  # fmt: skip
            lines.value(f"{name} {word}", value)
        lines.text(f"{name:18}{exact.cpu:9.1f}{plain.cpu:9.1f}{gloo.cpu:9.1f}"
              f"{exact.cpu / plain.cpu:7.1f}{exact.wall:13.1f}{gloo.wall:9.1f}{asked:>8}"
              f"{exact.nbytes:12}{exact.nbytes / exact.elements:12.1f}")  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    if len(sys.argv) == 4:
        be_process(sys.argv[1], int(sys.argv[2]), sys.argv[3])
    else:
        main()
