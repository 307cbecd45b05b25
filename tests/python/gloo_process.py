"""Runs the parallel programs in a process of a gloo job, and saves what they return.

python gloo_process.py RANK WORLD_SIZE FOLDER
"""

from __future__ import annotations

import sys

import torch
import torch.distributed as dist

from parallel_programs import PROGRAMS


def main(rank: int, world_size: int, folder: str) -> None:
    """Runs each program with a default group of its own, on one thread as under torchrun."""
    torch.set_num_threads(1)
    for program in PROGRAMS:
        store = dist.FileStore(f"{folder}/store_{program.__name__}", world_size)
        dist.init_process_group("gloo", store=store, rank=rank, world_size=world_size)
        torch.save(program(), f"{folder}/{program.__name__}_{rank}.pt")
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
