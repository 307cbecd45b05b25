"""FullyShardedDataParallel under CUDA's names trains as on the CPU, and has no race of its own."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import CPUOffload, MixedPrecision
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy

import simmesh

FORMS = ("moved", "moved by it", "of a device", "wrapped by size", "offloaded")


def train(form: str) -> list[torch.Tensor]:
    """Steps of a model that is given to FSDP in one of its forms; ends with the whole weights."""
    rank = dist.get_rank()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))
    options: dict[str, Any] = {}
    if form == "on the CPU":
        options = {"device_id": torch.device("cpu")}
    else:
        torch.cuda.set_device(rank)
    if form in ("moved", "of a device", "wrapped by size"):
        model = model.to(rank)
    if form == "of a device":
        options = {"device_id": torch.device("cuda", rank)}
    if form in ("moved by it", "offloaded"):
        options = {"device_id": torch.cuda.current_device()}
    if form == "offloaded":
        options["cpu_offload"] = CPUOffload(offload_params=True)
    if form == "wrapped by size":
        options["auto_wrap_policy"] = functools.partial(
            size_based_auto_wrap_policy, min_num_params=10
        )
    sharded = FSDP(model, **options)
    optimizer = torch.optim.Adam(sharded.parameters(), lr=0.1)
    for _ in range(2):
        sharded(torch.ones(2, 8)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    with FSDP.summon_full_params(sharded):
        return [each.detach().cpu().clone().flatten() for each in sharded.parameters()]


@pytest.mark.parametrize("form", FORMS)
def test_forms_train_as_on_the_cpu(form: str) -> None:
    """Would fail if FSDP found no accelerator, or if its own streams were taken for a race."""
    weights = []
    for each, device in ((form, "cuda"), ("on the CPU", "cpu")):
        ran = simmesh.spmd_run(train, each, world_size=2, device=device)
        assert ran.outcome.ok, ran.outcome.report
        weights.append([torch.cat(of_rank) for of_rank in ran.results])
    for found, expected in zip(*weights):
        assert torch.equal(found, expected)


def mixed() -> None:
    """Steps in bfloat16, whose parameters are cast on a stream of their own."""
    model = nn.Sequential(*(nn.Linear(8, 8) for _ in range(3))).cuda()
    policy = functools.partial(size_based_auto_wrap_policy, min_num_params=10)
    precision = MixedPrecision(param_dtype=torch.bfloat16)
    sharded = FSDP(model, mixed_precision=precision, auto_wrap_policy=policy)
    for _ in range(2):
        sharded(torch.ones(2, 8, device="cuda")).sum().backward()
        sharded.clip_grad_norm_(1.0)


def test_notes_of_what_it_does_are_each_ranks_own() -> None:
    """Would fail if ranks that are at the same place shared what FSDP notes, or if memory that it
    gives back and gets anew counted as the same.
    """
    simmesh.spmd(world_size=3, schedules=6, device="cuda", backend="nccl")(mixed)()


def state_dicts() -> int:
    """Asks for the sharded state, where FSDP notes the time of each part."""
    sharded = FSDP(nn.Linear(8, 8), device_id=torch.device("cpu"))
    with FSDP.state_dict_type(sharded, torch.distributed.fsdp.StateDictType.SHARDED_STATE_DICT):
        sharded.load_state_dict(sharded.state_dict())
    optimizer = torch.optim.Adam(sharded.parameters())
    sharded(torch.ones(1, 8)).sum().backward()
    optimizer.step()
    return len(FSDP.optim_state_dict(sharded, optimizer))


def test_state_dicts_of_ranks_at_the_same_place() -> None:
    """Would fail if a rank ended what another one notes."""
    simmesh.spmd(world_size=3, schedules=6)(state_dicts)()
