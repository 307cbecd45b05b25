"""Programs that ask for CUDA by habit, on ranks of the CPU: ``device="cuda"`` of a run.

The names of CUDA lead to the CPU (``moves``), ``torch.cuda`` answers as on a machine with one
device for each rank of a node (``functions``), and autocast for CUDA casts what it casts there
(``autocast``). Functions that need a GPU raise, by their names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from simmesh.torch.cuda import autocast, functions, libraries, streams
from simmesh.torch.cuda.moves import CudaNames
from simmesh.torch.isolation.patches import Patches

#: The devices that a run can be asked for.
DEVICES = ("cpu", "cuda")


def install(patches: Patches) -> None:
    """Lets ranks use ``torch.cuda`` and what depends on it."""
    functions.install(patches)
    libraries.install(patches)
    autocast.install(patches)


@contextmanager
def operators() -> Iterator[None]:
    """The mode in which a thread of a rank takes CUDA's names."""
    try:
        with CudaNames():
            yield
    finally:
        streams.forget()
