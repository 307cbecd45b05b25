"""Groups that programs make by the class ProcessGroupGloo, and the timeouts that they set."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import torch
import torch.distributed as dist

import simmesh

RANKS = 2


def results(program: Callable[[], Any]) -> list[Any]:
    """The results of all ranks."""
    ran = simmesh.spmd_run(program, world_size=RANKS)
    assert ran.outcome.ok, ran.outcome.report
    return ran.results


def made(store: str = "one") -> Any:
    """A group of all ranks, made by the class."""
    options = dist.ProcessGroupGloo._Options()
    options._devices = [dist.ProcessGroupGloo.create_device(hostname="127.0.0.1")]
    rank = int(dist.get_rank())
    return dist.ProcessGroupGloo(dist.FileStore(store, RANKS), rank, RANKS, options)


def of_the_class() -> list[Any]:
    rank = dist.get_rank()
    group: Any = made()
    summed = torch.tensor([rank + 1.0])
    group.allreduce(summed).wait()
    sent = [torch.tensor([10.0 * rank + index]) for index in range(2)]
    options = dist.BroadcastOptions()
    options.rootRank, options.rootTensor = 1, 1
    group.broadcast(sent, options).wait()
    rows = [[torch.zeros(1) for _ in range(4)] for _ in range(2)]
    inputs = [torch.tensor([10.0 * rank + index]) for index in range(2)]
    future = group.allgather(rows, inputs).get_future()
    future.wait()
    return [summed, sent, future.value()]


def test_collectives_of_such_a_group() -> None:
    """Would fail if the group waited for other processes, or left out a rank's second tensor."""
    every = [[0.0], [1.0], [10.0], [11.0]]
    for summed, sent, gathered in results(of_the_class):
        assert summed.tolist() == [3.0]
        assert [each.tolist() for each in sent] == [[11.0], [11.0]]
        assert [[each.tolist() for each in row] for row in gathered] == [every, every]


def of_another_group() -> list[float]:
    backend = made("two")
    backend._set_sequence_number_for_group()
    group = dist.ProcessGroup(dist.FileStore("three", RANKS), dist.get_rank(), RANKS)
    group._set_default_backend(dist.ProcessGroup.BackendType.GLOO)
    group._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, backend)
    value = torch.tensor([dist.get_rank() + 1.0])
    group.allreduce([value], dist.AllreduceOptions()).wait()
    values: list[float] = value.tolist()
    return values


def test_a_programs_own_group_has_it_as_its_backend() -> None:
    """Would fail if the collectives of such a group computed nothing."""
    assert results(of_another_group) == [[3.0], [3.0]]


def with_a_timeout() -> str:
    group: Any = dist.group.WORLD
    group.set_timeout(timedelta(milliseconds=5))
    if dist.get_rank() == 0:
        with pytest.raises(RuntimeError) as caught:
            group.allreduce([torch.ones(1)]).wait()
        return str(caught.value)
    return ""


def test_a_timeout_names_the_operation() -> None:
    """Would fail if a timeout that is set later had no effect, or the error an address."""
    text = results(with_a_timeout)[0]
    assert "[torch/work] rank 0: Timed out waiting 5ms for all_reduce of group" in text
    assert "[0, 1] at test_gloo_groups.py:" in text and "0x" not in text
