"""A racy test of PyTorch's kind, which passes with its own operators.

pytest -p simmesh.torch_tests --simmesh-local exact tests/python/racy_tests.py
"""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch.testing._internal.common_distributed import MultiThreadedTestCase


class Racy(MultiThreadedTestCase):
    """Threads in place of processes."""

    @property
    def world_size(self) -> int:
        return 2

    def setUp(self) -> None:
        super().setUp()
        self._spawn_threads()

    def test_writes_too_early(self) -> None:
        tensor = torch.ones(2)
        work = dist.all_reduce(tensor, async_op=True)
        tensor.zero_()
        work.wait()
