"""Processes that mpirun started. The Python package has no MPI, so each would do all the work."""

from __future__ import annotations

import os
import sys

# The number of processes and that of this one, as Open MPI and as MPICH and its kin tell them.
_VARIABLES = (("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"), ("PMI_SIZE", "PMI_RANK"))


def _size_and_rank() -> tuple[int, int]:
    for size, rank in _VARIABLES:
        if os.environ.get(size, "").isdigit():
            return int(os.environ[size]), int(os.environ.get(rank, "0"))
    return 1, 0


def is_started_by_mpi() -> bool:
    """True in one of several processes that a launcher of MPI started."""
    return _size_and_rank()[0] > 1


def refuse_mpi() -> int:
    """Says on the first process what to use instead. Returns the exit status: 2 there, and 0 on the
    others, since mpirun ends all processes as soon as one fails.
    """
    size, rank = _size_and_rank()
    if rank != 0:
        return 0
    print(
        f"simmesh: [started_by_mpi] expected one process, got {size} of MPI, which the Python "
        "package doesn't have: run shards without mpirun (--shard I/N), or the simmesh of a build "
        "with MPI",
        file=sys.stderr,
    )
    return 2
