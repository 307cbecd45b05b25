"""``same_on_replicas``, ``same_when_resumed`` and counts of calls find and name a fault, and pass a
right program.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import pytest
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DeviceMesh
from torch.nn.parallel import DistributedDataParallel

import simmesh

X = torch.randn(12, 4, generator=torch.Generator().manual_seed(1))


def rows(mesh: DeviceMesh, step: int = 0) -> torch.Tensor:
    return X[simmesh.rows_of(mesh.get_local_rank(), mesh.size(), len(X))] + step


def replicas(fault: str) -> Callable[[DeviceMesh], None]:
    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = nn.Linear(4, 2)
        wrapped: Any = DistributedDataParallel(model, process_group=mesh["dp"].get_group())
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        with wrapped.no_sync() if fault == "no_sync" else torch.enable_grad():
            wrapped(rows(mesh["dp"])).sum().backward()
        if fault == "one has none" and mesh.get_rank() == 1:
            model.bias.grad = None
        optimizer.step()
        if fault == "noise" and mesh.get_rank() == 1:
            model.weight.data[1, 2] += 1

    return program


@pytest.mark.parametrize(
    ("fault", "texts"),
    [
        ("no_sync", ["gradient of Linear.weight", "rank 0 and rank 1 differ in"]),
        ("one has none", ["gradient of Linear.bias", "rank 0 has one, rank 1 has none"]),
        ("noise", ["parameter Linear.weight", "differ in 1 of 8 elements, first at [1, 2]"]),
    ],
)
def test_replicas_that_differ_are_found(fault: str, texts: list[str]) -> None:
    """Would fail if replicas that drift passed, or if another value or element were named."""
    assert simmesh.same_on_replicas(replicas(""), ranks=2) > 8
    with pytest.raises(simmesh.ReplicasDiffer) as raised:
        simmesh.same_on_replicas(replicas(fault), ranks=2)
    first = str(raised.value).splitlines()[1]
    assert all(text in first for text in texts), first


def test_replicas_are_those_along_the_dims() -> None:
    """Would fail if ranks had to agree along a dim over which they may differ."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(mesh["tp"].get_local_rank())
        nn.Linear(4, 2)(X).sum().backward()

    layout = {"dp": 2, "tp": 2}
    assert simmesh.same_on_replicas(program, layout=layout, over=["dp"]) > 0
    with pytest.raises(simmesh.ReplicasDiffer, match="rank 0 and rank 1"):
        simmesh.same_on_replicas(program, layout=layout, over=["tp"])


def test_pieces_of_dtensors_are_no_replicas() -> None:
    """Would fail if the shards of FSDP2 had to be equal, or if replicas of a shard needn't be."""

    def program(mesh: DeviceMesh) -> None:
        torch.manual_seed(0)
        model = fully_shard(nn.Linear(4, 4), mesh=mesh)
        model(rows(mesh["shard"])).sum().backward()
        if mesh.size() == 4 and mesh.get_rank() == 3:
            model.weight.detach().to_local()[0, 0] += 1  # type: ignore[attr-defined]

    with pytest.raises(ValueError, match="nothing to compare"):
        simmesh.same_on_replicas(program, layout={"replicate": 1, "shard": 2})
    with pytest.raises(simmesh.ReplicasDiffer, match="rank 1 and rank 3"):
        simmesh.same_on_replicas(program, layout={"replicate": 2, "shard": 2})


def test_replicas_refuse_what_they_cannot_compare() -> None:
    """Would fail if a misspelt dim, or a program without values, passed."""
    with pytest.raises(ValueError, match="expected dims of dp=2, got tp"):
        simmesh.same_on_replicas(replicas(""), ranks=2, over=["tp"])
    with pytest.raises(ValueError, match="nothing to compare"):
        simmesh.same_on_replicas(lambda mesh: None, ranks=2)


def training(fault: str) -> Callable[[DeviceMesh, Path, int], torch.Tensor]:
    """FSDP2 with AdamW and a schedule, saved by PyTorch's distributed checkpoint."""

    def program(mesh: DeviceMesh, folder: Path, steps: int) -> torch.Tensor:
        torch.manual_seed(0)
        model: Any = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        fully_shard(model, mesh=mesh)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        first = 0
        if (folder / ".metadata").exists():
            state: dict[str, Any] = {"model": get_model_state_dict(model), "steps": 0}
            state["optimizer"] = get_optimizer_state_dict(model, optimizer)
            if fault == "states are not loaded":
                del state["optimizer"]
            dcp.load(state, checkpoint_id=folder)
            set_model_state_dict(model, state["model"])
            if "optimizer" in state:
                set_optimizer_state_dict(model, optimizer, state["optimizer"])
            first = state["steps"] + (fault == "a step is skipped")
        loss = torch.zeros(())
        for step in range(first, steps):
            optimizer.zero_grad()
            loss = model(rows(mesh, step)).square().sum() * mesh.size() / len(X)
            loss.backward()
            optimizer.step()
        state = {"model": get_model_state_dict(model), "steps": steps}
        state["optimizer"] = get_optimizer_state_dict(model, optimizer)
        dcp.save(state, checkpoint_id=folder)
        return loss.detach() / mesh.size()

    return program


@pytest.mark.parametrize(
    "layouts", [[{"dp": 2}, {"dp": 2}], [{"dp": 2}, {"dp": 4}], [{"dp": 4}, {"dp": 1}, {"dp": 3}]]
)
def test_a_resumed_training_is_one_that_never_stopped(layouts: list[dict[str, int]]) -> None:
    """Would fail if a right checkpoint, loaded on other ranks, were called wrong."""
    steps = [2, 4, 5][: len(layouts)]
    found = simmesh.same_when_resumed(training(""), layouts=layouts, steps=steps)
    assert not found.has_faults and found.verdicts[0].compared > 20
    assert found.equal or layouts[-1] == {"dp": 3}  # means over 3 ranks are rounded


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ("states are not loaded", "optimizer state "),
        ("a step is skipped", "initial parameter 0.weight"),
    ],
)
def test_a_training_that_resumes_otherwise_is_found(fault: str, text: str) -> None:
    """Would fail if a load that forgets passed, or if its first trace weren't named."""
    with pytest.raises(simmesh.DiffersFromOneDevice) as raised:
        simmesh.same_when_resumed(training(fault), layouts=[{"dp": 2}] * 2, steps=[2, 5])
    assert text in str(raised.value).splitlines()[1], str(raised.value)


def test_parts_need_growing_steps() -> None:
    """Would fail if parts that do nothing were compared."""
    for steps in ([2], [2, 2], [4, 2]):
        with pytest.raises(ValueError, match="growing numbers"):
            simmesh.same_when_resumed(training(""), layouts=[{"dp": 2}] * 2, steps=steps)


def step(calls: int) -> None:
    for _ in range(calls):
        dist.all_reduce(torch.ones(3))
    peer = 1 - dist.get_rank()
    if dist.get_rank() == 0:
        dist.send(torch.ones(2), peer)
    else:
        dist.recv(torch.ones(2), peer)


def test_calls_are_counted_with_their_lines() -> None:
    """Would fail if a call, its line or its bytes weren't counted."""
    result = simmesh.spmd_run(step, 2, world_size=2)
    assert result.calls[0].count("all_reduce") == 2 and result.calls[0].nbytes("all_reduce") == 24
    assert result.calls[1].count("recv") == 1 and result.calls[1].count("send") == 0
    (line, count), *others = result.calls[0].lines("all_reduce").items()
    assert line.startswith("test_replicas_and_resumed.py:") and count == 2 and not others
    assert result.expect(calls={"all_reduce": 2}, nbytes={"all_reduce": 24}) is result
    with pytest.raises(
        simmesh.SpmdFailure, match=r"expected 1 calls of all_reduce, got 2: .*\(2\)"
    ):
        result.expect(calls={"all_reduce": 1})
    with pytest.raises(simmesh.SpmdFailure, match="rank 1: expected 1 calls of send, got 0"):
        result.expect(calls={"send": 1})


def test_counts_of_a_run_that_failed_are_its_failure() -> None:
    """Would fail if a hang were told as a wrong count."""

    def hangs() -> None:
        if dist.get_rank() == 0:
            dist.all_reduce(torch.ones(1))

    with pytest.raises(simmesh.SpmdFailure, match="deadlock"):
        simmesh.spmd_run(hangs, world_size=2).expect(calls={"all_reduce": 1})
