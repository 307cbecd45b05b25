"""Programs of typed tensors that lie: each passes the checker, and the marked line makes the first
tensor that isn't what it is declared to be.

They are written in the names that ``simmesh.typed`` and the package spmd_types have in common.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import DeviceMesh

Program = Callable[[DeviceMesh, Any], Any]
LIES: list[Program] = []
HONEST: list[Program] = []
_MARK = "# lies"


def lie(program: Program) -> Program:
    """Adds a program to those that lie."""
    LIES.append(program)
    return program


def honest(program: Program) -> Program:
    """Adds a program to those whose tensors are what they declare."""
    HONEST.append(program)
    return program


def line_of_lie(program: Program) -> str:
    """The line that is marked, as reports write it."""
    lines, first = inspect.getsourcelines(program)
    (at,) = (at for at, line in enumerate(lines) if _MARK in line)
    return f"typed_lies.py:{first + at}"


def run(program: Program, package: Any) -> Callable[[DeviceMesh], None]:
    """A program of a mesh, by the names of a package."""

    def on_mesh(mesh: DeviceMesh) -> None:
        torch.manual_seed(7)
        with package.set_current_mesh(mesh), package.typecheck():
            program(mesh, package)

    return on_mesh


def data(package: Any, *shape: int) -> torch.Tensor:
    """Random numbers, the same on every rank."""
    with package.no_typecheck():
        return torch.randn(*shape)


def mine(mesh: DeviceMesh, package: Any, whole: torch.Tensor, dim: int) -> torch.Tensor:
    """This rank's piece of a tensor."""
    with package.no_typecheck():
        return whole.chunk(mesh["tp"].size(), dim)[mesh["tp"].get_local_rank()].clone()


def whole_input(package: Any, kind: Any, *shape: int) -> torch.Tensor:
    """A tensor that is the same on all ranks and needs a gradient."""
    x = data(package, *shape).requires_grad_()
    package.assert_type(x, {"tp": kind})
    return x


def piece_input(mesh: DeviceMesh, package: Any, dim: int, *shape: int) -> torch.Tensor:
    """This rank's piece of a tensor, which needs a gradient."""
    x = mine(mesh, package, data(package, *shape), dim).requires_grad_()
    package.assert_type(x, {"tp": package.S(dim)})
    return x


@lie
def asserts_replicated(mesh: DeviceMesh, spmd: Any) -> None:
    torch.manual_seed(mesh.get_rank())
    x = data(spmd, 4)
    spmd.assert_type(x, {"tp": spmd.R})  # lies
    x + x


@lie
def asserts_invariant_of_one_rank(mesh: DeviceMesh, spmd: Any) -> None:
    x = data(spmd, 4)
    with spmd.no_typecheck():
        x[3] += mesh.get_rank() == mesh.size() - 1
    spmd.assert_type(x, {"tp": spmd.I})  # lies
    x.sum()


@lie
def asserts_another_dim(mesh: DeviceMesh, spmd: Any) -> None:
    x = mine(mesh, spmd, data(spmd, 8, 8), 1)
    spmd.assert_type(x, {"tp": spmd.S(0)})  # lies
    x + x


@lie
def asserts_rows_of_a_neighbour(mesh: DeviceMesh, spmd: Any) -> None:
    whole = data(spmd, 8, 3)
    with spmd.no_typecheck():
        whole = whole.roll(int(mesh.get_rank() == 1), 0)
    x = mine(mesh, spmd, whole, 0)
    spmd.assert_type(x, {"tp": spmd.S(0)})  # lies
    x + x


@lie
def asserts_terms_of_whole_tensors(mesh: DeviceMesh, spmd: Any) -> None:
    x = data(spmd, 4)
    spmd.assert_type(x, {"tp": spmd.P})  # lies
    spmd.all_reduce(x, "tp", dst=spmd.I)


@lie
def adds_a_bias_once_a_rank(mesh: DeviceMesh, spmd: Any) -> None:
    x, w = piece_input(mesh, spmd, 1, 4, 8), piece_input(mesh, spmd, 0, 8, 4)
    b = whole_input(spmd, spmd.R, 4)
    part = x @ w + b
    terms = spmd.reinterpret(part, "tp", src=spmd.V, dst=spmd.P)  # lies
    spmd.all_reduce(terms, "tp", dst=spmd.I).sum().backward()


@lie
def takes_a_number_of_a_varying_tensor(mesh: DeviceMesh, spmd: Any) -> None:
    x, y = piece_input(mesh, spmd, 0, 8), whole_input(spmd, spmd.R, 4)
    scale = x.sum().item()
    y * scale  # lies


@lie
def drops_elements_of_its_own(mesh: DeviceMesh, spmd: Any) -> None:
    x = whole_input(spmd, spmd.R, 16)
    torch.manual_seed(mesh.get_rank())
    F.dropout(x)  # lies


@lie
def draws_like_a_replicated_tensor(mesh: DeviceMesh, spmd: Any) -> None:
    x = whole_input(spmd, spmd.I, 4)
    torch.manual_seed(mesh.get_rank())
    x + torch.rand_like(x)  # lies


@lie
def keeps_a_view_of_what_is_written(mesh: DeviceMesh, spmd: Any) -> None:
    base = data(spmd, 4)
    spmd.assert_type(base, {"tp": spmd.R})
    view = base.view(2, 2)
    step = mine(mesh, spmd, data(spmd, 4 * mesh.size()), 0)
    spmd.assert_type(step, {"tp": spmd.V})
    base.add_(step)
    view * 2  # lies


@lie
def computes_by_rank(mesh: DeviceMesh, spmd: Any) -> None:
    x = whole_input(spmd, spmd.R, 4)
    x * (2.0 if mesh.get_rank() == 0 else 1.0)  # lies


@lie
def mutates_a_varying_tensor(mesh: DeviceMesh, spmd: Any) -> None:
    x = piece_input(mesh, spmd, 0, 8).detach()
    spmd.mutate_type(x, "tp", src=spmd.V, dst=spmd.R)  # lies
    x + x


@lie
def claims_what_a_body_returns(mesh: DeviceMesh, spmd: Any) -> None:
    x = piece_input(mesh, spmd, 0, 8)

    @spmd.no_typecheck(out_types={"tp": spmd.I})
    def norm(value: torch.Tensor) -> torch.Tensor:
        return value.detach().square().sum()

    found = norm(x)  # lies
    found + found


@lie
def averages_its_own_rows(mesh: DeviceMesh, spmd: Any) -> None:
    x = piece_input(mesh, spmd, 0, 8, 3)
    loss = spmd.reinterpret(x.mean(), "tp", src=spmd.V, dst=spmd.P)  # lies
    loss.backward()


@lie
def sums_pieces_as_terms(mesh: DeviceMesh, spmd: Any) -> None:
    x = piece_input(mesh, spmd, 0, 8, 3)
    top = x.amax(0)
    spmd.all_reduce(top, "tp", src=spmd.V, dst=spmd.I)  # lies


@lie
def gathers_in_another_order(mesh: DeviceMesh, spmd: Any) -> None:
    x = piece_input(mesh, spmd, 0, 8)
    stacked = spmd.all_gather(x, "tp", dst=spmd.R)
    stacked.flip(0).reshape(8)  # lies


@lie
def reduces_the_largest(mesh: DeviceMesh, spmd: Any) -> None:
    x = mine(mesh, spmd, data(spmd, 8, 3), 0)
    with spmd.no_typecheck():
        total = x.sum(0)
        dist.all_reduce(total, dist.ReduceOp.MAX, group=mesh["tp"].get_group())
    spmd.assert_type(total, {"tp": spmd.R})  # lies
    total + total


@lie
def normalizes_a_cut_dim(mesh: DeviceMesh, spmd: Any) -> None:
    x = piece_input(mesh, spmd, 1, 4, 8)
    y = torch.softmax(x, -1)
    spmd.assert_type(y, {"tp": spmd.S(1)})  # lies
    y + y


@lie
def looks_up_without_a_mask(mesh: DeviceMesh, spmd: Any) -> None:
    table = piece_input(mesh, spmd, 0, 8, 3)
    with spmd.no_typecheck():
        tokens = torch.tensor([0, 5, 2])
        local = tokens % len(table)
    spmd.assert_type(local, {"tp": spmd.R})
    rows = F.embedding(local, table)
    terms = spmd.reinterpret(rows, "tp", src=spmd.V, dst=spmd.P)  # lies
    spmd.all_reduce(terms, "tp", dst=spmd.I)


@lie
def numbers_positions_from_zero(mesh: DeviceMesh, spmd: Any) -> None:
    x = piece_input(mesh, spmd, 0, 8)
    places = torch.arange(len(x))
    y = x + places
    spmd.assert_type(y, {"tp": spmd.S(0)})  # lies
    y + y


class _Entered(torch.autograd.Function):
    """Enters a tensor-parallel region, and forgets to add up the gradients."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient.clone()


class _Scaled(_Entered):
    """Leaves a tensor-parallel region, and divides the gradient by the ranks."""

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient / dist.get_world_size()


@lie
def enters_without_a_sum(mesh: DeviceMesh, spmd: Any) -> None:
    x, w = whole_input(spmd, spmd.I, 4, 4), piece_input(mesh, spmd, 1, 4, 8)
    with spmd.no_typecheck():
        y = _Entered.apply(x)  # lies
    spmd.assert_type(y, {"tp": spmd.R})
    loss = spmd.reinterpret((y @ w).square().sum(), "tp", src=spmd.V, dst=spmd.P)
    loss.backward()


@lie
def scales_a_gradient(mesh: DeviceMesh, spmd: Any) -> None:
    x = whole_input(spmd, spmd.I, 4)
    with spmd.no_typecheck():
        y = _Scaled.apply(x)  # lies
    spmd.assert_type(y, {"tp": spmd.I})
    y.square().sum().backward()


@honest
def enters_and_leaves(mesh: DeviceMesh, spmd: Any) -> None:
    x, w = whole_input(spmd, spmd.I, 4, 8), piece_input(mesh, spmd, 1, 8, 8)
    v, b = piece_input(mesh, spmd, 0, 8, 8), whole_input(spmd, spmd.I, 8)
    hidden = F.gelu(spmd.convert(x, "tp", src=spmd.I, dst=spmd.R) @ w)
    terms = spmd.reinterpret(hidden @ v, "tp", src=spmd.V, dst=spmd.P)
    y = spmd.all_reduce(terms, "tp", dst=spmd.I) + b
    y.square().sum().backward()


@honest
def enters_and_leaves_by_rows(mesh: DeviceMesh, spmd: Any) -> None:
    x, w = piece_input(mesh, spmd, 0, 8, 8), piece_input(mesh, spmd, 1, 8, 8)
    v = piece_input(mesh, spmd, 0, 8, 8)
    whole = spmd.all_gather(x, "tp", src=spmd.S(0), dst=spmd.R)
    terms = spmd.reinterpret(F.gelu(whole @ w) @ v, "tp", src=spmd.V, dst=spmd.P)
    y = spmd.reduce_scatter(terms, "tp", dst=spmd.S(0))
    loss = spmd.reinterpret(y.square().sum(), "tp", src=spmd.V, dst=spmd.P)
    loss.backward()


@honest
def moves_cuts(mesh: DeviceMesh, spmd: Any) -> None:
    x = piece_input(mesh, spmd, 0, 8, 8)
    columns = spmd.all_to_all(x, "tp", src=spmd.S(0), dst=spmd.S(1))
    rows = spmd.redistribute(columns * 2, "tp", src=spmd.S(1), dst=spmd.S(0))
    whole = spmd.redistribute(rows, "tp", src=spmd.S(0), dst=spmd.I)
    whole.square().sum().backward()


@honest
def normalizes_over_ranks(mesh: DeviceMesh, spmd: Any) -> None:
    x = piece_input(mesh, spmd, 1, 4, 8)
    total = spmd.all_reduce(x.square().sum(1, keepdim=True), "tp", src=spmd.V, dst=spmd.R)
    y = x * torch.rsqrt(total)
    spmd.assert_type(y, {"tp": spmd.S(1)})
    loss = spmd.reinterpret(y.square().sum(), "tp", src=spmd.V, dst=spmd.P)
    loss.backward()
