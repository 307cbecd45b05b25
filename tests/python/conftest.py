"""Leaves out what needs torch where it is absent, and marks what differs on processes."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Skips the files that import torch, and those that run its tests."""
    if importlib.util.find_spec("torch") is not None or collection_path.suffix != ".py":
        return None
    imports = re.search(r"^(import|from) torch\b", collection_path.read_text(), re.MULTILINE)
    return True if imports or collection_path.name.startswith("test_torch") else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the tests that can't pass where the ranks of all tests are processes."""
    if config.getoption("--simmesh-seats", "threads") == "processes":
        from process_differences import DIFFERENCES, mark

        mark(items, DIFFERENCES)
