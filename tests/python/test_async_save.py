"""Checkpoints that PyTorch ranks save in the background."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
from torch.distributed.fsdp import fully_shard

import simmesh

SCHEDULES = ("fifo", "seeded:3", "seeded:4", "pct:3")


def trained_model() -> Any:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Linear(5, 2))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    train(model)
    return model


def train(model: Any) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()


def state_of(model: Any) -> dict[str, Any]:
    return {"model": model.state_dict(), "step": 7}


def loaded(model: Any, path: Path) -> list[torch.Tensor]:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    state = state_of(model)
    dcp.load(state, checkpoint_id=path)
    assert state["step"] == 7
    return [parameter.full_tensor() for parameter in model.parameters()]


@pytest.mark.filterwarnings("ignore:Detected an existing checkpoint")
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_async_save_saves_what_save_does(tmp_path: Path, schedule: str) -> None:
    """Would fail if the save in the background took what was trained meanwhile, or saved others'
    bytes.
    """

    def program() -> bool:
        model = trained_model()
        dcp.save(state_of(model), checkpoint_id=tmp_path / "at_once")
        group = dist.new_group(backend="gloo")
        future = dcp.async_save(
            state_of(model), checkpoint_id=tmp_path / "later", process_group=group
        )
        train(model)
        future.result()
        dist.barrier()
        expected = loaded(model, tmp_path / "at_once")
        return all(map(torch.equal, expected, loaded(model, tmp_path / "later")))

    ran = simmesh.spmd_run(program, world_size=4, schedule=schedule)
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == [True] * 4
    for file in (tmp_path / "at_once").iterdir():
        if file.name != ".metadata":  # it has the paths
            assert file.read_bytes() == (tmp_path / "later" / file.name).read_bytes()


@pytest.mark.filterwarnings("ignore:Detected an existing checkpoint")
def test_a_save_on_the_group_of_the_training_is_reported(tmp_path: Path) -> None:
    """Would fail if calls of two threads on one group, which meet in any order, went unseen."""

    def program() -> None:
        model = trained_model()
        future = dcp.async_save(
            state_of(model), checkpoint_id=tmp_path / "shared", process_group=dist.group.WORLD
        )
        dist.barrier()
        dist.barrier()
        future.result()

    with pytest.raises(Exception) as failure:
        simmesh.spmd(world_size=2, schedules=30)(program)()
    text = "\n".join([str(failure.value), *getattr(failure.value, "__notes__", [])])
    assert "test_async_save.py:" in text


def test_a_save_by_a_process_is_refused_on_the_programs_line(tmp_path: Path) -> None:
    """Would fail if a process of a rank tried to join the ranks."""

    def program() -> None:
        dcp.async_save(
            state_of(trained_model()), checkpoint_id=tmp_path / "by_process",
            async_checkpointer_type=AsyncCheckpointerType.PROCESS,
        )  # fmt: skip

    outcome = simmesh.spmd_run(program, world_size=2).outcome
    assert outcome.kind == "error"
    assert "expected AsyncCheckpointerType.THREAD, whose threads are the rank's" in outcome.message
    assert "test_async_save.py:" in outcome.message
