"""Checkpoints that PyTorch ranks save in the background."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint import _async_process_executor as of_torch
from torch.distributed.checkpoint.state_dict_saver import AsyncCheckpointerType
from torch.distributed.fsdp import fully_shard

import simmesh

SCHEDULES = ("fifo", "seeded:3", "seeded:4", "pct:3")


def trained_model(device: str = "cpu") -> Any:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Linear(5, 2)).to(device)
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    train(model)
    return model


def train(model: Any) -> None:
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(2, 3, device=next(model.parameters()).device)).sum().backward()
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


@pytest.fixture(params=["threads", "processes"])
def seats(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def saves_by_processes(tmp_path: Path, seats: str, **options: Any) -> Any:
    """The run of a program that trains while processes save."""

    def program() -> bool:
        model = trained_model(options.get("device", "cpu"))
        dcp.save(state_of(model), checkpoint_id=tmp_path / "at_once")
        for number in range(2):
            future = dcp.async_save(
                state_of(model), checkpoint_id=tmp_path / f"later{number}",
                async_checkpointer_type=AsyncCheckpointerType.PROCESS,
            )  # fmt: skip
        train(model)
        future.result()
        note_process(tmp_path)
        dist.barrier()
        expected = loaded(model, tmp_path / "at_once")
        return all(map(torch.equal, expected, loaded(model, tmp_path / "later1")))

    return simmesh.spmd_run(program, world_size=2, seats=seats, timeout=300, **options)


def note_process(folder: Path) -> None:
    """Notes the saving process of a rank."""
    saver: Any = of_torch._CHECKPOINT_PROCESS
    (folder / f"process{dist.get_rank()}").write_text(str(saver._save_process.pid))


def noted(folder: Path) -> list[int]:
    """The saving processes of two ranks."""
    return [int((folder / f"process{rank}").read_text()) for rank in range(2)]


def has_ended(process: int) -> bool:
    """True once a process has ended, for which it has some seconds."""
    for _ in range(200):
        if not Path(f"/proc/{process}").exists():
            return True
        time.sleep(0.05)
    return False


def test_processes_save_what_save_does(tmp_path: Path, seats: str) -> None:
    """Would fail if the saving processes of ranks didn't meet, saved what was trained meanwhile,
    made the run another one each time, or outlived it.
    """
    hashes = []
    for _ in range(2):
        ran = saves_by_processes(tmp_path, seats)
        assert ran.outcome.ok, ran.outcome.report
        assert ran.results == [True] * 2
        assert all(has_ended(process) for process in noted(tmp_path))
        hashes.append((ran.outcome.schedule_hash, ran.outcome.data_hash))
        for file in (tmp_path / "at_once").iterdir():
            if file.name != ".metadata":  # it has the paths
                assert file.read_bytes() == (tmp_path / "later1" / file.name).read_bytes()
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()
    assert hashes[0] == hashes[1]
    assert of_torch._CHECKPOINT_PROCESS is None


@pytest.mark.parametrize("options", [{"device": "cuda"}, {"local": "exact"}], ids=repr)
def test_processes_save_under_other_options(
    tmp_path: Path, seats: str, options: dict[str, str]
) -> None:
    """Would fail if a saving process needed the device that only ranks have, or values that only
    ranks keep behind elements.
    """
    ran = saves_by_processes(tmp_path, seats, **options)
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == [True] * 2
    assert all(has_ended(process) for process in noted(tmp_path))
    again = saves_by_processes(tmp_path, seats, **options)
    assert (again.results, again.outcome.data_hash) == (ran.results, ran.outcome.data_hash)


def test_an_error_of_the_start_is_reported(
    tmp_path: Path, seats: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would fail if the end of a saving process that never started hid why it didn't."""

    def refuse(process: Any) -> None:
        raise OSError("expected room for one more process")

    def program() -> None:
        dcp.async_save(
            {"x": torch.ones(2)}, checkpoint_id=tmp_path / "none",
            async_checkpointer_type=AsyncCheckpointerType.PROCESS,
        ).result()  # fmt: skip

    monkeypatch.setattr(multiprocessing.get_context("spawn").Process, "start", refuse)
    outcome = simmesh.spmd_run(program, world_size=2, seats=seats, timeout=300).outcome
    assert not outcome.ok
    assert "expected room for one more process" in outcome.report, outcome.report


def test_a_rank_that_saves_alone_is_reported(tmp_path: Path, seats: str) -> None:
    """Would fail if a rank waited for the processes of others outside of the schedule."""

    def program() -> None:
        group = dist.new_group([0, 1], backend="gloo")
        future = dcp.async_save(
            {"x": torch.ones(2)}, checkpoint_id=tmp_path / "alone", process_group=group,
            async_checkpointer_type=AsyncCheckpointerType.PROCESS,
        )  # fmt: skip
        future.result()
        if dist.get_rank() == 0:
            dcp.async_save(
                {"x": torch.ones(2)}, checkpoint_id=tmp_path / "alone", process_group=group,
                async_checkpointer_type=AsyncCheckpointerType.PROCESS,
            ).result()  # fmt: skip

    outcome = simmesh.spmd_run(program, world_size=2, seats=seats, timeout=300).outcome
    assert not outcome.ok
    assert "wait 3 of 1" in outcome.report, outcome.report


@pytest.mark.parametrize("way", ["raises", "dies"])
def test_saving_processes_end_with_their_rank(tmp_path: Path, way: str) -> None:
    """Would fail if a rank that fails left its saving process behind."""

    def program() -> None:
        dcp.async_save(
            {"x": torch.ones(2)}, checkpoint_id=tmp_path / "left",
            async_checkpointer_type=AsyncCheckpointerType.PROCESS,
        ).result()  # fmt: skip
        note_process(tmp_path)
        dist.barrier()
        if dist.get_rank() == 0:
            if way == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError("expected to end")
        dist.barrier()

    outcome = simmesh.spmd_run(program, world_size=2, seats="processes", timeout=300).outcome
    assert not outcome.ok and outcome.rank == 0
    assert all(has_ended(process) for process in noted(tmp_path))
