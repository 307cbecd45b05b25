"""The model of the peers' benchmarks of gloo processes, one for each rank, and their time."""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from typing import Any, Callable


def three_layers(torch: Any, width: int) -> Any:
    """Returns three linear layers with the same values on every rank."""
    torch.manual_seed(0)
    linear, relu = torch.nn.Linear, torch.nn.ReLU
    return torch.nn.Sequential(
        linear(width, width), relu(), linear(width, width), relu(), linear(width, width)
    )


def free_port() -> int:
    """Returns a port that is free."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def time_processes(script: str, ranks: int) -> float:
    """Returns the seconds from the start of the ranks to the end of the last one."""
    port = free_port()
    started = time.perf_counter()
    processes = [
        subprocess.Popen(
            [sys.executable, os.path.abspath(script), "--rank", str(rank), "--port", str(port)],
            stdout=subprocess.DEVNULL,
        )
        for rank in range(ranks)
    ]
    statuses = [process.wait() for process in processes]
    if any(statuses):
        sys.exit(f"{os.path.basename(script)}: ranks ended with {statuses}")
    return time.perf_counter() - started


def main(
    script: str, page: str | None, name: str, ranks: int, run_rank: Callable[[int, int], None]
) -> None:
    """Is the rank that the command line names; else prints the least time of several runs."""
    parser = argparse.ArgumentParser(description=(page or script).splitlines()[0])
    parser.add_argument("--rank", type=int, help="be this rank; without it, all are started")
    parser.add_argument("--port", type=int, help="where the ranks meet")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    if options.rank is not None:
        run_rank(options.rank, options.port)
        return
    seconds = min(time_processes(script, ranks) for _ in range(options.runs))
    print(json.dumps({"name": f"{name}/ranks:{ranks}", "us": round(seconds * 1e6)}))
