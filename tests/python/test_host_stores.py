"""Stores of PyTorch's C++ code that the host made, as ranks use them together."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, Callable

import pytest

pytest.importorskip("torch")

import torch.distributed as dist

from simmesh.torch import run

MAKE: dict[str, Callable[[Path], Any]] = {
    "hash": lambda folder: dist.HashStore(),
    "file": lambda folder: dist.FileStore(str(folder / "store"), 2),
    "prefix": lambda folder: dist.PrefixStore("before", dist.HashStore()),
}


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("schedule", ["fifo", "seeded:1", "seeded:2"])
def test_a_rank_gets_what_another_one_sets_later(kind: str, schedule: str, tmp_path: Path) -> None:
    """Would fail if a rank that waits for a key kept its turn."""
    store = MAKE[kind](tmp_path)

    def body(rank: int) -> list[Any]:
        if rank == 0:
            store.wait(["key"])
            return [store.get("key"), store.get("other"), store.check(["none"])]
        store.set("key", "value")
        return [store.get("key"), store.add("other", 3), store.compare_set("key", "", "no")]

    ran = run(body, 2, schedule=schedule)
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == [[b"value", b"3", False], [b"value", 3, b"value"]]


def test_a_wait_for_a_key_that_nobody_sets_ends() -> None:
    """Would fail if the wait took wall time, or ended without the key's name."""
    store = dist.HashStore()

    def body(rank: int) -> None:
        store.wait(["missing"], timedelta(hours=1))

    report = run(body, 2).outcome.report
    assert "wait timeout after 1:00:00" in report
    assert "['missing']" in report


def test_the_order_of_writes_is_the_schedules() -> None:
    """Would fail if no schedule could let another rank write first."""

    def last(schedule: str) -> bytes:
        store = dist.HashStore()
        ran = run(lambda rank: store.set("key", str(rank)), 2, schedule=schedule)
        assert ran.outcome.ok, ran.outcome.report
        return bytes(store.get("key"))

    assert {last(f"seeded:{seed}") for seed in range(10)} == {b"0", b"1"}
