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


@pytest.mark.parametrize("program", [owners(), zero_redundancy, flat], ids=["own", "ZeRO", "FSDP1"])
def test_parameters_of_owners_are_equal(program: programs.Program) -> None:
    """Would fail if a parameter were compared before its owner sent it, or by the shape that it has
    on one device alone.
    """
    for verdict in compared(program, {"dp": 2}, {"dp": 4}):
        assert verdict.compared > 20


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
