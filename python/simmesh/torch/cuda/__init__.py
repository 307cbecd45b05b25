"""Programs that ask for CUDA by habit, on ranks of the CPU: ``device="cuda"`` of a run.

The names of CUDA lead to the CPU (``moves``), ``torch.cuda`` answers as on a machine with one
device for each rank of a node (``functions``), autocast for CUDA casts what it casts there
(``autocast``), DTensor shards the CPU's attention as CUDA's (``attention``), and ``SyncBatchNorm``
normalizes (``batch_norm``). Functions that need a GPU raise, by their names. The CPU works in the
order of the program; uses that streams of a GPU could run in another order are reported
(``order``).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from simmesh.torch.cuda import (
    attention,
    autocast,
    batch_norm,
    flat_sharding,
    functions,
    launches,
    libraries,
    order,
    streams,
)
from simmesh.torch.cuda.moves import CudaNames
from simmesh.torch.isolation.patches import Patches

#: The devices that a run can be asked for.
DEVICES = ("cpu", "cuda")


def install(patches: Patches) -> None:
    """Lets ranks use ``torch.cuda`` and what depends on it."""
    functions.install(patches)
    libraries.install(patches)
    autocast.install(patches)
    attention.install()
    batch_norm.install(patches)
    flat_sharding.install(patches)
    order.install(patches)


def order_of_streams() -> AbstractContextManager[None]:
    """Reports uses of a tensor that no stream, event or wait orders."""
    return launches.looked_at()


@contextmanager
def operators() -> Iterator[None]:
    """The mode in which a thread of a rank takes CUDA's names."""
    try:
        with CudaNames():
            yield
    finally:
        streams.forget()
