"""How long does a switch between ranks take when packages are isolated?

Prints a table: the package that the program imports, the CPU time of a switch, and its ratio to
that of a turn of the engine alone, which is the limit, and to what is asked. Times are the least of
many short runs, so that noise counts for little. Each package gets a process of its own, because
all that are imported are isolated.

python switches.py [PACKAGE...]
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
import time

import torch

from simmesh import _core
from simmesh.torch import run
from simmesh.torch.isolation import packages

RANKS, TURNS, TIMES = 4, 100, 60
ASKED = 30.0


def of_engine(seconds: list[float]) -> None:
    """Passes the turn from rank to rank, without state that goes with it."""
    _core.run(lambda rank: _turns(rank, seconds), ranks=RANKS)


def of_torch(seconds: list[float]) -> None:
    """Passes the turn between ranks of a PyTorch program."""
    ran = run(lambda rank: _turns(rank, seconds), RANKS)
    assert ran.outcome.ok, ran.outcome.report


def _turns(rank: int, seconds: list[float]) -> None:
    begin = time.process_time()
    for _ in range(TURNS):
        _core.yield_now()
    if rank == 0:
        seconds.append((time.process_time() - begin) / (RANKS * TURNS))


def measure(package: str) -> None:
    """Prints a package's row."""
    if package:
        # In a rank, as programs do.
        assert run(lambda rank: importlib.import_module(package), RANKS).outcome.ok
    switches: list[float] = []
    limits: list[float] = []
    for _ in range(TIMES):
        of_torch(switches)
        of_engine(limits)
    switch, limit = min(switches) * 1e6, min(limits) * 1e6
    print(f"{package or 'none':18}{switch:10.1f}{limit:10.1f}{limit / switch:8.2f}{ASKED:10.0f}")


def main() -> None:
    """Prints the table."""
    known = [each for each in packages.KNOWN if importlib.util.find_spec(each) is not None]
    print(f"{'isolated':18}{'ours (us)':>10}{'limit':>10}{'ratio':>8}{'at most':>10}", flush=True)
    for package in ("", *(sys.argv[1:] or known)):
        subprocess.run([sys.executable, __file__, "--of", package], check=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[1:2] == ["--of"]:
        measure(sys.argv[2])
    else:
        main()
