"""How long do whole programs take, as a user starts them, and how much memory do they need?

Prints a table: the program, the least wall time and processor time of several runs in milliseconds,
and the largest resident set. The programs are those of the build, whose folder SIMMESH_PROGRAMS
names. ``--json`` prints lines of JSON.
"""

from __future__ import annotations

import os
import resource
import subprocess
import time
from pathlib import Path

import lines

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(os.environ.get("SIMMESH_PROGRAMS", ROOT / "build" / "release" / "bin"))
RUNS = 3

COMMANDS = {
    "zero3_70b": ["example_zero3_70b"],
    "llama_405b": ["example_llama_405b"],
    "compose": ["simmesh", "compose", "examples/compose/transformer.toml", "--sample", "40"],
    "gate": ["simmesh", "run", "examples/gates/transformer.toml"],
    "deadlock": ["example_deadlock"],
}


def least_seconds(command: list[str]) -> tuple[float, float]:
    """The least wall time and processor time of several runs."""
    wall, processor = float("inf"), float("inf")
    for _ in range(RUNS):
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run([PROGRAMS / command[0], *command[1:]], cwd=ROOT, check=False,
                              capture_output=True)  # fmt: skip
        took, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode in (0, 1), done.stderr
        wall = min(wall, took)
        processor = min(
            processor, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        )
    return wall, processor


def peak_bytes(command: list[str]) -> int:
    """The largest resident set of a run."""
    process = subprocess.Popen([PROGRAMS / command[0], *command[1:]], cwd=ROOT,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    _, _, usage = os.wait4(process.pid, 0)
    return 1024 * usage.ru_maxrss


def main() -> None:
    """Prints the table."""
    lines.text(f"{'program':12}{'wall, ms':>12}{'processor, ms':>16}{'bytes':>14}")
    for name, command in COMMANDS.items():
        wall, processor = least_seconds(command)
        peak = peak_bytes(command)
        lines.text(f"{name:12}{1e3 * wall:12.1f}{1e3 * processor:16.1f}{peak:14}")
        lines.value(f"{name} wall", 1e3 * wall)
        lines.value(f"{name} processor", 1e3 * processor)
        lines.value(f"{name} bytes", peak)


if __name__ == "__main__":
    main()
