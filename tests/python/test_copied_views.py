"""Operators on cut tensors of PyTorch ranks give what one device gives, or raise on every rank."""

from __future__ import annotations

from typing import Any, Callable

import pytest
import torch
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

import simmesh

LOST = "[torch/copied_views]"

Write = Callable[[Any], Any]


def outcomes(write: Write, shape: tuple[int, ...], dim: int, ranks: int) -> list[str]:
    """Returns for each rank "right", "WRONG", or the error of a write to a tensor cut over dim."""

    def program() -> str:
        whole = torch.arange(float(torch.Size(shape).numel())).reshape(shape) + 1
        cut = distribute_tensor(whole.clone(), init_device_mesh("cpu", (ranks,)), [Shard(dim)])
        write(whole)
        try:
            write(cut)
        except (RuntimeError, NotImplementedError) as error:
            return str(error)
        return "right" if torch.equal(cut.full_tensor(), whole) else "WRONG"

    ran = simmesh.spmd_run(program, world_size=ranks, schedule="seeded:1")
    assert ran.outcome.ok, ran.outcome.report
    return ran.results


WRITES: dict[str, Write] = {
    "slice": lambda w: w[3:6].zero_(),
    "slice with a step": lambda w: w[::2].mul_(2),
    "item": lambda w: w.__setitem__(slice(3, 6), 0.0),
    "select": lambda w: w[2].fill_(3),
    "split": lambda w: w.split(3)[1].mul_(5),
    "chunk": lambda w: w.chunk(3)[1].mul_(5),
    "narrow": lambda w: w.narrow(0, 3, 3).add_(1),
    "diagonal": lambda w: w.diagonal().zero_(),
    "view of a view": lambda w: w[3:6][:, 1:].mul_(2),
    "transposed view": lambda w: w[3:6].t().mul_(2),
    "several": lambda w: torch._foreach_add_([w[3:6], w[0:2]], 1.0),
    "detached": lambda w: w[3:6].detach().mul_(2),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_write_to_a_copied_view_is_an_error_on_every_rank(name: str) -> None:
    """Would fail if the write were lost, as in PyTorch."""
    for rows, ranks in [(8, 2), (7, 2), (8, 3)]:
        for text in outcomes(WRITES[name], (rows, 4), 0, ranks):
            assert text.startswith(LOST)
            assert "made at test_copied_views.py:" in text
            assert "of a tensor with placements (Shard(dim=0),)" in text


SHARED: dict[str, Write] = {
    "columns": lambda w: w[:, 1:3].mul_(2),
    "rows split": lambda w: w.view(4, 2, 4).mul_(2),
    "transposed": lambda w: w.t().mul_(2),
    "one more dim": lambda w: w.unsqueeze(0).mul_(2),
    "all": lambda w: w.mul_(2),
}


@pytest.mark.parametrize("name", SHARED)
def test_a_write_to_a_view_that_shares_reaches_the_tensor(name: str) -> None:
    """Would fail if views of pieces were taken for copies."""
    assert outcomes(SHARED[name], (8, 4), 0, 2) == ["right"] * 2


def test_clones_and_other_tensors_may_be_written() -> None:
    """Would fail if a copied view kept other tensors from being changed."""

    def program() -> list[float]:
        mesh = init_device_mesh("cpu", (2,))
        weight: Any = distribute_tensor(torch.ones(8, 2), mesh, [Shard(0)])
        copy = weight[3:6]
        clone = copy.clone().mul_(3)
        other = distribute_tensor(torch.ones(4, requires_grad=True), mesh, [Shard(0)])
        with torch.no_grad():
            other.add_(1)
        (other * other).sum().backward()
        weight.mul_(2)
        del copy
        weight.mul_(2)
        grad: Any = other.grad
        return [t.full_tensor().sum().item() for t in (clone, weight, other.detach(), grad)]

    ran = simmesh.spmd_run(program, world_size=2)
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == [[18, 64, 8, 16]] * 2


SELECTIONS: dict[str, Callable[[Any, Callable[[torch.Tensor], Any]], Any]] = {
    "rows by a mask": lambda x, d: x[d(torch.arange(len(x)) % 2 == 1)],
    "elements by a mask": lambda x, d: x[d(mask_of(x))],
    "masked_select": lambda x, d: torch.masked_select(x, d(mask_of(x))),
    "masked_fill": lambda x, d: x.masked_fill(d(mask_of(x)), 0.0),
    "masked_scatter": lambda x, d: x.masked_scatter(d(mask_of(x)), d(torch.arange(64.0))),
    "where": lambda x, d: torch.where(d(mask_of(x)), x, 0.0),
    "nonzero": lambda x, d: torch.nonzero(x),
    "argwhere": lambda x, d: torch.argwhere(x),
    "count_nonzero": lambda x, d: torch.count_nonzero(x),
    "index_put by a mask": lambda x, d: put(x, (d(mask_of(x)),), d(torch.tensor(5.0))),
    "index_put of rows": lambda x, d: put(x, (d(torch.tensor([1, 0])),), d(torch.tensor(5.0))),
    "view": lambda x, d: x.view(-1),
    "reshape": lambda x, d: x.reshape(-1),
    "flatten": lambda x, d: x.unsqueeze(0).flatten(0, 1),
    "unflatten": lambda x, d: x.unflatten(1, (2, 2)),
    "linear": lambda x, d: F.linear(x.unsqueeze(1), d(torch.arange(12.0).reshape(3, 4))),
    "linear, three dims": lambda x, d: F.linear(
        x.unflatten(1, (2, 2)), d(torch.arange(6.0).reshape(3, 2))
    ),
}


def mask_of(x: Any) -> torch.Tensor:
    return torch.arange(x.numel()).reshape(x.shape) % 3 == 0


def put(x: Any, indices: tuple[Any, ...], value: Any) -> Any:
    return x.clone().index_put_(indices, value)


@pytest.mark.parametrize("name", SELECTIONS)
def test_selections_give_the_value_of_one_device_or_raise(name: str) -> None:
    """Would fail if a selection or a view of uneven pieces gave other elements, or if some ranks
    raised and others went on.
    """

    def program() -> list[str]:
        mesh = init_device_mesh("cpu", (3,))
        found = []
        for rows in (6, 5, 2):
            whole = torch.arange(rows * 4.0).reshape(rows, 4) % 5
            expected = SELECTIONS[name](whole, lambda tensor: tensor)
            for placement in (Shard(0), Shard(1), Replicate()):
                for of_other in (Replicate(), Shard(0)):
                    found.append(compare(name, whole, expected, mesh, placement, of_other))
        return found

    ran = simmesh.spmd_run(program, world_size=3)
    assert ran.outcome.ok, ran.outcome.report
    assert set(ran.results[0]) <= {"right", "raises"}
    assert ran.results == [ran.results[0]] * 3


def compare(
    name: str, whole: torch.Tensor, expected: torch.Tensor, mesh: Any, placement: Any, other: Any
) -> str:
    def distribute(tensor: torch.Tensor) -> DTensor:
        return distribute_tensor(tensor, mesh, [other if tensor.ndim else Replicate()])

    try:
        result = SELECTIONS[name](distribute_tensor(whole, mesh, [placement]), distribute)
        full = result.full_tensor()
    except (RuntimeError, NotImplementedError, IndexError):
        return "raises"
    is_right = full.shape == expected.shape and torch.equal(full, expected)
    return "right" if is_right else f"WRONG for {tuple(whole.shape)} {placement} and {other}"
