"""Loads the plugin where no wheel brings it, and leaves out what needs torch where it is absent."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any


def pytest_addoption(parser: Any, pluginmanager: Any) -> None:
    """Registers simmesh's plugin unless its wheel did."""
    if not pluginmanager.has_plugin("simmesh"):
        pluginmanager.import_plugin("simmesh.pytest_plugin")


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Skips the files that import torch."""
    if importlib.util.find_spec("torch") is not None or collection_path.suffix != ".py":
        return None
    imports = re.search(r"^(import|from) torch\b", collection_path.read_text(), re.MULTILINE)
    return True if imports else None
