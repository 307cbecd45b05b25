"""Leaves out what needs torch where it is absent."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Skips the files that import torch, and those that run its tests."""
    if importlib.util.find_spec("torch") is not None or collection_path.suffix != ".py":
        return None
    imports = re.search(r"^(import|from) torch\b", collection_path.read_text(), re.MULTILINE)
    return True if imports or collection_path.name.startswith("test_torch") else None
