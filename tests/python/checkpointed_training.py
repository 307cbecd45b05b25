"""A training that saves a checkpoint after each step, and goes on from the last whole one. Its
processes, and the one that starts them, can be killed at any of their requests.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard

import simmesh
from simmesh.torch.processes.rank_process import RankProcess

RANKS = 4
STEPS = 3


def train(folder: Path) -> list[torch.Tensor]:
    """Trains for some steps, and returns the parameters."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    begin = last_whole_step(folder)
    if begin:
        load(model, optimizer, folder / str(begin))
    for step in range(begin, STEPS):
        optimizer.zero_grad()
        torch.manual_seed(RANKS * step + dist.get_rank())
        model(torch.randn(2, 4)).pow(2).sum().backward()
        optimizer.step()
        dcp.save(state_of(model, optimizer), checkpoint_id=folder / str(step + 1))
    return [parameter.full_tensor().detach() for parameter in model.parameters()]  # type: ignore[attr-defined]


def last_whole_step(folder: Path) -> int:
    """The last step of which there is a whole checkpoint: the file of its metadata comes last."""
    return max((int(each.parent.name) for each in folder.glob("*/.metadata")), default=0)


def state_of(model: Any, optimizer: Any) -> dict[str, Any]:
    parameters, states = get_state_dict(model, optimizer)
    return {"model": parameters, "optimizer": states}


def load(model: Any, optimizer: Any, folder: Path) -> None:
    state = state_of(model, optimizer)
    dcp.load(state, checkpoint_id=folder)
    set_state_dict(
        model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"]
    )


@contextmanager
def looking_at_requests(look: Any) -> Iterator[None]:
    """Calls ``look(process, number)`` for each request that the process of a rank makes."""
    counts: Counter[int] = Counter()
    receive = RankProcess.receive

    def looking(process: RankProcess, *arguments: Any) -> Any:
        message = receive(process, *arguments)
        counts[process.rank] += 1
        look(process, counts[process.rank])
        return message

    with mock.patch.object(RankProcess, "receive", looking):
        yield


def run(folder: Path, look: Any = lambda process, number: None) -> Any:
    """Runs the training on processes."""
    with looking_at_requests(look):
        return simmesh.spmd_run(train, folder, world_size=RANKS, seats="processes")


def end_host_at(folder: Path, request: int) -> None:
    """Runs the training, writes the ids of its processes, and kills this process at a request of
    the last rank.
    """

    def look(process: RankProcess, number: int) -> None:
        (folder / f"process {process.pid}").touch()
        if process.rank == RANKS - 1 and number == request:
            os.kill(os.getpid(), signal.SIGKILL)

    run(folder, look)


if __name__ == "__main__":
    end_host_at(Path(sys.argv[1]), int(sys.argv[2]))
