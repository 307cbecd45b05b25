"""Trainings of frameworks have equal bits under 20 schedules, and faults in them are found."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

import simmesh
from framework_programs import of_deepspeed, of_trainer

RANKS = 2
OPTIONS: dict[str, Any] = {"world_size": RANKS, "timeout": 300}


def add_up_too_early(tensor: torch.Tensor) -> None:
    """Writes to a tensor while its sum over the ranks is under way."""
    work = dist.all_reduce(tensor, async_op=True)
    tensor.mul_(0.5)
    work.wait()


def zero_3(fault: str) -> list[Any]:
    """DeepSpeed's engine with ZeRO 3."""

    def change(engine: Any) -> None:
        from deepspeed.runtime.zero import stage3

        reduce = stage3.reduce_scatter_coalesced

        def racy(gradients: Any, group: Any) -> Any:
            for each in gradients:
                add_up_too_early(each)
            return reduce(gradients, group)

        if fault == "race":
            stage3.reduce_scatter_coalesced = racy
        elif fault == "hang" and dist.get_rank() == 1:
            engine.backward = lambda loss: None
            engine.step = lambda: None

    return of_deepspeed(3, change)


def trainer(fault: str) -> list[Any]:
    """The Trainer of transformers with DDP."""

    def change(made: Any) -> None:
        backward = made.accelerator.backward

        def racy(loss: Any, **options: Any) -> None:
            backward(loss, **options)
            add_up_too_early(next(made.model.parameters()).grad)

        if fault == "race":
            made.accelerator.backward = racy
        elif fault == "hang" and dist.get_rank() == 1:
            made.accelerator.backward = lambda loss, **options: None

    return of_trainer(change)


def titan(fault: str) -> list[Any]:
    """FSDP2 by torchtitan's own functions, with its clipping."""
    from torch.distributed.device_mesh import init_device_mesh
    from torchtitan.distributed import utils
    from torchtitan.distributed.fsdp import disable_fsdp_gradient_division

    from framework_programs import batches, network

    model: Any = network()
    mesh = init_device_mesh("cpu", (RANKS,))
    for each in (*model, model):
        torch.distributed.fsdp.fully_shard(each, mesh=mesh)
    disable_fsdp_gradient_division(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for batch in batches(dist.get_rank()):
        model(batch).pow(2).mean().backward()
        if fault == "race":
            add_up_too_early(next(model.parameters()).grad.to_local())
        if fault != "hang" or dist.get_rank() == 0:
            utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return [each.full_tensor().detach() for each in model.parameters()]


PROGRAMS: dict[str, tuple[Callable[[str], list[Any]], str]] = {
    "deepspeed": (zero_3, "deepspeed"),
    "transformers": (trainer, "accelerate"),
    "torchtitan": (titan, "torchtitan"),
}


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest) -> tuple[Callable[[str], list[Any]], str]:
    """A training, and the package in which its ranks wait for each other."""
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"needs the package {request.param}")
    return PROGRAMS[request.param]


def test_twenty_schedules_have_equal_bits(program: tuple[Callable[..., Any], str]) -> None:
    """Would fail if a framework's results depended on the order of its ranks."""
    simmesh.spmd(schedules=20, **OPTIONS)(program[0])("")


def test_a_race_is_found(program: tuple[Callable[..., Any], str]) -> None:
    """Would fail if a framework hid an access to a buffer under way."""
    first = simmesh.spmd_run(program[0], "race", **OPTIONS)
    assert first.outcome.ok, first.outcome.report
    found = (
        simmesh.spmd_run(program[0], "race", schedule=f"seeded:{seed}", **OPTIONS)
        for seed in range(1, 20)
    )
    assert any(each.outcome.data_hash != first.outcome.data_hash for each in found)


def test_a_hang_names_the_line_of_the_framework(program: tuple[Callable[..., Any], str]) -> None:
    """Would fail if a report of ranks that wait named no line of the framework."""
    ran = simmesh.spmd_run(program[0], "hang", **OPTIONS)
    assert not ran.outcome.ok
    spec = importlib.util.find_spec(program[1])
    assert spec is not None and spec.submodule_search_locations is not None
    files = {each.name for each in Path(spec.submodule_search_locations[0]).rglob("*.py")}
    waiting = [line for line in ran.outcome.report.splitlines() if "rank 0" in line]
    assert files & set(re.findall(r"(\w+\.py):\d+", "".join(waiting))), ran.outcome.report
