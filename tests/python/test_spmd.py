"""Tests that run on every rank: they pass, fail with their own error, and are told apart by their
bits.
"""

from __future__ import annotations

import collections
import concurrent.futures
import copy
import datetime
import decimal
import enum
import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import torch
import torch.distributed as dist

import simmesh
from simmesh.torch.fingerprint import fingerprint


@simmesh.spmd(world_size=3, schedules=8)
def test_runs_on_every_rank() -> torch.Tensor:
    """Would fail if ranks had no default group, or one group for all."""
    tensor = torch.full((2,), float(dist.get_rank() + 1))
    dist.all_reduce(tensor)
    assert dist.get_world_size() == 3
    assert tensor.tolist() == [6.0, 6.0]
    return tensor


@pytest.mark.simmesh(world_size=2, schedules=4)
def test_marker_runs_on_every_rank(tmp_path: object) -> None:
    """Would fail if the marker ran the test on the host, or without its fixtures."""
    assert dist.get_world_size() == 2
    assert tmp_path is not None


def test_fixture_returns_the_ranks_results(spmd) -> None:  # type: ignore[no-untyped-def]
    """Would fail if results were in another order than the ranks."""
    assert spmd(lambda: dist.get_rank() * 10, world_size=4, schedules=3).results == [0, 10, 20, 30]


def test_raises_what_a_rank_raises_with_the_report() -> None:
    """Would fail if a rank's exception lost its class or the report of the other ranks."""

    @simmesh.spmd(world_size=2)
    def program() -> None:
        if dist.get_rank() == 1:
            raise KeyError("lost")
        dist.barrier()

    with pytest.raises(KeyError) as raised:
        program()
    if hasattr(raised.value, "__notes__"):
        assert "rank 1" in raised.value.__notes__[0]
        assert "reproduce: pytest tests/python/test_spmd.py" in raised.value.__notes__[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"world_size": 0}, "world_size: expected a whole number of at least 1, got 0"),
        ({"world_size": "4"}, "world_size: expected a whole number of at least 1, got '4'"),
        ({"schedules": 0}, "schedules: expected a whole number of at least 1, got 0"),
        ({"schedules": True}, "schedules: expected a whole number of at least 1, got True"),
        ({"seed": 0.5}, "seed: expected a whole number, got 0.5"),
        ({"timeout": -1}, "timeout: expected seconds, finite and not negative, got -1"),
        ({"timeout": float("nan")}, "timeout: expected seconds, finite and not negative, got nan"),
        ({"isolate": "json.x"}, "isolate: expected a list of names, got the text 'json.x'"),
    ],
)
def test_nonsense_is_refused_where_it_is_written(options: dict[str, object], message: str) -> None:
    """Would fail if an option that can't be meant waited for the test to run, or ran nothing."""
    with pytest.raises(ValueError) as raised:
        simmesh.spmd(**options)(lambda: None)
    assert str(raised.value) == f"[python/spmd] {message}"


def test_a_body_that_does_not_run_is_refused() -> None:
    """Would fail if a coroutine or generator, whose asserts never run, passed."""

    @simmesh.spmd
    async def coroutine() -> None:
        pytest.fail("runs")

    @simmesh.spmd
    def generator() -> Iterator[None]:
        yield
        pytest.fail("runs")

    for program, what in ((coroutine, "coroutine"), (generator, "generator")):
        with pytest.raises(TypeError, match=f"whose body has not run: it returns a {what}"):
            program()


def test_an_unknown_backend_is_refused_as_torch_refuses_it() -> None:
    """Would fail if a misspelt backend ran."""
    with pytest.raises(AssertionError, match="Unknown backend type glo: expected one of"):
        simmesh.spmd(backend="glo")(lambda: None)()
    simmesh.spmd(backend="cpu:gloo,cuda:nccl", schedules=1)(lambda: None)()


def fails(value: int) -> None:
    assert dist.get_rank() != value


def test_the_line_that_reproduces_a_run_is_a_call() -> None:
    """Would fail if the line named a command that doesn't exist."""
    outcome = simmesh.spmd_run(fails, 2, world_size=3, schedule="pct:2", schedule_seed=5, seed=7)
    assert outcome.outcome.report.splitlines()[-1] == (
        "reproduce: simmesh.spmd_run(fails, 2, schedule='pct:2', schedule_seed=5, world_size=3, "
        "arithmetic='exact', seed=7)"
    )
    report = simmesh.World(2).run(lambda rank: 1 // rank).report
    assert "reproduce: simmesh.World(2, schedule='fifo', seed=0, " in report


def test_too_many_ranks_are_refused_at_once() -> None:
    """Would fail if memory were taken for each rank first."""
    with pytest.raises(ValueError, match="world_size: expected at most 10000"):
        simmesh.spmd_run(lambda: None, world_size=10**9)
    with pytest.raises(ValueError, match="ranks: expected 1 to 10000"):
        simmesh.World(10**9).run(lambda rank: None)


def test_runs_of_several_threads_follow_one_another() -> None:
    """Would fail if two runs took each other's ranks and state."""

    def program() -> float:
        tensor = torch.ones(1)
        dist.all_reduce(tensor)
        return tensor.item()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(simmesh.spmd_run, program, world_size=3) for _ in range(8)]
        for each in runs:
            assert each.result().outcome.ok, each.result().outcome.report
            assert each.result().results == [3.0] * 3


def test_a_result_without_memory_is_refused() -> None:
    """Would crash if its elements were read."""

    def program() -> torch.Tensor:
        tensor = torch.ones(4)
        tensor.untyped_storage().resize_(0)
        return tensor

    ran = simmesh.spmd_run(program, world_size=2)
    assert not ran.outcome.ok and "return a clone" in ran.outcome.report


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Plain:
    def __init__(self, value: Any) -> None:
        self.value = value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (numpy.arange(3), numpy.arange(1, 4)),
        (numpy.float32(1), numpy.float32(2)),
        (numpy.float32(1), numpy.float64(1)),
        ({1, 2}, {1, 3}),
        (frozenset("ab"), frozenset("ac")),
        (Color.RED, Color.BLUE),
        (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
        (bytearray(b"a"), bytearray(b"b")),
        (collections.deque([1]), collections.deque([2])),
        (torch.float32, torch.float64),
        (Plain([1]), Plain([2])),
        ([[1], 2], [[1, 2]]),
        (int, float),
        (datetime.timedelta(1), datetime.timedelta(2)),
    ],
)
def test_results_are_compared_by_value(one: Any, other: Any) -> None:
    """Would fail if results that differ between schedules counted as equal."""
    assert fingerprint(one) == fingerprint(copy.deepcopy(one))
    assert fingerprint(one) != fingerprint(other)


def test_sets_are_compared_without_their_order() -> None:
    assert fingerprint({f"{i}" for i in range(9)}) == fingerprint({f"{8 - i}" for i in range(9)})


def test_values_that_hold_themselves_are_compared() -> None:
    ring: list[Any] = [1]
    ring.append(ring)
    assert fingerprint(ring) == fingerprint(ring)


@pytest.mark.parametrize("value", [lambda: None, threading.Lock(), open])
def test_results_without_a_value_are_refused_by_their_type(value: Any) -> None:
    """Would fail if something that can't be compared counted as equal."""
    outcome = simmesh.spmd_run(lambda: [value], world_size=2).outcome
    assert isinstance(outcome.exception, TypeError)
    assert type(value).__qualname__ in outcome.message


def test_text_that_is_no_unicode_keeps_its_place() -> None:
    """Would fail if such an exception became another one."""

    def program() -> None:
        raise ValueError("\udc80")

    outcome = simmesh.spmd_run(program, world_size=2).outcome
    assert "ValueError: \\udc80, at test_spmd.py:" in outcome.message
