"""The checks against other systems are counted, and none is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from changed_files import ROOT

RUN = ROOT / "tests/interop/run.py"


@pytest.mark.parametrize(
    ("script", "last_line", "status"),
    [
        ("echo pass a; echo noise; echo skip b", "1 passed, 0 failed, 1 skipped", 0),
        ("echo pass a; echo FAIL b: why", "1 passed, 1 failed", 1),
        ("echo pass a; exit 3", "1 passed, 1 failed", 1),
        ("echo skip b", "0 passed, 0 failed, 1 skipped", 1),
        ("true", "0 passed, 0 failed", 1),
    ],
)
def test_results_are_counted(script: str, last_line: str, status: int, tmp_path: Path) -> None:
    """Would fail if a check that fails, a crash, or a run without a check passed."""
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    words = ["--simmesh", "simmesh", "--samples", "true", "--out", str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, RUN, *words, python], check=False, capture_output=True, text=True
    )
    assert done.returncode == status
    assert done.stdout.splitlines()[-1] == last_line
    assert "noise" not in done.stdout
