"""Runs real PyTorch programs with every rank in one process, under a chosen schedule.

    from simmesh import torch as simmesh_torch

    run = simmesh_torch.run(program, ranks=4, schedule="seeded:7")

``program(rank)`` is ordinary torch code: it calls ``torch.distributed.init_process_group()`` and
then uses DTensor, FSDP2, DDP, pipelining or plain collectives. Tensors are on the CPU.
"""

from __future__ import annotations

from simmesh.torch.operators import check_schemas
from simmesh.torch.run import Run, run, torchrun_environment
from simmesh.torch.schedules import Schedule, schedules_to_try

__all__ = ["Run", "Schedule", "run", "schedules_to_try", "torchrun_environment"]

# A torch that doesn't fit is refused here, before a program runs on it.
check_schemas()
