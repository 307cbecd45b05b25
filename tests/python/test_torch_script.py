"""The command that runs a script on every rank: its status, its output and what it reproduces."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simmesh.exploration import Exploration
from simmesh.torch.__main__ import parser, run_program
from simmesh.torch.script import read_script

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
    options = ["--ranks", "3", "--schedules", "5", "--no-certificate"]
    ran = command(tmp_path, *options, "train.py", "--epochs", "2")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert sorted(lines[:-1]) == [f"rank {rank} of 3" for rank in range(3)]
    assert re.fullmatch("5 schedules, data hash [0-9a-f]{16}", lines[-1])


def test_one_schedule_is_no_plural() -> None:
    """Would fail if one run were told as "1 schedules"."""
    first: Any = None
    texts = [Exploration(first, count).text() for count in (1, 2)]
    assert texts == ["1 schedule", "2 schedules"]


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


SPAWNING = """
import os, sys, torch, torch.distributed as dist, torch.multiprocessing as mp
seen = []
def worker(rank, world):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "29617"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    seen.append(rank)
    tensor = torch.tensor([rank + 1.0])
    dist.all_reduce(tensor)
    if "fail" in sys.argv and rank == 1: raise ValueError("on purpose")
    print("rank", rank, "has", tensor.item(), seen, __name__)
    dist.destroy_process_group()
if __name__ == "__main__":
    print("host")
    mp.spawn(worker, args=(3,), nprocs=3)
"""


def test_a_script_that_spawns_its_processes_gets_ranks(tmp_path: Path) -> None:
    """Would fail if processes ran in place of ranks, shared globals, or printed once a schedule."""
    (tmp_path / "spawn.py").write_text(SPAWNING)
    ran = command(tmp_path, "--schedules", "4", "spawn.py")
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0] == "host"
    assert sorted(lines[1:4]) == [f"rank {rank} has 6.0 [{rank}] __mp_main__" for rank in range(3)]
    assert re.fullmatch("4 schedules, data hash (?!0{16})[0-9a-f]{16}", lines[4])


def test_a_spawned_rank_that_fails_is_reported(tmp_path: Path) -> None:
    (tmp_path / "spawn.py").write_text(SPAWNING)
    ran = command(tmp_path, "spawn.py", "fail")
    assert ran.returncode == 1
    assert "rank 1 failed: ValueError: on purpose, at spawn.py:" in ran.stderr
    assert "reproduce: python -m simmesh.torch" in ran.stderr


def test_ranks_without_a_process_group_are_warned_of(tmp_path: Path) -> None:
    """Would fail if a script whose ranks never met passed for one that was checked."""
    (tmp_path / "alone.py").write_text("print(1)")
    ran = command(tmp_path, "--ranks", "2", "alone.py")
    assert ran.returncode == 0
    assert "warning: no rank made a process group" in ran.stderr


def test_a_rank_that_never_gives_up_its_turn_ends_with_status_1(tmp_path: Path) -> None:
    """Would fail if the thread that goes on aborted the interpreter at its end."""
    (tmp_path / "loop.py").write_text(
        "import torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "while dist.get_rank() == 0: pass\n"
        "dist.barrier()\n"
    )
    ran = command(tmp_path, "--ranks", "2", "--timeout", "3", "loop.py")
    assert "rank 0 has not given up its turn" in ran.stderr
    assert "Fatal" not in ran.stderr
    assert ran.returncode == 1


def test_a_crash_in_c_code_names_rank_calls_and_command(tmp_path: Path) -> None:
    """Would fail if the process ended without a word."""
    (tmp_path / "crash.py").write_text(
        "import ctypes, torch.distributed as dist\n"
        "dist.init_process_group('gloo')\n"
        "dist.barrier()\n"
        "if dist.get_rank() == 1: ctypes.string_at(0)\n"
    )
    ran = command(tmp_path, "--ranks", "2", "crash.py")
    assert ran.returncode < 0
    assert "[engine/crash] rank 1 was ended by SIGSEGV" in ran.stderr
    assert 'crash.py", line 4' in ran.stderr
    assert "reproduce: python -m simmesh.torch --ranks 2" in ran.stderr


def test_exact_ranks_report_a_race_in_the_first_run(tmp_path: Path) -> None:
    """Would fail if the command lost the way in which operators are computed, or its switch."""
    words = ("--ranks", "2", "--local", "exact")
    ran = command(tmp_path, *words, "train.py", "race")
    assert ran.returncode == 1
    assert "writes a tensor that allreduce" in ran.stderr
    assert "--local exact" in ran.stderr.splitlines()[-1]
    assert command(tmp_path, *words, "--no-check-accesses", "train.py", "race").returncode == 0


SHARING = """
import sys, torch.distributed as dist
from framework import table
dist.init_process_group("gloo")
def check():
    assert table.setdefault("rank", dist.get_rank()) == dist.get_rank(), "found another rank"
def outer():
    check()
dist.barrier()
outer() if "fail" not in sys.argv else __import__("framework").refuse()
"""


def framework(folder: Path) -> None:
    """Writes a package that keeps a table, and a script that uses it."""
    (folder / "framework").mkdir()
    (folder / "framework" / "__init__.py").write_text(
        "table = {}\ndef refuse():\n    raise KeyError('refused') from ValueError('first')\n"
    )
    (folder / "share.py").write_text(SHARING)


def test_packages_are_isolated_by_name(tmp_path: Path) -> None:
    """Would fail if ranks shared what a package keeps, or the report didn't say that they don't."""
    framework(tmp_path)
    words = ["--ranks", "2", "share.py"]
    shared = command(tmp_path, *words)
    assert shared.returncode == 1
    assert "isolated:" not in shared.stderr
    isolated = command(tmp_path, "--isolate", "framework", *words)
    assert isolated.returncode == 0, isolated.stderr
    assert isolated.stderr == "isolated: framework\n"


def test_an_exception_is_reported_with_its_traceback(tmp_path: Path) -> None:
    """Would fail if lines of the program or of a package were missing, or ours were there."""
    framework(tmp_path)
    failed = command(tmp_path, "--ranks", "2", "share.py", "fail")
    for line in ("in <module>", "in refuse", "ValueError: first", "direct cause of", "KeyError"):
        assert line in failed.stderr
    assert "simmesh/torch/" not in failed.stderr
    assert "note: ranks share what the package framework keeps" in failed.stderr
    assert "note: " not in command(tmp_path, "--ranks", "2", "share.py").stderr


def test_a_module_is_run_by_its_name(tmp_path: Path) -> None:
    """Would fail if the module didn't know its package, or its line didn't reproduce it."""
    framework(tmp_path)
    (tmp_path / "framework" / "train.py").write_text(
        "import sys, torch.distributed as dist\nfrom . import table\n"
        "dist.init_process_group('gloo')\nprint(__name__, __package__, sys.argv[1:])\n"
        "assert 'fail' not in sys.argv\n"
    )
    (tmp_path / "framework" / "__main__.py").write_text("from . import train\n")
    ran = command(tmp_path, "--ranks", "2", "-m", "framework.train", "-x")
    assert ran.stdout.splitlines()[:2] == ["__main__ framework ['-x']"] * 2, ran.stderr
    assert command(tmp_path, "--ranks", "2", "-m", "framework").returncode == 0
    failed = command(tmp_path, "--ranks", "2", "-m", "framework.train", "fail")
    assert "reproduce: python -m simmesh.torch --ranks 2" in failed.stderr
    assert failed.stderr.rstrip().endswith("-m framework.train fail")
    assert command(tmp_path, "-m", "framework.missing").returncode == 2


def test_a_script_is_read_in_the_encoding_that_it_names(tmp_path: Path) -> None:
    """Would fail if a script that Python runs were refused, or an error didn't name the file."""
    script = tmp_path / "old.py"
    script.write_bytes(b"# -*- coding: latin-1 -*-\nname = '\xe9'\n")
    main = read_script(script).main()
    exec(read_script(script).code, vars(main))
    assert main.name == "\u00e9"
    assert run_program(parser().parse_args(["--ranks", "1", str(script)])) == 0
    script.write_bytes(b"name = '\xe9'\n")
    with pytest.raises(SyntaxError, match=re.escape("old.py")):
        read_script(script)


def test_no_schedules_are_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Would fail if a run under no schedule passed, or ended with a traceback."""
    (tmp_path / "train.py").write_text("")
    options = parser().parse_args(["--schedules", "0", str(tmp_path / "train.py")])
    assert run_program(options) == 2
    assert "--schedules: expected a number of at least 1, got 0" in capsys.readouterr().err


def test_torchruns_own_words_start_ranks(tmp_path: Path) -> None:
    """Would fail if an option of torchrun were refused, or ranks on nodes had other variables."""
    (tmp_path / "nodes.py").write_text(
        "import os, torch.distributed as dist\ndist.init_process_group('gloo')\n"
        "print(*(os.environ[name] for name in ('RANK', 'LOCAL_RANK', 'GROUP_RANK', 'WORLD_SIZE')),"
        " dist.is_torchelastic_launched())\n"
    )
    words = [sys.executable, "-m", "simmesh", "torchrun", "--nnodes", "1:2", "--rdzv-backend=c10d",
             "--rdzv_endpoint", "localhost:29400", "--standalone", "--nproc_per_node=2",
             "--schedules", "2", "nodes.py"]  # fmt: skip
    ran = subprocess.run(words, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    expected = [f"{rank} {rank % 2} {rank // 2} 4 True" for rank in range(4)]
    assert sorted(ran.stdout.splitlines()[:4]) == expected
    words[4:] = ["--no-python", "true"]
    refused = subprocess.run(words, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert (refused.returncode, "expected a script of Python" in refused.stderr) == (2, True)
