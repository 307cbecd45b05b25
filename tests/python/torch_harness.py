"""One small test for each of torch's distributed test cases, as a program's own suite has them.

pytest -p simmesh.torch_tests tests/python/torch_harness.py
"""

from __future__ import annotations

import os
import sys
import unittest

import torch
import torch.distributed as dist
from torch.distributed.tensor import Shard, distribute_tensor
from torch.testing._internal.common_distributed import (
    TEST_SKIPS,
    MultiProcContinuousTest,
    MultiProcessTestCase,
    MultiThreadedTestCase,
)
from torch.testing._internal.distributed._tensor.common_dtensor import (
    DTensorOpTestBase,
    DTensorTestBase,
    with_comms,
)


def summed() -> float:
    """The sum of the ranks' numbers plus one."""
    tensor = torch.tensor([float(dist.get_rank() + 1)])
    dist.all_reduce(tensor)
    return tensor.item()


class Processes(MultiProcessTestCase):
    """Ranks in place of processes."""

    @property
    def world_size(self) -> int:
        return 3

    def setUp(self) -> None:
        super().setUp()
        self._spawn_processes()

    def start(self) -> None:
        store = dist.FileStore(self.file_name, self.world_size)
        dist.init_process_group("gloo", store=store, rank=self.rank, world_size=self.world_size)

    def test_passes(self) -> None:
        self.start()
        self.assertEqual(summed(), 6.0)
        self.assertEqual(len({os.getpid()}), 1)

    def test_fails(self) -> None:
        self.start()
        self.assertEqual(summed() + (self.rank == 1), 6.0)

    def test_skips_in_a_rank(self) -> None:
        sys.exit(TEST_SKIPS["small_worldsize"].exit_code)

    @unittest.skip("before the ranks begin")
    def test_skips(self) -> None:
        raise AssertionError

    def test_deadlocks(self) -> None:
        self.start()
        if self.rank == 0:
            dist.barrier()


class Threads(MultiThreadedTestCase):
    """Ranks in place of threads."""

    @property
    def world_size(self) -> int:
        return 4

    def setUp(self) -> None:
        super().setUp()
        self._spawn_threads()

    def test_passes(self) -> None:
        self.assertEqual(summed(), 10.0)
        self.assertEqual(dist.get_backend(), "threaded")

    def test_fails(self) -> None:
        if self.rank == 2:
            raise ValueError("on purpose")
        dist.barrier()

    def test_skips_in_a_rank(self) -> None:
        raise unittest.SkipTest("in a rank")


class Continuous(MultiProcContinuousTest):
    """Ranks in place of processes that last."""

    world_size = 4

    @classmethod
    def backend_str(cls) -> str:
        return "gloo"

    def test_passes(self) -> None:
        self.assertEqual(summed(), 10.0)
        self.assertEqual(self.rank, dist.get_rank())
        self.assertEqual(self.pg, dist.group.WORLD)

    def test_passes_again(self) -> None:
        self.assertEqual(summed(), 10.0)


class Tensors(DTensorTestBase):
    """DTensor's own base, with its decorator."""

    @property
    def device_type(self) -> str:
        return "cpu"

    @with_comms
    def test_passes(self) -> None:
        full = torch.arange(8.0)
        tensor = distribute_tensor(full, self.build_device_mesh(), [Shard(0)])
        self.assertEqual(tensor.full_tensor(), full)


class Operators(DTensorOpTestBase):
    """DTensor's base of operator tests, which uses threads."""

    @property
    def device_type(self) -> str:
        return "cpu"

    def test_passes(self) -> None:
        tensor = distribute_tensor(torch.ones(8, 2), self.build_device_mesh(), [Shard(0)])
        self.assertEqual((tensor + tensor).full_tensor().sum().item(), 32.0)


del MultiProcContinuousTest, MultiProcessTestCase, MultiThreadedTestCase
del DTensorOpTestBase, DTensorTestBase
