"""Tests that run on every rank: they pass, fail with their own error, and are told apart by their
bits.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
import torch.distributed as dist

import simmesh


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
        assert "reproduce: pytest 'tests/python/test_spmd.py" in raised.value.__notes__[0]


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
