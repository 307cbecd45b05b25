"""Programs that launchers, or the programs themselves, start as processes run on ranks."""

from __future__ import annotations

import importlib.util
import multiprocessing
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from simmesh.torch_tests import processes_as_ranks

LOCAL_RANK = """
import argparse, os, torch, torch.distributed as dist
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int)
parser.add_argument("--seed")
options = parser.parse_args()
dist.init_process_group("gloo")
tensor = torch.ones(1)
dist.all_reduce(tensor)
assert options.local_rank == int(os.environ["LOCAL_RANK"]) == dist.get_rank() % 2
print(f"has {tensor.item()} of {options.seed}")
if options.seed == "race":
    work = dist.all_reduce(tensor, async_op=True)
    tensor += dist.get_rank()
    work.wait()
"""

ACCELERATED = """
import sys, torch
from accelerate import Accelerator
accelerator = Accelerator()
total = accelerator.reduce(torch.ones(1)).item()
print(f"{accelerator.process_index} of {accelerator.num_processes} in "
      f"{accelerator.mixed_precision} has {total} of {sys.argv[1:]}")
"""

STARTING = """
import multiprocessing, os, sys
import torch, torch.distributed as dist, torch.multiprocessing as mp
seen = []
offset = 0
def worker(rank, world, results):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "29617"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    seen.append(rank)
    tensor = torch.tensor([rank + 1.0])
    dist.all_reduce(tensor)
    if "fail" in sys.argv and rank == 1: raise ValueError("on purpose")
    print("rank", rank, "has", tensor.item() + offset, seen)
    results.put(rank)
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    offset = 10
    results = context.SimpleQueue()
    made = [context.Process(target=worker, args=(rank, 3, results)) for rank in range(3)]
    for process in made: process.start()
    print("host has", sorted(results.get() for _ in made))
    for process in made: process.join()
    print("codes", [process.exitcode for process in made], seen)
"""


def command(folder: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a command of simmesh on a script."""
    (folder / "train.py").write_text(script)
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=folder, text=True, capture_output=True, check=False
    )


def needs(package: str) -> None:
    """Skips a test where a package isn't installed."""
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"needs the package {package}")


def test_deepspeeds_launcher(tmp_path: Path) -> None:
    """Would fail if a rank lacked the argument that DeepSpeed's launcher gives, or a race hid."""
    needs("deepspeed")
    words = ["simmesh", "deepspeed", "--num_gpus", "2", "--num_nodes", "2", "--schedules", "20"]
    ran = command(tmp_path, LOCAL_RANK, *words, "train.py", "--seed", "race")
    assert ran.stdout.splitlines().count("has 4.0 of race") == 4, ran.stderr
    assert ran.returncode == 1 and "expected equal bits under every schedule" in ran.stderr
    reproduce = ran.stderr.splitlines()[-1]
    assert reproduce.startswith("reproduce: simmesh deepspeed --schedule ")
    assert reproduce.endswith("train.py --seed race")


def test_accelerates_launcher(tmp_path: Path) -> None:
    """Would fail if ranks lacked the variables by which accelerate's launcher chooses."""
    needs("accelerate")
    words = ["simmesh", "accelerate", "launch", "--num_processes", "2", "--mixed_precision", "bf16"]
    ran = command(tmp_path, ACCELERATED, *words, "--schedules", "2", "--no-certificate",
                  "train.py", "--seed", "4")  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    expected = [f"{rank} of 2 in bf16 has 2.0 of ['--seed', '4']" for rank in range(2)]
    assert sorted(ran.stdout.splitlines()[:-1]) == expected
    assert ran.stdout.splitlines()[-1].startswith("2 schedules, data hash")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_that_a_script_starts_are_ranks(tmp_path: Path, method: str) -> None:
    """Would fail if processes ran in place of ranks, or a rank changed the host's globals."""
    words = ["simmesh.torch", "--schedules", "3", "train.py", method]
    ran = command(tmp_path, STARTING, *words)
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    value = 16.0 if method == "fork" else 6.0
    assert sorted(lines[:3]) == [f"rank {rank} has {value} [{rank}]" for rank in range(3)]
    assert lines[3:5] == ["host has [0, 1, 2]", "codes [0, 0, 0] []"]
    assert lines[5].startswith("3 schedules, data hash")


def test_a_started_process_that_fails_is_reported(tmp_path: Path) -> None:
    """Would fail if the host waited for what a failed rank never puts into its queue."""
    ran = command(tmp_path, STARTING.replace("results.get()", "0"), "simmesh.torch", "train.py",
                  "spawn", "fail")  # fmt: skip
    assert ran.returncode == 1
    assert "rank 1 failed: ValueError: on purpose" in ran.stderr


def summed(rank: int, world: int, race: bool = False) -> None:
    """The body of a process of a harness."""
    dist.init_process_group("gloo", init_method="tcp://localhost:1", rank=rank, world_size=world)
    tensor = torch.full((2,), rank + 1.0)
    work = dist.all_reduce(tensor, async_op=True)
    if race:
        tensor *= 0.5
    work.wait()
    assert race or tensor[0] == world * (world + 1) / 2


def in_process(*arguments: Any, **options: Any) -> list[int | None]:
    """Runs a function as processes of multiprocessing, as a harness does; returns their codes."""
    context = multiprocessing.get_context("spawn")
    made = [context.Process(target=summed, args=(rank, *arguments), kwargs=options)
            for rank in range(3)]  # fmt: skip
    for each in made:
        each.start()
    for each in made:
        each.join()
    return [each.exitcode for each in made]


def test_a_harness_of_processes_runs_on_ranks() -> None:
    """Would fail if the hook started processes, or lost a failure or a race."""
    with processes_as_ranks(schedules=20):
        mp.spawn(summed, args=(3,), nprocs=3)
        assert in_process(3) == [0, 0, 0]
        with pytest.raises(AssertionError, match="expected equal bits under every schedule"):
            mp.spawn(summed, args=(3, True), nprocs=3)
        with pytest.raises(mp.ProcessRaisedException, match="world_size"):
            mp.spawn(summed, args=(4,), nprocs=3)
        codes = in_process(4)
        assert 1 in codes and 0 not in codes
    assert mp.spawn.__module__ == "torch.multiprocessing.spawn"
