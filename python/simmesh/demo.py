"""The command ``simmesh demo``: a sharded step, a silent bug and a hang, in a few seconds and
without PyTorch. Each part is a function of a rank that can be copied.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import simmesh
from simmesh import DTensor, Replicate, Shard, World

SUMMARY = "a sharded step, a silent bug that is found, and a hang that is explained; 20 s at most"

_SCHEDULES = ("fifo", *(f"seeded:{seed}" for seed in range(1, 20)))


def run(arguments: Sequence[str]) -> int:
    """Runs the command and returns its exit status: 0, or 1 if a part doesn't show what it says."""
    argparse.ArgumentParser(prog="simmesh demo", description=SUMMARY).parse_args(list(arguments))
    began = time.perf_counter()
    parts = (_sharded_step(), _silent_bug(), _hang())
    print(f"\nThree worlds of ranks, one process, {time.perf_counter() - began:.1f} s. What next?")
    print("  simmesh gates DIR    copies gates to start from, which simmesh run DIR/*.toml runs")
    print("  simmesh museum       lists silent bugs that trainings really had")
    print("  pip install torch    lets simmesh.spmd and simmesh.same_as_one_device test your code")
    return 0 if all(parts) else 1


def step(rank: int) -> DTensor:
    """Two layers on a mesh of 2 x 2: rows of the batch are cut over dp, and weights over tp."""
    mesh = simmesh.init_device_mesh((2, 2), ("dp", "tp"))
    full = [simmesh.formula(shape, rule="wide", seed=seed)
            for seed, shape in enumerate([(6, 4), (4, 8), (8, 4)])]  # fmt: skip
    x = simmesh.distribute_tensor(full[0], mesh, [Shard(0), Replicate()])
    first = simmesh.distribute_tensor(full[1], mesh, [Replicate(), Shard(1)])
    second = simmesh.distribute_tensor(full[2], mesh, [Replicate(), Shard(0)])
    return x @ first @ second


def _sharded_step() -> bool:
    print("1. A step on 4 ranks, cut over a mesh of 2 x 2, and on one device")
    [one] = World(1, arithmetic="exact").results(_on_one_device)

    def body(rank: int) -> str:
        y = step(rank)
        simmesh.expect_same_bits(y.full_tensor(), one)
        return f"rank {rank} holds {tuple(y.to_local().shape)} as {y.placements}"

    hashes = set()
    for schedule in _SCHEDULES:
        world = World(4, schedule=schedule, arithmetic="exact")
        outcome = world.run(body)
        if not outcome.ok:
            print(outcome.report)
            return False
        hashes.add(outcome.data_hash)
    for line in World(4, arithmetic="exact").results(body):
        print(f"   {line}")
    print(f"   {len(_SCHEDULES)} orders of the ranks gave {len(hashes)} result, "
          f"all {one.numel()} elements with the bits of one device")  # fmt: skip
    return len(hashes) == 1


def _on_one_device(rank: int) -> simmesh.Tensor:
    x, first, second = (
        simmesh.formula(shape, rule="wide", seed=seed)
        for seed, shape in enumerate([(6, 4), (4, 8), (8, 4)])
    )
    return x @ first @ second


#: The losses of the ten rows of a batch.
LOSSES = [2.31, 2.27, 2.35, 2.29, 2.33, 2.3, 2.26, 2.34, 2.41, 2.39]


def loss_of_means(rank: int) -> simmesh.Tensor:
    """The mean over ranks of each rank's mean loss: wrong where ranks have different numbers of
    rows.
    """
    mesh = simmesh.init_device_mesh((3,), ("dp",))
    mine = simmesh.distribute_tensor(simmesh.tensor(LOSSES), mesh, [Shard(0)]).to_local()
    total = simmesh.tensor([float(mine.numpy().mean())])
    total = simmesh.all_reduce(total)
    return simmesh.tensor([float(total.numpy()[0]) / 3])


def _silent_bug() -> bool:
    print("\n2. A silent bug: 10 rows on 3 ranks, and the loss is the mean of the ranks' means")
    mean = simmesh.tensor([float(simmesh.tensor(LOSSES).numpy().mean())])

    def body(rank: int) -> None:
        simmesh.expect_same_bits(loss_of_means(rank), mean)

    outcome = World(3, arithmetic="exact").run(body)
    print(f"   {_sentence(outcome.message)}")
    print("   Nothing crashed, and the loss looks right. The ranks have 4, 4 and 2 rows, so their "
          "means\n   must be weighed.")  # fmt: skip
    return not outcome.ok


def early_return(rank: int) -> None:
    """A step that rank 3 leaves before the gradients are summed, as after a bad batch."""
    gradient = simmesh.full((2,), float(rank))
    if rank == 3:
        return
    simmesh.all_reduce(gradient)


def _hang() -> bool:
    print("\n3. A hang: rank 3 skips the all-reduce. A cluster waits for a timeout; here it is\n"
          "   told at once")  # fmt: skip
    outcome = World(4).run(early_return)
    for line in outcome.report.splitlines()[:-1]:
        print(f"   {line}")
    return outcome.kind == "deadlock"


def _sentence(message: str) -> str:
    line = message.splitlines()[0]
    return line.removeprefix("AssertionError: ").removeprefix("[python/expect_same_bits] ")
