"""``SyncBatchNorm`` on ranks that have CUDA's names: the statistics of all ranks' rows."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.nn.parallel import DistributedDataParallel

import simmesh

X = torch.randn(8, 1, 6, 6, generator=torch.Generator().manual_seed(1))
UNEVEN = torch.randn(5, 3, 2, generator=torch.Generator().manual_seed(2))


def _rows(mesh: DeviceMesh, whole: torch.Tensor) -> torch.Tensor:
    return whole[simmesh.rows_of(mesh.get_local_rank(), mesh.size(), len(whole))]


def training(mesh: DeviceMesh, synchronizes: bool = True) -> Any:
    """Steps of a model whose norms have each kind of momentum, then an evaluation."""
    torch.manual_seed(0)
    model: nn.Module = nn.Sequential(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Tanh(), nn.Flatten(), nn.Linear(32, 4),
        nn.BatchNorm1d(4, momentum=None), nn.BatchNorm1d(4, affine=False),
        nn.Linear(4, 2),
    )  # fmt: skip
    if synchronizes:
        model = nn.SyncBatchNorm.convert_sync_batchnorm(model, mesh.get_group())
    rank = dist.get_rank()
    model = DistributedDataParallel(model.cuda(), device_ids=[rank], process_group=mesh.get_group())
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    mine = _rows(mesh, X).cuda()
    for _ in range(2):
        optimizer.zero_grad()
        loss = model(mine).square().mean()
        loss.backward()
        optimizer.step()
    model.eval()
    return simmesh.note("evaluation", model(mine)), loss.detach()


def test_training_has_the_bits_of_one_device() -> None:
    """Would fail if statistics were those of a rank's own rows, or were rounded on the way."""
    layouts = [{"dp": 2}, {"dp": 4}, {"dp": 8}]
    found = simmesh.same_as_one_device(training, layouts=layouts, device="cuda")
    assert found.equal, found.text


def test_own_statistics_are_still_a_limit() -> None:
    """Would fail if the comparison above held without synchronization."""
    with pytest.warns(simmesh.LimitOfExactArithmetic, match="statistics"):
        simmesh.same_as_one_device(
            lambda mesh: training(mesh, synchronizes=False), layouts=[{"dp": 2}], device="cuda"
        )


def test_uneven_and_empty_rows() -> None:
    """Would fail if ranks counted alike whatever their numbers of rows are."""

    def program(mesh: DeviceMesh) -> Any:
        torch.manual_seed(0)
        layer = nn.SyncBatchNorm(3, process_group=mesh.get_group()).cuda()
        rows = _rows(mesh, UNEVEN).clone().requires_grad_()
        result = layer(rows)
        (result * _rows(mesh, UNEVEN.flip(0))).sum().backward()
        for each in layer.parameters():
            assert each.grad is not None
            dist.all_reduce(each.grad, group=mesh.get_group())
        return result, rows.grad

    layouts = [{"dp": 2}, {"dp": 3}, {"dp": 7}]
    found = simmesh.same_as_one_device(program, layouts=layouts, device="cuda")
    assert found.equal, found.text


def test_plain_ranks_have_nearly_those_of_all_rows() -> None:
    """Would fail if the layer needed exact arithmetic. Sums of 5 squares in float64 are rounded to
    53 bits, which leaves the 24 of float32 and more.
    """

    def program() -> torch.Tensor:
        rows = UNEVEN[simmesh.rows_of(dist.get_rank(), 2, 5)]
        result: torch.Tensor = nn.SyncBatchNorm(3, affine=False).cuda()(rows)
        return result

    ran = simmesh.spmd_run(program, world_size=2, device="cuda")
    assert ran.outcome.exception is None, ran.outcome.exception
    expected = nn.functional.batch_norm(UNEVEN, None, None, training=True)
    assert torch.allclose(torch.cat(ran.results), expected, atol=1e-6)


def test_cpu_ranks_refuse_it_as_torch_does() -> None:
    """Would fail if a program that PyTorch refuses ran without CUDA's names."""
    ran = simmesh.spmd_run(lambda: nn.SyncBatchNorm(3)(UNEVEN), world_size=2)
    assert "GPU" in str(ran.outcome.exception)
