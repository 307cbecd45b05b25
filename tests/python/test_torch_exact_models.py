"""Other models and parts of PyTorch with ``local="exact"``: the bits of one device under DDP and
FSDP2, and programs with modes, hooks and transforms of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

import simmesh
from simmesh.torch import exact
from simmesh.torch.exact.mode import exact_operators


class Convolutions(nn.Module):
    """A network of images with group norm, pools and a residual."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8)
        self.second = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.up, self.last = nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Linear(4, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.max_pool2d(functional.gelu(self.norm(self.first(x))), 2)
        x = self.up(x + functional.elu(self.second(x)))
        return self.last(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Experts(nn.Module):
    """A router that sends each row to two of four experts, whose results are added up."""

    def __init__(self) -> None:
        super().__init__()
        self.router, self.out = nn.Linear(8, 4), nn.Linear(8, 5)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 8)) for _ in range(4)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = torch.softmax(self.router(x), -1).topk(2)
        weights = weights / weights.sum(-1, keepdim=True)
        result = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows, place = (chosen == number).nonzero(as_tuple=True)
            result = result.index_add(0, rows, expert(x[rows]) * weights[rows, place, None])
        return self.out(x + result)


class Recommender(nn.Module):
    """Bags of embeddings and their products with each other, as DLRM has them."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(10, 8, mode=m) for m in ("sum", "mean"))
        self.dense, self.top = nn.Linear(8, 8), nn.Linear(11, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        index = (x.abs() * 100).long() % 10
        found = torch.stack([self.dense(x).tanh(), *(table(index) for table in self.tables)], 1)
        products = torch.bmm(found, found.transpose(1, 2))
        row, column = torch.tril_indices(3, 3, -1)
        below = products[:, row, column]
        return self.top(torch.cat([found[:, 0], below], 1))


class Recurrent(nn.Module):
    """An LSTM over the features of a row."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.LSTMCell(1, 6), nn.Linear(6, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state: Any = None
        for column in x.unbind(1):
            state = self.cell(column[:, None], state)
        return self.out(state[0])


class Biggest(nn.Module):
    """RMSNorm and multi-head attention of torch, with dropout off."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu",
                                                batch_first=True)  # fmt: skip
        self.out = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.layer(self.norm(x.unsqueeze(1) * torch.ones(3, 1))).mean(1))


def rows(*shape: int) -> torch.Tensor:
    return torch.randn(8, *shape)


MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "convolutions": (Convolutions, (3, 6, 6)),
    "experts": (Experts, (8,)),
    "recommender": (Recommender, (8,)),
    "recurrent": (Recurrent, (4,)),
    "encoder": (Biggest, (8,)),
}


def train(make: Callable[[], nn.Module], shape: tuple[int, ...], wrap: str = "",
          optimizer: str = "AdamW", scaled: bool = False) -> list[torch.Tensor]:  # fmt: skip
    """Losses are summed over all rows and divided by their number, on one device and on ranks."""
    torch.manual_seed(0)
    model: nn.Module = make()
    x, target = rows(*shape), torch.randint(0, 5, (8,))
    ranks = dist.get_world_size()
    if wrap == "DDP":
        model = DistributedDataParallel(model)
    elif wrap == "FSDP2":
        model = fully_shard(model, mesh=init_device_mesh("cpu", (ranks,)))
    kind = getattr(torch.optim, optimizer)
    stepper = kind(list(model.parameters()), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10, enabled=scaled)
    found = []
    for _ in range(2):
        mine = slice(dist.get_rank(), None, ranks)
        loss = functional.cross_entropy(model(x[mine]), target[mine])
        scaler.scale(loss).backward()
        scaler.unscale_(stepper)
        found.append(nn.utils.clip_grad_norm_(model.parameters(), 1.0))
        found += [each.grad for each in model.parameters()]
        scaler.step(stepper)
        scaler.update()
        found = [full(each) for each in found]
        stepper.zero_grad()
    return found + [full(each.detach()) for each in model.parameters()]


def full(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).clone()


def agree(program: Callable[..., list[torch.Tensor]], *arguments: Any, **options: Any) -> None:
    """Compares one device with DDP and FSDP2 on two ranks."""
    reference = exact.one_device(lambda: program(*arguments, **options))
    for wrap in ("DDP", "FSDP2"):
        ran = simmesh.spmd_run(
            lambda wrap=wrap: program(*arguments, wrap=wrap, **options), world_size=2, local="exact"
        )
        if ran.outcome.exception is not None:
            raise ran.outcome.exception
        for found in ran.results:
            assert [torch.equal(*each) for each in zip(found, reference)] == [True] * len(reference)


@pytest.mark.parametrize("name", MODELS)
def test_model_has_the_bits_of_one_device(name: str) -> None:
    """Would fail if an operator of the model had bits that depend on how rows are split."""
    agree(train, *MODELS[name])


@pytest.mark.parametrize("optimizer", ["Adafactor", "Muon", "Adamax", "RAdam", "ASGD", "Rprop"])
def test_optimizer_has_the_bits_of_one_device(optimizer: str) -> None:
    """Would fail if the products and norms of a step were rounded by place."""

    def matrices() -> nn.Module:
        return nn.Sequential(nn.Linear(8, 16, bias=False), nn.Tanh(), nn.Linear(16, 5, bias=False))

    if not hasattr(torch.optim, optimizer):
        pytest.skip(f"this torch has no {optimizer}")
    if optimizer in ("Adafactor", "Muon", "Rprop"):  # on shards something else, or nothing
        reference = exact.one_device(lambda: train(matrices, (8,), optimizer=optimizer))
        ran = simmesh.spmd_run(
            lambda: train(matrices, (8,), "DDP", optimizer), world_size=2, local="exact"
        )
        assert ran.outcome.ok, ran.outcome.report
        assert all(map(torch.equal, ran.results[1], reference))
    else:
        agree(train, matrices, (8,), optimizer=optimizer)


def test_scaled_gradients_have_the_bits_of_one_device() -> None:
    """Would fail if a power of two as the scale of a loss changed bits."""
    agree(train, *MODELS["experts"], scaled=True)


def test_float16_has_the_bits_of_one_device() -> None:
    """Would fail if the parts of a sum of float16 were rounded to it."""

    def half() -> nn.Module:
        return nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 5))

    def program(wrap: str = "") -> list[torch.Tensor]:
        torch.manual_seed(0)
        model, x = half().half(), rows(8).half()
        ranks = dist.get_world_size()
        part = x[dist.get_rank() :: ranks]
        (model(part).square().sum() / 8).backward()
        gradients = [each.grad for each in model.parameters()]
        for each in gradients:
            dist.all_reduce(each)
        return gradients

    agree(program)


class Counting(TorchDispatchMode):
    """A mode of the program's own."""

    def __init__(self) -> None:
        super().__init__()
        self.operators: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operators.append(str(func))
        return func(*args, **(kwargs or {}))


def test_modes_of_a_program_see_its_operators() -> None:
    """Would fail if a mode on top saw other operators, or switched the exact ones off."""
    x = torch.randn(5)
    with exact_operators():
        with Counting() as mode:
            thirds = x / 3
        assert torch.equal(thirds * 3, x)
    assert mode.operators == ["aten.div.Tensor"]


def test_hooks_see_gradients_and_may_change_them() -> None:
    """Would fail if what a hook returns lost its values, or kept those of another tensor."""
    with exact_operators():
        x = torch.ones(4, requires_grad=True)
        y = x * 1.0
        y.register_hook(lambda gradient: gradient / 3)
        (y * 3).sum().backward()
        assert torch.equal(x.grad, torch.ones(4))


def test_transforms_compute_exactly() -> None:
    """Would fail if vmap, grad or a second derivative went past the mode."""
    with exact_operators():
        x = torch.randn(6)
        sums = torch.func.vmap(lambda row: row.sum() / 7)(x.repeat(3, 1))
        assert torch.equal(sums[0] * 7, x.sum())
        slope = torch.func.grad(lambda value: (value**3).sum() / 3)(x)
        assert torch.equal(slope, torch.tensor((x * x).tolist()))
        leaf = x.clone().requires_grad_()
        (first,) = torch.autograd.grad((leaf**3).sum(), leaf, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), leaf)
        assert torch.allclose(second, 6 * x)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_have_the_bits_of_none(reentrant: bool) -> None:
    """Would fail if a forward pass that is computed again rounded otherwise."""

    def gradients(checkpoints: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8)).bfloat16()
        x = (rows(8).bfloat16() / 3).requires_grad_()
        hidden = x * 1.5
        run = checkpoint(model, hidden, use_reentrant=reentrant) if checkpoints else model(hidden)
        run.float().square().sum().backward()
        return [x.grad, *(each.grad for each in model.parameters())]

    with exact_operators():
        assert all(map(torch.equal, gradients(True), gradients(False)))


def test_closures_of_optimizers_are_no_part_of_the_step() -> None:
    """Would fail if the passes that LBFGS runs in its step were rounded like the step."""
    seen = []

    def program() -> None:
        leaf = nn.Parameter(torch.ones(3))
        optimizer = torch.optim.LBFGS([leaf], max_iter=2)

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            thirds = leaf / 3
            seen.append(torch.equal(thirds * 3, leaf))
            loss = (thirds - 2).square().sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        seen.append(torch.equal(leaf.detach() / 3 * 3, leaf.detach()))

    exact.one_device(program)
    assert len(seen) > 2 and all(seen)
