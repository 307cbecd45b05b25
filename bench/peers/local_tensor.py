"""How long does one redistribution take under PyTorch's LocalTensor?

Prints one JSON object a line, {"name": ..., "us": ...}, where name is that of our own benchmark of the same work. All
caches are warm, and the figure is the least of several batches, so it is what PyTorch does at its best. Time is the
processor's: the work is one thread that never waits, so that is its wall time on an otherwise idle machine.
"""

import argparse
import json
import time
import warnings

warnings.filterwarnings("ignore")  # numpy is not installed, and nothing here needs it

import torch
import torch.distributed as dist
from torch.distributed._local_tensor import LocalTensor, LocalTensorMode
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore

SHAPE = (512, 16)
TRANSITIONS = {
    "S0_R": (Shard(0), Replicate()),
    "S0_S1": (Shard(0), Shard(1)),
    "Psum_R": (Partial("sum"), Replicate()),
}


def time_us(work, seconds, batches):
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


def measure(world, seconds, batches):
    """Prints one line per transition on a mesh of `world` ranks."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
    try:
        with torch.no_grad(), LocalTensorMode(world):
            mesh = init_device_mesh("cpu", (world,))
            full = torch.arange(SHAPE[0] * SHAPE[1], dtype=torch.float32).reshape(SHAPE)
            for name, (source, target) in TRANSITIONS.items():
                rows = SHAPE[0] // world if source == Shard(0) else SHAPE[0]
                local = full[:rows].clone()
                sharded = DTensor.from_local(local, mesh, [source], run_check=False)
                assert sharded.shape == SHAPE and isinstance(sharded.to_local(), LocalTensor)
                us = time_us(lambda: sharded.redistribute(mesh, [target]), seconds, batches)
                line = {"name": f"redistribute/{name}/world:{world}", "us": round(us, 1)}
                print(json.dumps(line), flush=True)
    finally:
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--world", type=int, nargs="+", default=[4, 8, 64, 512])
    parser.add_argument("--seconds", type=float, default=2.0, help="time spent on one figure")
    parser.add_argument("--batches", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for world in options.world:
        measure(world, options.seconds, options.batches)


if __name__ == "__main__":
    main()
