"""The operating system's random bytes, which name files and make ids: in ranks they are the run's.

Without that, ids that ranks exchange would differ from run to run, and with them the data hash.
"""

from __future__ import annotations

import os
import random
import string
import tempfile
from collections.abc import Iterator
from typing import Any

from simmesh.torch import rank_state
from simmesh.torch.isolation.patches import Patches

_LETTERS = string.ascii_lowercase + string.digits + "_"


def install(patches: Patches) -> None:
    """Gives each rank random bytes of its own: those of ``os.urandom``, on which ``uuid.uuid4``,
    ``secrets`` and numpy's generators without a seed depend, of ``random.Random`` without a seed,
    and of the names of temporary files.
    """
    patches.in_ranks(os, "urandom", _urandom)
    patches.in_ranks(random, "_urandom", _urandom)
    patches.around_in_ranks(random.Random, "__init__", _initialize)
    patches.in_ranks(tempfile, "_get_candidate_names", _candidate_names)


def _urandom(size: int) -> bytes:
    state = rank_state.of_rank()
    if state.entropy is None:
        state.entropy = random.Random(f"{state.shared.seed}/{state.rank}/entropy")
    return state.entropy.randbytes(size)


def _initialize(initialize: Any, generator: random.Random, x: Any = None) -> None:
    initialize(generator, _urandom(32) if x is None else x)


def _candidate_names() -> Iterator[str]:
    state = rank_state.of_rank()
    if state.temporary_names is None:
        state.temporary_names = _names(random.Random(f"{state.shared.seed}/{state.rank}/names"))
    return state.temporary_names


def _names(generator: random.Random) -> Iterator[str]:
    while True:
        yield "".join(generator.choices(_LETTERS, k=8))
