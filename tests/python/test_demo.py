"""The demo shows what it promises, and the default gates can be copied and run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from repository import GATES


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in a folder."""
    return subprocess.run(
        [sys.executable, "-m", "simmesh", *arguments],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_demo_shows_a_step_a_bug_and_a_hang(tmp_path: Path) -> None:
    """Would fail if a stranger's first command failed, or found less than it says."""
    ran = command(tmp_path, "demo")
    assert ran.returncode == 0 and not ran.stderr, ran.stdout + ran.stderr
    for part in (
        "20 orders of the ranks gave 1 result, all 24 elements with the bits of one device",
        "expected 2.3249998, got 2.3374999",
        "[engine/deadlock] no rank can run, 3 of 4 have not returned",
        "rank 3: had returned",
    ):
        assert part in ran.stdout


def test_the_default_gates_are_listed_and_copied(tmp_path: Path) -> None:
    """Would fail if the package lacked a gate."""
    names = sorted(path.stem for path in GATES.glob("*.toml"))
    listed = command(tmp_path, "gates").stdout.splitlines()
    assert [line.split(":")[0] for line in listed[:-1]] == names
    assert all(line.split(": ", 1)[1] for line in listed[:-1])
    assert command(tmp_path, "gates", "mine").returncode == 0
    assert sorted(path.stem for path in (tmp_path / "mine").iterdir()) == names
    ran = command(tmp_path, "run", "--quiet", "mine/mlp.toml")
    assert ran.returncode == 0 and ran.stdout.endswith("passed, 0 failed\n")


def test_no_gate_is_overwritten(tmp_path: Path) -> None:
    """Would fail if a second copy lost what a user changed."""
    (tmp_path / "mlp.toml").write_text("mine")
    ran = command(tmp_path, "gates", ".")
    assert ran.returncode == 2 and "got mlp.toml" in ran.stderr
    assert (tmp_path / "mlp.toml").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 1
