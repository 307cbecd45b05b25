"""torch's own tests of its collectives, as its test suite defines them for gloo.

BACKEND=gloo WORLD_SIZE=3 pytest -p simmesh.torch_tests tests/python/torch_distributed.py
"""

from __future__ import annotations

import os
import tempfile

os.environ.setdefault("BACKEND", "gloo")
os.environ.setdefault("WORLD_SIZE", "3")
os.environ.setdefault("TEMP_DIR", tempfile.gettempdir())

import torch
from torch.testing._internal.distributed.distributed_test import (
    DistributedTest,
    TestDistBackend,
)


class TestDistributed(TestDistBackend, DistributedTest._DistTestBase):
    """Every test of the collectives, of DDP and of groups."""

    def setUp(self) -> None:
        super().setUp()
        self._spawn_processes()
        torch.backends.cudnn.flags(enabled=True, allow_tf32=False).__enter__()


del TestDistBackend
