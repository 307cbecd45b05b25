"""Models that are cut in other ways than transformers: recommenders, networks of images, Muon."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import simmesh
from exact_programs import Transformer

ROWS, TABLES, ENTRIES, WIDTH = 8, 4, 12, 8
Program = Callable[[DeviceMesh], Any]


def seeded(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


#: The entries that each row looks up: bags of 3 in each table.
LOOKED_UP = torch.randint(0, ENTRIES, (ROWS, TABLES, 3), generator=torch.Generator().manual_seed(2))
DENSE, CLICKED = seeded(ROWS, 5), (seeded(ROWS, seed=3) > 0).float()


def mine(mesh: DeviceMesh, data: torch.Tensor) -> torch.Tensor:
    return data[simmesh.rows_of(mesh.get_local_rank(), mesh.size(), len(data))]


class ToTables(torch.autograd.Function):
    """Sends pieces of dim 0, one for each rank, and gets one from each; gradients go back."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, mesh: DeviceMesh) -> torch.Tensor:
        ctx.mesh = mesh
        return exchanged(x, mesh)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        return exchanged(gradient, ctx.mesh), None


def exchanged(x: torch.Tensor, mesh: DeviceMesh) -> torch.Tensor:
    x = x.contiguous()
    found = torch.empty_like(x)
    dist.all_to_all_single(found, x, group=mesh.get_group())
    return found


class TableWise(nn.Module):
    """Each rank has some tables whole: it looks up the entries of all ranks' rows, and sends each
    rank the results of its rows.
    """

    def __init__(self, mesh: DeviceMesh, mode: str) -> None:
        super().__init__()
        self.mesh = mesh
        made = [nn.EmbeddingBag(ENTRIES, WIDTH, mode=mode) for _ in range(TABLES)]
        count = TABLES // mesh.size()
        begin = mesh.get_local_rank() * count
        self.tables = nn.ModuleList(made[begin : begin + count])

    def forward(self, entries: torch.Tensor) -> torch.Tensor:
        ranks, rows = self.mesh.size(), len(entries)
        by_rank = entries.unflatten(1, (ranks, -1)).transpose(0, 1)
        asked = exchanged(by_rank, self.mesh).flatten(0, 1)
        results = [table(asked[:, at]) for at, table in enumerate(self.tables)]
        found = ToTables.apply(torch.stack(results, 1), self.mesh)
        return found.unflatten(0, (ranks, rows)).transpose(0, 1).flatten(1, 2)


class RowWise(nn.Module):
    """Each rank has some rows of every table, and adds up what it has of each bag: results are
    parts of sums, which a reduce-scatter adds up for the rank of the row.
    """

    def __init__(self, mesh: DeviceMesh, mode: str) -> None:
        super().__init__()
        self.mesh, self.mode = mesh, mode
        self.count = ENTRIES // mesh.size()
        self.begin = mesh.get_local_rank() * self.count
        made = [nn.EmbeddingBag(ENTRIES, WIDTH).weight.detach() for _ in range(TABLES)]
        self.weights = nn.ParameterList(
            each[self.begin : self.begin + self.count].clone() for each in made
        )

    def forward(self, entries: torch.Tensor) -> torch.Tensor:
        every = torch.empty(len(entries) * self.mesh.size(), *entries.shape[1:], dtype=torch.int64)
        dist.all_gather_into_tensor(every, entries.contiguous(), group=self.mesh.get_group())
        inside = every - self.begin
        is_here = (inside >= 0) & (inside < self.count)
        inside = torch.where(is_here, inside, 0)
        scale = is_here.float() / (entries.shape[-1] if self.mode == "mean" else 1)
        parts = [
            functional.embedding_bag(
                inside[:, at], weight, mode="sum", per_sample_weights=scale[:, at]
            )
            for at, weight in enumerate(self.weights)
        ]
        return ReduceScatter.apply(torch.stack(parts, 1), self.mesh)


class ReduceScatter(torch.autograd.Function):
    """Adds up the parts of each rank's rows; gradients are gathered."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, mesh: DeviceMesh) -> torch.Tensor:
        ctx.mesh = mesh
        found = x.new_empty(len(x) // mesh.size(), *x.shape[1:])
        dist.reduce_scatter_tensor(found, x.contiguous(), group=mesh.get_group())
        return found

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None]:
        found = gradient.new_empty(len(gradient) * ctx.mesh.size(), *gradient.shape[1:])
        dist.all_gather_into_tensor(found, gradient.contiguous(), group=ctx.mesh.get_group())
        return found, None


class Recommender(nn.Module):
    """DLRM: a layer of dense features, bags of embeddings, products of all pairs, a head."""

    def __init__(self, mesh: DeviceMesh, kind: type[nn.Module], mode: str) -> None:
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, WIDTH))
        self.embeddings = kind(mesh, mode)
        pairs = (TABLES + 1) * TABLES // 2
        self.top = nn.Sequential(nn.Linear(WIDTH + pairs, 16), nn.ReLU(), nn.Linear(16, 1))
        self.dense = nn.ModuleList([self.bottom, self.top])

    def forward(self, dense: torch.Tensor, entries: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        features = torch.cat([x[:, None], self.embeddings(entries)], 1)
        products = features @ features.transpose(1, 2)
        row, column = torch.tril_indices(TABLES + 1, TABLES + 1, -1)
        return self.top(torch.cat([x, products[:, row, column]], 1)).squeeze(1)


def recommending(kind: type[nn.Module], mode: str, fault: str = "") -> Program:
    """Dense layers are replicated, tables are cut, and each rank has its rows of the batch."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = Recommender(mesh, kind, mode)
        optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
        for _ in range(2):
            scores = model(mine(mesh, DENSE), mine(mesh, LOOKED_UP))
            loss = functional.binary_cross_entropy_with_logits(
                scores, mine(mesh, CLICKED), reduction="sum"
            ) / ROWS  # fmt: skip
            loss.backward()
            for parameter in model.dense.parameters():
                dist.all_reduce(parameter.grad, group=mesh.get_group())
            if fault == "tables":
                for parameter in model.embeddings.parameters():
                    parameter.grad /= mesh.size()
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return program


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("kind", [TableWise, RowWise])
def test_cut_embeddings_have_the_bits_of_one_device(kind: type[nn.Module], mode: str) -> None:
    """Would fail if bags that ranks look up for each other, or in parts, were rounded."""
    comparison = simmesh.same_as_one_device(
        recommending(kind, mode), layouts=[{"dp": 2}, {"dp": 4}]
    )
    assert comparison.equal, comparison.text


@pytest.mark.parametrize("kind", [TableWise, RowWise])
def test_gradients_of_tables_that_are_averaged_are_found(kind: type[nn.Module]) -> None:
    """Would fail if tables passed that are averaged over ranks as replicated layers are."""
    with pytest.raises(simmesh.DiffersFromOneDevice, match="1/2 times one device's") as error:
        simmesh.same_as_one_device(recommending(kind, "sum", "tables"), layouts=[{"dp": 2}])
    first = error.value.comparison.verdicts[0].faults[0]
    assert first.key is not None and first.key.name.startswith("embeddings.")


class Images(nn.Module):
    """A network of images with group norm and residuals."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(
                nn.GroupNorm(2, 8), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1, groups=groups),
                nn.GroupNorm(4, 8), nn.SiLU(), nn.Conv2d(8, 8, 1),
            ) for groups in (1, 8)
        )  # fmt: skip
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = functional.max_pool2d(self.stem(x), 2)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x.mean((2, 3)))


def replicated(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    return DistributedDataParallel(model, device_mesh=mesh)


def sharded(model: nn.Module, mesh: DeviceMesh) -> nn.Module:
    for block in [*model.blocks, model]:
        fully_shard(block, mesh=mesh)
    return model


def seeing(wrap: Any, kind: str, data_type: torch.dtype = torch.float32) -> Program:
    """Three steps on images."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = wrap(Images().to(data_type), mesh)
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=0.05)
        for step in range(3):
            images = mine(mesh, seeded(ROWS, 3, 8, 8, seed=step)).to(data_type)
            loss = functional.cross_entropy(model(images), mine(mesh, torch.arange(ROWS) % 5))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return program


@pytest.mark.parametrize("wrap", [replicated, sharded])
@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_network_of_images_has_the_bits_of_one_device(kind: str, wrap: Any) -> None:
    """Would fail if a convolution or the sums of group norm were rounded by place."""
    comparison = simmesh.same_as_one_device(seeing(wrap, kind), layouts=[{"dp": 2}, {"dp": 4}])
    assert comparison.equal, comparison.text


def with_muon(wrap: Any) -> Program:
    """A GPT whose matrices are stepped by Muon, and all else by AdamW."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = Transformer()
        tokens = mine(mesh, torch.randint(0, 24, (ROWS, 9)))
        wrapped = wrap(model, mesh)
        inside = {name: each for name, each in model.named_parameters() if "blocks" in name}
        matrices = [each for each in inside.values() if each.dim() == 2]
        others = [each for each in model.parameters() if all(each is not one for one in matrices)]
        optimizers = [torch.optim.Muon(matrices, lr=0.02), torch.optim.AdamW(others, lr=0.01)]
        for _ in range(2):
            logits = wrapped(tokens[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
        return loss.detach()

    return program


def test_muon_has_the_bits_of_one_device() -> None:
    """Would fail if the products of Muon's iteration depended on the ranks."""
    comparison = simmesh.same_as_one_device(with_muon(replicated), layouts=[{"dp": 2}, {"dp": 4}])
    assert comparison.equal, comparison.text


def test_muon_on_shards_is_a_limit() -> None:
    """Would fail if Muon were called faulty under FSDP2, where DTensor multiplies parts of sums, or
    if a square matrix, whose products are whole, had other bits.
    """
    with pytest.warns(simmesh.LimitOfExactArithmetic, match="multiplies matrices that are cut"):
        comparison = simmesh.same_as_one_device(with_muon(sharded), layouts=[{"dp": 2}])
    first = comparison.verdicts[0].findings[0]
    assert first.key is not None and first.key.name == "blocks.0.feed.gate.weight"
