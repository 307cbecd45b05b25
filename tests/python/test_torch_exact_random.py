"""Random operators with ``local="exact"``: DTensors have one device's numbers, and the report names
the operator where plain tensors have others.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.tensor import (
    DeviceMesh,
    DTensor,
    Partial,
    Placement,
    Replicate,
    Shard,
    _random,
    distribute_tensor,
    rand,
    randn,
)
from torch.distributed.tensor.parallel import SequenceParallel, parallelize_module

import simmesh
from one_device_programs import rows_of, seeded
from simmesh.torch.exact import random_layout

LAYOUTS: list[dict[str, int]] = [{"a": 2}, {"a": 3}, {"a": 2, "b": 2}]


def cut(mesh: DeviceMesh) -> list[Placement]:
    """A tensor cut along its first dim, and over a second mesh dim along its second."""
    return [Shard(0), Shard(1)][: mesh.ndim]


def test_draws_of_dtensors_are_those_of_one_device() -> None:
    """Would fail if a rank drew for its own shape, or if generators ran apart."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(3)
        x = distribute_tensor(torch.full((6, 5), 0.4), mesh, cut(mesh))
        simmesh.note("normal_", x.clone().normal_(1, 2))
        simmesh.note("uniform_", x.clone().uniform_(-1, 2))
        simmesh.note("bernoulli_", x.clone().bernoulli_(0.3))
        simmesh.note("bernoulli", torch.bernoulli(x))
        simmesh.note("rand_like", torch.rand_like(x))
        simmesh.note("randn_like", torch.randn_like(x))
        simmesh.note("randint_like", torch.randint_like(x, 100))
        simmesh.note("dropout", F.dropout(x, 0.5))
        simmesh.note("native_dropout", torch.native_dropout(x, 0.5, True)[0])
        simmesh.note("rand", rand(7, 3, device_mesh=mesh, placements=cut(mesh)))
        simmesh.note("randn", randn(7, 3, device_mesh=mesh, placements=cut(mesh)))
        own = torch.Generator().manual_seed(9)
        simmesh.note("of a generator", x.clone().normal_(generator=own))
        weight = nn.Parameter(distribute_tensor(torch.zeros(8, 4), mesh, cut(mesh)))
        nn.init.kaiming_uniform_(weight)
        simmesh.note("weight", weight)
        simmesh.note("next", torch.randn(3), whole=True)

    comparison = simmesh.same_as_one_device(program, layouts=LAYOUTS)
    assert comparison.equal
    assert all(each.compared >= 14 and not each.skipped for each in comparison.verdicts)


def test_draws_of_dtensors_are_those_of_plain_tensors() -> None:
    """Would fail if one device drew other numbers for a plain tensor than for a DTensor."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(3)
        x: Any = torch.zeros(6, 5)
        if mesh.size() > 1:
            x = distribute_tensor(x, mesh, [Replicate(), Shard(0)])
        simmesh.note("normal_", x.normal_())
        simmesh.note("dropout", F.dropout(x, 0.5))

    assert simmesh.same_as_one_device(program, layouts=[{"a": 2, "b": 3}]).equal


def test_dropout_of_sequence_parallelism_is_one_devices() -> None:
    """Would fail if the pieces of a sequence had the same mask, or their gradients another."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model: nn.Module = nn.Sequential(nn.LayerNorm(8), nn.Dropout(0.5))
        styles = {"0": SequenceParallel(), "1": SequenceParallel(use_local_output=True)}
        parallelize_module(model, mesh, styles)
        x = seeded(2, 6, 8).chunk(mesh.size(), 1)[mesh.get_local_rank()].requires_grad_()
        y = model(x)
        (y * y).sum().backward()
        simmesh.note("gradient", x.grad)
        return y

    assert simmesh.same_as_one_device(program, layouts=[{"tp": 2}, {"tp": 3}]).equal


class Noise(nn.Module):
    """Noise by an operator on a plain tensor."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.linear, self.name = nn.Linear(8, 8), name

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        draws = {
            "bernoulli_": lambda: torch.empty_like(x).bernoulli_(0.5),
            "normal_": lambda: torch.empty_like(x).normal_(),
            "rand_like": lambda: torch.rand_like(x),
            "randn": lambda: torch.randn(x.shape),
            "randint": lambda: torch.randint(5, x.shape),
            "randperm": lambda: torch.randperm(x.numel()).view(x.shape),
            "dropout": lambda: F.dropout(x, 0.5),
        }
        return self.linear(x) + draws[self.name]()


@pytest.mark.parametrize("micro", [1, 2])
@pytest.mark.parametrize(
    "name", ["bernoulli_", "normal_", "rand_like", "randn", "randint", "randperm", "dropout"]
)
def test_the_operator_of_plain_tensors_is_named(name: str, micro: int) -> None:
    """Would fail if random numbers of plain tensors counted as a fault, or weren't named."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = Noise(name)
        mine = seeded(8, 8).chunk(mesh.size())[mesh.get_local_rank()]
        for part in mine.chunk(micro):
            model(part).square().sum().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        return model(mine).sum()

    with pytest.warns(simmesh.LimitOfExactArithmetic, match="random numbers") as warned:
        simmesh.same_as_one_device(program, ranks=2)
    operator = "bernoulli_" if name == "dropout" else name
    assert operator in str(warned[0].message)
    assert "test_torch_exact_random.py:" in str(warned[0].message)


def test_a_recording_has_the_operator(tmp_path: Any) -> None:
    """Would fail if a file lost what drew a module's numbers: then dropout would be a fault."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5))(rows_of(mesh, "dp", seeded(8, 8)))

    simmesh.record_one_device(program, tmp_path / "one.pt")
    with pytest.warns(simmesh.LimitOfExactArithmetic, match="random numbers.*: bernoulli_.float, "):
        simmesh.same_as_one_device(program, ranks=2, recorded=tmp_path / "one.pt")


def test_random_numbers_before_the_model_excuse_nothing() -> None:
    """Would fail if rows or parameters that a program draws excused a fault of the model."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        model = nn.Linear(8, 8)
        x = torch.randn(4, 8)
        if mesh.get_local_rank() == 1:
            x = x * 1.5
        return model(x)

    with pytest.raises(simmesh.DiffersFromOneDevice, match="output of Linear"):
        simmesh.same_as_one_device(program, ranks=2)


def test_parts_of_sums_are_left_to_pytorch() -> None:
    """Would fail if a rank wrote one device's numbers into its part of a sum."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        x = rand(4, 2, device_mesh=mesh, placements=[Partial()])
        assert torch.equal(x.to_local(), torch.manual_seed(0) and torch.rand(4, 2))

    simmesh.spmd(world_size=2, local="exact")(lambda: program(dist.init_device_mesh("cpu", (2,))))()


def test_nothing_stays_behind() -> None:
    """Would fail if DTensor asked for one device's numbers outside of exact ranks."""
    before = _random._rng_tracker
    simmesh.spmd(world_size=2, local="exact")(lambda: None)()
    assert _random._rng_tracker is before


def test_a_declared_layout_draws_the_numbers_of_one_device() -> None:
    """Would fail if a plain part of a tensor drew for its own shape where its layout is known."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(3)
        whole = distribute_tensor(torch.full((6, 4), 0.4), mesh, cut(mesh))
        placements = [Shard(0), Shard(-1)][: mesh.ndim]

        def noted(name: str, local: torch.Tensor) -> None:
            simmesh.note(name, DTensor.from_local(local, mesh, cut(mesh)))

        part = whole.to_local()
        with random_layout(mesh, placements):
            noted("dropout", F.dropout(part, 0.5))
            noted("native_dropout", torch.native_dropout(part, 0.5, True)[0])
            noted("rand_like", torch.rand_like(part))
            noted("normal_", part.clone().normal_())
            noted("randn", torch.randn(part.shape))
            noted("randint", torch.randint(3, 100, part.shape).float())
        simmesh.note("next", torch.randn(3), whole=True)

    comparison = simmesh.same_as_one_device(program, layouts=LAYOUTS)
    assert comparison.equal
    assert all(each.compared >= 7 and not each.skipped for each in comparison.verdicts)


def test_a_declared_layout_of_uneven_parts() -> None:
    """Would fail if the parts of 7 rows on 3 ranks, or of no rows, weren't one device's."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(3)
        whole = distribute_tensor(torch.ones(7, 2), mesh, [Shard(0)])
        with random_layout(mesh, [Shard(0)], shape=(7, 2)):
            part = F.dropout(whole.to_local(), 0.5)
        made = DTensor.from_local(part, mesh, [Shard(0)], shape=whole.shape, stride=whole.stride())
        simmesh.note("dropout", made)

    assert simmesh.same_as_one_device(program, layouts=[{"a": 3}, {"a": 5}]).equal


def test_a_layout_that_a_tensor_cannot_have_is_refused() -> None:
    """Would fail if another part than the rank's own, or a sum, were drawn in silence."""

    def refused(*arguments: Any, **options: Any) -> str:
        mesh = dist.init_device_mesh("cpu", (2,))
        with pytest.raises(ValueError) as raised, random_layout(mesh, *arguments, **options):
            torch.rand(3, 2)
        return str(raised.value)

    def program() -> list[str]:
        return [
            refused([Shard(0)], shape=(7, 2)), refused([Partial()]), refused([Shard(2)]),
            refused([Shard(0), Shard(1)]),
        ]  # fmt: skip

    texts = simmesh.spmd_run(program, world_size=2, local="exact").results[0]
    expected = [
        "expected a part of [4, 2] of the whole tensor [7, 2] on rank 0, got [3, 2]",
        "expected Replicate or Shard, got P(sum)",
        "expected a dim of [3, 2], got S(2)",
        "expected a placement for each of 1 mesh dims, got 2",
    ]
    assert all(text in found for text, found in zip(expected, texts)), texts


def test_a_declared_layout_changes_nothing_in_plain_ranks() -> None:
    """Would fail if plain ranks drew other numbers than torch."""

    def program() -> bool:
        mesh = dist.init_device_mesh("cpu", (2,))
        torch.manual_seed(0)
        with random_layout(mesh, [Shard(0)]):
            drawn = torch.rand(3)
        torch.manual_seed(0)
        return torch.equal(drawn, torch.rand(3))

    assert simmesh.spmd_run(program, world_size=2).results == [True, True]
