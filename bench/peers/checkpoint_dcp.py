"""How long do save and load of torch.distributed.checkpoint take on our benchmarks' work?

Four gloo processes hold DTensors cut by rows, and save them with dcp.save as it is: one file a
rank, synced to disk. Then they load them, once cut as they were saved and once cut by columns.
Prints one JSON object a line, {"name": ..., "us": ...}, for 1 GiB in 64 tensors, 256 MiB in 4,096
and 16 MiB in 4,096, each in a folder of the disk and in memory (/dev/shm). Beside it stands what
one process takes that copies, writes or reads as many bytes in blocks and does nothing else,
"checkpoint/copy/", "checkpoint/write/" and "checkpoint/read/"; what is written is synced to disk.
Time is that between two barriers, without the start of the processes; files are in the page cache
when they are read. The least of several rounds counts, in each of which all of it comes once.
Without /dev/shm, or room for 3 GiB in it, the figures of memory are left out.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any, Callable

import gloo_ranks

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor

RANKS, ROUNDS = 4, 5
WORKS = {
    "1GiB": (64, 4096, 1024),
    "256MiB": (4096, 64, 256),
    "4096_tensors": (4096, 4, 256),
}  # tensors, rows, columns
PLACES = {"disk": tempfile.gettempdir(), "memory": "/dev/shm"}
BLOCK_BYTES = 4 << 20


def copy_blocks(source: str, target: str) -> None:
    """Copies a file as a program would that writes blocks, and waits until it is on disk."""
    with open(source, "rb", buffering=0) as file, open(target, "wb", buffering=0) as out:
        while block := file.read(BLOCK_BYTES):
            out.write(block)
        os.fsync(out.fileno())


def write_blocks(target: str, count: int) -> None:
    """Writes a file of so many bytes, and waits until it is on disk."""
    block = b"\1" * min(BLOCK_BYTES, count)
    with open(target, "wb", buffering=0) as out:
        for _ in range(0, count, BLOCK_BYTES):
            out.write(block)
        os.fsync(out.fileno())


def read_blocks(source: str) -> None:
    """Reads a file into one block."""
    block = bytearray(BLOCK_BYTES)
    with open(source, "rb", buffering=0) as file:
        while file.readinto(block):
            pass


def plain_figures(folder: str, count: int) -> dict[str, float]:
    """Returns the microseconds that copying, writing and reading so many bytes alone take."""
    source, target = os.path.join(folder, "source"), os.path.join(folder, "target")
    if not os.path.exists(source):
        write_blocks(source, count)
    figures = {}
    works: list[tuple[str, Callable[[], None]]] = [
        ("copy", lambda: copy_blocks(source, target)),
        ("write", lambda: write_blocks(target, count)),
        ("read", lambda: read_blocks(source)),
    ]
    for figure, body in works:
        started = time.perf_counter()
        body()
        figures[figure] = (time.perf_counter() - started) * 1e6
        if os.path.exists(target):
            os.remove(target)
    return figures


def run_rank(rank: int, port: int, work: str, place: str) -> None:
    """Saves and loads as one of the ranks; rank 0 prints the times."""
    warnings.filterwarnings("ignore")
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard

    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS
    )
    mesh = init_device_mesh("cpu", (RANKS,))
    tensors, rows, columns = WORKS[work]

    def state(dim: int, value: float) -> dict[str, DTensor]:
        shape = (rows // RANKS, columns) if dim == 0 else (rows, columns // RANKS)
        return {
            f"layer.{i}": DTensor.from_local(
                torch.full(shape, value), mesh, [Shard(dim)], run_check=False
            )
            for i in range(tensors)
        }

    def timed_us(body: Callable[[], Any]) -> float:
        dist.barrier()
        started = time.perf_counter()
        body()
        dist.barrier()
        return (time.perf_counter() - started) * 1e6

    least: dict[str, float] = {}
    for round_number in range(ROUNDS):
        name = os.path.join(place, f"round_{round_number}")
        if rank == 0:
            os.sync()  # the files that others write
        by_rows, by_columns = state(0, 0.0), state(1, 0.0)
        figures = {
            "save": timed_us(partial(dcp.save, state(0, 1.0), checkpoint_id=name)),
            "load": timed_us(partial(dcp.load, by_rows, checkpoint_id=name)),
            "load_other_layout": timed_us(partial(dcp.load, by_columns, checkpoint_id=name)),
        }
        for loaded in (by_rows, by_columns):
            assert all(bool((tensor.to_local() == 1).all()) for tensor in loaded.values())
        if rank == 0:
            figures.update(plain_figures(place, tensors * rows * columns * 4))
            shutil.rmtree(name)
            for figure, us in figures.items():
                least[figure] = min(us, least.get(figure, us))
    if rank == 0:
        for figure, us in least.items():
            print(json.dumps({"figure": figure, "us": round(us, 1)}), flush=True)
    dist.destroy_process_group()


def measure(work: str, medium: str, place: str) -> None:
    """Starts the ranks, and prints what rank 0 measured."""
    port = gloo_ranks.free_port()
    with tempfile.TemporaryDirectory(dir=place) as folder:
        processes = [
            subprocess.Popen(
                [
                    sys.executable,
                    os.path.abspath(__file__),
                    "--rank",
                    str(rank),
                    "--port",
                    str(port),
                    "--work",
                    work,
                    "--place",
                    folder,
                ],
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank in range(RANKS)
        ]
        outputs = [process.communicate()[0] for process in processes]
    statuses = [process.returncode for process in processes]
    if any(statuses):
        sys.exit(f"{os.path.basename(__file__)}: ranks ended with {statuses}")
    for line in outputs[0].splitlines():
        figure = json.loads(line)
        print(
            json.dumps(
                {"name": f"checkpoint/{figure['figure']}/{work}/{medium}", "us": figure["us"]}
            ),
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description="times save and load of torch.distributed.checkpoint"
    )
    parser.add_argument("--rank", type=int, help="be this rank; without it, all are started")
    parser.add_argument("--port", type=int, help="where the ranks meet")
    parser.add_argument("--work", choices=WORKS, nargs="?")
    parser.add_argument("--place", help="the folder of the checkpoints")
    options = parser.parse_args()
    if options.rank is not None:
        run_rank(options.rank, options.port, options.work, options.place)
        return
    for medium, place in PLACES.items():
        if medium == "memory" and (
            not os.path.isdir(place) or shutil.disk_usage(place).free < 3 << 30
        ):
            continue
        for work in [options.work] if options.work else WORKS:
            measure(work, medium, place)


if __name__ == "__main__":
    main()
