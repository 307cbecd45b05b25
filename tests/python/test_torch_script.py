"""The command that runs a script on every rank: its status, its output and what it reproduces."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys, torch, torch.distributed as dist
class Own:
    def __init__(self, rank): self.rank = rank
dist.init_process_group("gloo")
objects = [None] * dist.get_world_size()
dist.all_gather_object(objects, Own(dist.get_rank()))
assert all(isinstance(each, Own) for each in objects)
tensor = torch.ones(1)
work = dist.all_reduce(tensor, async_op=True)
if "race" in sys.argv: tensor += dist.get_rank()
work.wait()
dist.all_reduce(tensor)
print(f"rank {dist.get_rank()} of {len(objects)}")
if "fail" in sys.argv and dist.get_rank() == 1: sys.exit(3)
"""


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command on the script."""
    (folder / "train.py").write_text(SCRIPT)
    words = [sys.executable, "-m", "simmesh.torch", *arguments]
    return subprocess.run(words, cwd=folder, text=True, capture_output=True, check=False)


def test_runs_a_script_on_every_rank(tmp_path: Path) -> None:
    """Would fail if ranks shared a module, or the output came once for every schedule."""
    ran = command(tmp_path, "--ranks", "3", "--schedules", "5", "train.py", "--epochs", "2")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert sorted(lines[:-1]) == [f"rank {rank} of 3" for rank in range(3)]
    assert re.fullmatch("5 schedules, data hash [0-9a-f]{16}", lines[-1])


def test_a_race_is_reproduced_by_its_line(tmp_path: Path) -> None:
    """Would fail if the printed line didn't show the same bits."""
    ran = command(tmp_path, "--ranks", "3", "--schedules", "30", "train.py", "race")
    assert ran.returncode == 1
    difference, line = ran.stderr.splitlines()[:2]
    assert "expected equal bits under every schedule" in difference
    again = command(tmp_path, *shlex.split(line.partition("simmesh.torch ")[2]))
    assert again.returncode == 1
    assert again.stderr.splitlines()[0] == difference


def test_a_script_that_fails_or_is_missing(tmp_path: Path) -> None:
    """Would fail if a failure of one rank ended the command with success."""
    failed = command(tmp_path, "train.py", "fail")
    assert failed.returncode == 1
    assert "got 3" in failed.stderr
    missing = command(tmp_path, "missing.py")
    assert missing.returncode == 2
    assert "missing.py" in missing.stderr
