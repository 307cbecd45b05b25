"""SIGTERM ends a command and all that its ranks started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")

# Rank 0 waits for two processes, one of which ignores SIGTERM; their ids are in a file.
_SCRIPT = """\
import os, subprocess, sys
import torch.distributed as dist
dist.init_process_group("gloo")
if dist.get_rank() == 0:
    stubborn = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(300)"
    started = [subprocess.Popen([sys.executable, "-c", text])
               for text in (stubborn, "import time; time.sleep(300)")]
    with open(sys.argv[1] + ".part", "w") as file:
        file.write(" ".join(str(each.pid) for each in started))
    os.rename(sys.argv[1] + ".part", sys.argv[1])
    started[1].wait()
dist.barrier()
"""


def runs(process: int) -> bool:
    """True until a process has ended."""
    try:
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize("words", [["simmesh", "torchrun", "--nproc-per-node", "2"],
                                   ["simmesh.torch", "--ranks", "2", "--schedules", "3",
                                    "--jobs", "2"]])  # fmt: skip
def test_sigterm_leaves_no_process(words: list[str], tmp_path: Path) -> None:
    """Would fail if a command that is ended left a process that a rank started."""
    script, noted = tmp_path / "script.py", tmp_path / "noted"
    script.write_text(_SCRIPT, encoding="utf-8")
    command = subprocess.Popen([sys.executable, "-m", *words, str(script), str(noted)])
    stop = time.monotonic() + 300
    while not noted.exists() and command.poll() is None and time.monotonic() < stop:
        time.sleep(0.05)
    processes = [int(word) for word in noted.read_text(encoding="utf-8").split()]
    assert all(map(runs, processes))
    os.kill(command.pid, signal.SIGTERM)
    assert command.wait(60) == -signal.SIGTERM
    assert not any(map(runs, processes))
