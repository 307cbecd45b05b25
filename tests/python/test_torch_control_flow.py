"""``torch.cond``, ``while_loop``, ``scan`` and ``map`` in ranks."""

from __future__ import annotations

from typing import Any, Callable

import pytest
import torch
from torch import Tensor
from torch._higher_order_ops import map as torch_map
from torch._higher_order_ops import scan, while_loop
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn.parallel import DistributedDataParallel

import simmesh


def branch(x: Tensor, w: Tensor) -> Tensor:
    return torch.cond(x.sum() > 0, lambda x: (x @ w).sin(), lambda x: (x @ w).cos(), (x,))


def loop(x: Tensor, w: Tensor) -> Tensor:
    return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x @ w), (torch.tensor(0), x))[1]


def recurrence(x: Tensor, w: Tensor) -> Tensor:
    return scan(lambda c, a: (c * 0.5 + a, (c @ w).clone()), torch.ones(3, dtype=x.dtype), x)[1]


def each_row(x: Tensor, w: Tensor) -> Tensor:
    return torch_map(lambda row: (row @ w).sin(), x)


KINDS = [branch, loop, recurrence, each_row]


def with_gradients(kind: Callable[[Tensor, Tensor], Tensor], sign: float) -> list[Any]:
    """The result for whole numbers, whose products are exact, and its gradients."""
    x = (sign * torch.arange(12.0).reshape(4, 3)).requires_grad_()
    w = torch.eye(3).mul(2).requires_grad_()
    result = kind(x, w)
    result.sum().backward()
    return [result.detach(), x.grad, w.grad]


@pytest.mark.parametrize("local", ["plain", "exact"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("kind", KINDS)
def test_runs_with_the_gradients_of_torch(
    kind: Callable[[Tensor, Tensor], Tensor], sign: float, local: str
) -> None:
    """Would fail if ranks couldn't run it, took another branch or had another gradient."""
    expected = with_gradients(kind, sign)
    run = simmesh.spmd_run(lambda: with_gradients(kind, sign), world_size=2, local=local)
    assert run.outcome.ok, run.outcome.report
    for found in run.results:
        for ours, theirs in zip(found, expected, strict=True):
            torch.testing.assert_close(ours, theirs)


class Switched(torch.nn.Module):
    """Takes a branch by the data, and then a recurrence over the rows."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        rows = torch_map(lambda row: branch(row[None], self.weight)[0], x)
        return rows + loop(x, self.weight)


def train(mesh: Any) -> Tensor:
    torch.manual_seed(0)
    model = DistributedDataParallel(Switched(), process_group=mesh.get_group())
    x = torch.randn(8, 3)[simmesh.rows_of(mesh.get_local_rank(), mesh.size(), 8)]
    loss = model(x).square().mean()
    loss.backward()
    return loss.detach()


def test_has_the_bits_of_one_device() -> None:
    """Would fail if the operators within it were computed inexactly."""
    found = simmesh.same_as_one_device(train, layouts=[{"dp": 2}, {"dp": 4}])
    assert found.equal, found.text


def test_is_traced_and_transformed_as_it_is() -> None:
    """Would fail if a graph that a rank makes had one branch only, or vmap met a condition."""

    def program() -> tuple[str, Tensor]:
        x, w = torch.ones(4, 3), torch.eye(3)
        graph = make_fx(branch)(x, w).code
        chosen = torch.vmap(lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)))(
            torch.tensor([[1.0], [-1.0]])
        )
        return graph, chosen

    expected = torch.tensor([[1.0], [-1.0]])
    expected = torch.stack([expected[0].sin(), expected[1].cos()])
    for graph, chosen in simmesh.spmd_run(program, world_size=2).results:
        assert "cond" in graph and "sin" not in graph
        assert torch.equal(chosen, expected)
