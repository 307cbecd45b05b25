"""How long does an all-reduce of 64 ranks take over 1, 2 and 4 processes of MPI?

Beside it stands MPI's own all-reduce, with a process for each rank. Prints one JSON object a line,
{"name": ..., "us": ...}: the time of one all-reduce, of several the least.
"""

import os
import pathlib
import subprocess
import sys

RANKS = 64
ROOT = pathlib.Path(__file__).resolve().parents[2]


def open_mpi() -> dict[str, str]:
    """The environment in which Open MPI runs here: it counts cores, and refuses the user root."""
    lines = (ROOT / "scripts" / "open_mpi.env").read_text(encoding="utf-8").splitlines()
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


def run(processes: int, *arguments: str) -> None:
    """Runs the program in some processes, which print their lines themselves."""
    program = pathlib.Path(os.environ["SIMMESH_PROGRAMS"]) / "spread_all_reduce"
    if not program.exists():
        sys.exit("mpi.py: expected a build with MPI, got one without spread_all_reduce")
    command = ["mpirun", "-n", str(processes), str(program), *arguments]
    done = subprocess.run(command, check=False, env={**os.environ, **open_mpi()})
    if done.returncode:
        sys.exit(f"mpi.py: '{' '.join(command)}' ended with status {done.returncode}")


def main() -> None:
    for processes in (1, 2, 4):
        run(processes)
    run(RANKS, "own")


if __name__ == "__main__":
    main()
