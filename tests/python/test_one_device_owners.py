"""Programs whose ranks own parts: they are the same on ranks as on one device."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.tensor import DeviceMesh
from torch.distributed.tensor.experimental import context_parallel
from torch.nn.parallel import DistributedDataParallel

import one_device_programs as programs
import simmesh
from test_one_device import compared


def owners(fault: str = "") -> programs.Program:
    """ZeRO by hand: each rank steps some parameters, and gets the others from their owners."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 8))
        parameters, rank, ranks = list(model.parameters()), mesh.get_local_rank(), mesh.size()
        optimizer = torch.optim.AdamW(parameters[rank::ranks], lr=0.01)
        for step in range(2):
            rows = programs.rows_of(mesh, "dp", programs.seeded(8, 8, seed=step))
            (torch.tanh(model(rows)).square().sum() / 8).backward()
            for parameter in parameters:
                dist.all_reduce(parameter.grad)
            optimizer.step()
            for index, parameter in enumerate(parameters):
                parameter.grad = None
                if index != 3 or fault != "one stays":
                    dist.broadcast(parameter.data, index % ranks)

    return program


def zero_redundancy(mesh: DeviceMesh) -> None:
    """PyTorch's own optimizer of that kind, whose step runs another optimizer's."""
    torch.manual_seed(0)
    group = mesh.get_group()
    model = DistributedDataParallel(nn.Linear(8, 8), process_group=group)
    optimizer = ZeroRedundancyOptimizer(
        model.parameters(), torch.optim.AdamW, process_group=group, lr=0.01
    )
    for step in range(2):
        model(
            programs.rows_of(mesh, "dp", programs.seeded(8, 8, seed=step))
        ).square().mean().backward()
        optimizer.step()


def buffer(mesh: DeviceMesh) -> None:
    """ZeRO-2 by hand: each rank steps a piece of a flat buffer, which is padded to equal pieces."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 3))
    parameters, ranks = list(model.parameters()), mesh.size()

    def joined(tensors: list[torch.Tensor]) -> torch.Tensor:
        whole = torch.cat([each.flatten() for each in tensors])
        return F.pad(whole, (0, -len(whole) % ranks))

    weights = joined([each.detach() for each in parameters])
    mine = nn.Parameter(weights.chunk(ranks)[mesh.get_local_rank()].clone())
    optimizer = torch.optim.AdamW([mine], lr=0.01)
    for step in range(2):
        rows = programs.rows_of(mesh, "dp", programs.seeded(8, 8, seed=step))
        (torch.tanh(model(rows)).square().sum() / 8).backward()
        mine.grad = torch.empty_like(mine)
        dist.reduce_scatter_tensor(mine.grad, joined([each.grad for each in parameters]))
        optimizer.step()
        dist.all_gather_into_tensor(weights, mine.detach())
        pieces = weights[: sum(map(torch.numel, parameters))].split(
            [each.numel() for each in parameters]
        )
        for parameter, piece in zip(parameters, pieces):
            parameter.data.copy_(piece.view_as(parameter))
            parameter.grad = None


def functional(mesh: DeviceMesh) -> dict[str, torch.Tensor]:
    """A gradient by torch.func, whose transforms call the module on tensors of their own."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8))
    rows = programs.rows_of(mesh, "dp", programs.seeded(8, 8))
    given = {name: each.detach() for name, each in model.named_parameters()}
    found = torch.func.grad(
        lambda each: torch.tanh(torch.func.functional_call(model, each, (rows,))).sum() / 8
    )(given)
    for each in found.values():
        dist.all_reduce(each)
    simmesh.note("gradients", found, whole=True)
    return model(rows)


def flat(mesh: DeviceMesh) -> None:
    """FSDP1, whose parameters are pieces of one flat tensor."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 8))
    sharded = FullyShardedDataParallel(
        model, process_group=mesh.get_group(), use_orig_params=True, device_id=torch.device("cpu")
    )
    optimizer = torch.optim.AdamW(sharded.parameters(), lr=0.01)
    for step in range(2):
        rows = programs.rows_of(mesh, "dp", programs.seeded(8, 8, seed=step))
        torch.tanh(sharded(rows)).square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize(
    "program",
    [owners(), zero_redundancy, buffer, flat, functional],
    ids=["own", "ZeRO", "buffer", "FSDP1", "func"],
)
def test_parameters_of_owners_are_equal(program: programs.Program) -> None:
    """Would fail if a parameter were compared before its owner sent it, or by the shape that it has
    on one device alone.
    """
    for verdict in compared(program, {"dp": 2}, {"dp": 4}):
        assert verdict.compared > 10


def test_a_parameter_that_its_owner_keeps_is_found() -> None:
    """Would fail if no look at what optimizers have stepped found what didn't arrive."""
    with pytest.raises(simmesh.DiffersFromOneDevice, match=r"first: parameter 1\.bias"):
        simmesh.same_as_one_device(owners("one stays"), ranks=2)


def test_context_parallelism_of_pytorch_is_another_formula() -> None:
    """Would fail if the attention of a ring, which has the logarithms over all keys, were computed
    as if each part were whole.
    """

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        linear, x = nn.Linear(8, 24, bias=False), programs.seeded(1, 16, 8)
        with context_parallel(mesh, buffers=[x], buffer_seq_dims=[1]):
            q, k, v = linear(x).unflatten(-1, (3, 2, 4)).permute(2, 0, 3, 1, 4)
            F.scaled_dot_product_attention(q, k, v, is_causal=True).square().sum().backward()
        dist.all_reduce(linear.weight.grad)

    with pytest.warns(simmesh.LimitOfExactArithmetic, match="differs by rounding only"):
        simmesh.same_as_one_device(program, layouts=[{"cp": 2}, {"cp": 4}])
