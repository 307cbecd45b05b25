"""Which files a check looks at, and how many."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import pytest

import selection
from changed_files import ROOT, Checkout, Includes


def affected(changed: Sequence[str], includes: Includes) -> list[str]:
    return [path for path in changed if path in includes]


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that changed, as git would say."""
    paths = ["mesh/layout.h", "README.md", "mesh/layout.cpp", "mesh/device_mesh.cpp"]
    monkeypatch.setattr(Checkout, "base", lambda self, since: since and since * 40)
    monkeypatch.setattr(Checkout, "changed_since", lambda self, base: paths)
    return paths


def selected(*words: str, most: int = 9) -> selection.Selection:
    parser = argparse.ArgumentParser()
    selection.add_options(parser)
    return selection.select(parser.parse_args(words), affected, most)


def test_changed_files_are_bounded(changed: list[str]) -> None:
    """Would fail if a large change made CI take hours, or if what is left out went unsaid."""
    every = [path for path in changed if path != "README.md"]
    assert selected() == selection.Selection(every, "what changed last")
    assert selected("--since", "a").why == "changed since aaaaaaaaaaaa"
    last = selected(most=2)
    assert last.files == every[:2]
    assert last.why == "what changed last, the last 2 of 3 files that this affects"


def test_all_and_named_files_have_no_bound(
    changed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Would fail if --all left files out, or a path were not that of the caller's folder."""
    assert len(selected("--all", most=2).files) > 1000
    monkeypatch.chdir(ROOT / "mesh")
    assert selected("layout.h", "../core", most=1).files == ["mesh/layout.h", "core"]
