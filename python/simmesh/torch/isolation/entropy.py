"""The operating system's random bytes, which name files and make ids: in ranks they are the run's.

Without that, ids that ranks exchange would differ from run to run, and with them the data hash.
"""

from __future__ import annotations

import os
import random

from simmesh.torch import rank_state
from simmesh.torch.isolation.patches import Patches


def install(patches: Patches, seed: int) -> None:
    """Lets ``os.urandom``, and so ``uuid.uuid4``, give each rank a sequence of its own."""

    def urandom(size: int) -> bytes:
        state = rank_state.of_rank()
        if state.entropy is None:
            state.entropy = random.Random(f"{seed}/{state.rank}/entropy")
        return state.entropy.randbytes(size)

    patches.in_ranks(os, "urandom", urandom)
