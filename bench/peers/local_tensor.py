"""How long does an operation on DTensors take under LocalTensor, for all ranks of a world?

Prints one JSON object a line, {"name": ..., "us": ...}, where name is that of our own benchmark of
the same work: redistributions; ops whose choice of placements DTensor has in its cache (dispatch/),
and an op on a size that no call had before (dispatch_cold/). The figure is the least of several
batches, so it is what PyTorch does at its best. Time is the processor's: the work is one thread
that never waits, so that is its wall time on an otherwise idle machine.
"""

import argparse
import json
import time
import warnings
from functools import partial
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch.distributed._local_tensor import LocalTensor, LocalTensorMode
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Placement, Replicate, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore

SHAPE = (512, 16)
TRANSITIONS = {
    "S0_R": (Shard(0), Replicate()),
    "S0_S1": (Shard(0), Shard(1)),
    "Psum_R": (Partial("sum"), Replicate()),
}
OP_SHAPE = (16, 16)
OPS = {
    "add_S0_S0": (torch.add, Shard(0), Shard(0)),
    "mm_S0_R": (torch.mm, Shard(0), Replicate()),
    "mm_S0_S0": (torch.mm, Shard(0), Shard(0)),
}
OPS_WORLD = 8
NEW_SIZES = 100  # calls of a batch, each of a size of its own


def distributed(mesh: DeviceMesh, shape: tuple[int, int], placement: Placement) -> DTensor:
    """Returns a tensor of zeros that lies on the mesh."""
    rows = shape[0] // mesh.size() if placement == Shard(0) else shape[0]
    tensor = DTensor.from_local(torch.zeros(rows, shape[1]), mesh, [placement], run_check=False)
    assert tensor.shape == shape and isinstance(tensor.to_local(), LocalTensor)
    return tensor


def time_us(work: Callable[[], Any], seconds: float, batches: int) -> float:
    """Returns the microseconds per call in the fastest of the batches."""
    for _ in range(3):
        work()
    started = time.process_time()
    work()
    once = time.process_time() - started
    repetitions = max(1, int(seconds / batches / once))
    best = float("inf")
    for _ in range(batches):
        started = time.process_time()
        for _ in range(repetitions):
            work()
        best = min(best, (time.process_time() - started) / repetitions)
    return best * 1e6


def time_new_sizes_us(mesh: DeviceMesh, batches: int) -> float:
    """Returns the microseconds per sum in the fastest batch, without making the operand."""
    best, columns = float("inf"), 0
    for _ in range(batches):
        taken = 0.0
        for _ in range(NEW_SIZES):
            columns += 1
            x = distributed(mesh, (OP_SHAPE[0], columns), Shard(0))
            started = time.process_time()
            torch.add(x, x)
            taken += time.process_time() - started
        best = min(best, taken / NEW_SIZES)
    return best * 1e6


def show(name: str, us: float) -> None:
    print(json.dumps({"name": name, "us": round(us, 1)}), flush=True)


def measure_redistributions(mesh: DeviceMesh, seconds: float, batches: int) -> None:
    for name, (source, target) in TRANSITIONS.items():
        sharded = distributed(mesh, SHAPE, source)
        us = time_us(partial(sharded.redistribute, mesh, [target]), seconds, batches)
        show(f"redistribute/{name}/world:{mesh.size()}", us)


def measure_ops(mesh: DeviceMesh, seconds: float, batches: int) -> None:
    for name, (op, *placements) in OPS.items():
        x, y = (distributed(mesh, OP_SHAPE, placement) for placement in placements)
        show(f"dispatch/{name}/world:{mesh.size()}", time_us(partial(op, x, y), seconds, batches))
    show(f"dispatch_cold/add_S0_S0/world:{mesh.size()}", time_new_sizes_us(mesh, batches))


def measure(world: int, seconds: float, batches: int) -> None:
    """Prints one line per figure on a mesh of `world` ranks."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
    try:
        with torch.no_grad(), LocalTensorMode(world):
            mesh = init_device_mesh("cpu", (world,))
            measure_redistributions(mesh, seconds, batches)
            if world == OPS_WORLD:
                measure_ops(mesh, seconds, batches)
    finally:
        dist.destroy_process_group()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world", type=int, nargs="+", default=[4, 8, 64, 512])
    parser.add_argument("--seconds", type=float, default=2.0, help="time spent on one figure")
    parser.add_argument("--batches", type=int, default=5)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")  # LocalTensor is experimental
    torch.set_num_threads(1)
    for world in options.world:
        measure(world, options.seconds, options.batches)


if __name__ == "__main__":
    main()
