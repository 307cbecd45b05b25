"""Ranks look up once which backends packages offer, and see what changed since."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest
import torch.distributed as dist

import simmesh

GROUP = "torch.distributed.backends"


class _Counting:
    """A finder that has no distributions, and counts how often it is asked for all."""

    def __init__(self) -> None:
        self.count = 0

    def find_spec(self, *arguments: object) -> None:
        return None

    def find_distributions(self, context: object = None) -> list[object]:
        self.count += 1
        return []


def _make_groups() -> None:
    dist.new_group([0, 1])
    importlib.metadata.entry_points(group=GROUP)


def test_groups_of_all_ranks_look_once(monkeypatch: pytest.MonkeyPatch) -> None:
    # A first run's imports may add finders.
    assert simmesh.spmd_run(_make_groups, world_size=4).outcome.ok
    counting = _Counting()
    monkeypatch.setattr(sys, "meta_path", [counting, *sys.meta_path])
    for _ in range(2):
        assert simmesh.spmd_run(_make_groups, world_size=4).outcome.ok
    assert counting.count == 1
    importlib.metadata.entry_points(group=GROUP)
    assert counting.count == 2, "the host looks each time"


def test_other_questions_are_asked_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    counting = _Counting()
    monkeypatch.setattr(sys, "meta_path", [counting, *sys.meta_path])

    def program() -> None:
        importlib.metadata.entry_points(group="console_scripts")

    assert simmesh.spmd_run(program, world_size=2).outcome.ok
    asked_by_ranks = 2
    assert counting.count in (asked_by_ranks, asked_by_ranks + 1)


def test_a_package_that_was_installed_meanwhile_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))

    def names() -> list[str]:
        return [each.name for each in importlib.metadata.entry_points(group=GROUP)]

    assert "installed" not in simmesh.spmd_run(names, world_size=2).results[0]
    folder = tmp_path / "installed-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Name: installed\nVersion: 1.0\n", encoding="utf-8")
    (folder / "entry_points.txt").write_text(f"[{GROUP}]\ninstalled = m:f\n", encoding="utf-8")
    assert "installed" in simmesh.spmd_run(names, world_size=2).results[1]
