"""Loads the plugin where no wheel brings it, and leaves out what needs torch where that isn't
installed.
"""

from __future__ import annotations

import importlib.util
from typing import Any

_WITHOUT_TORCH = {"test_command.py"}


def pytest_addoption(parser: Any, pluginmanager: Any) -> None:
    """Registers simmesh's plugin unless its wheel did."""
    if not pluginmanager.has_plugin("simmesh"):
        pluginmanager.import_plugin("simmesh.pytest_plugin")


def pytest_ignore_collect(collection_path: Any) -> bool | None:
    """Skips the files that need torch."""
    if importlib.util.find_spec("torch") is not None or collection_path.suffix != ".py":
        return None
    return None if collection_path.name in _WITHOUT_TORCH else True
