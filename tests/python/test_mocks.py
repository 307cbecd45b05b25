"""Functions that are decorated with unittest.mock.patch, which all ranks call."""

from __future__ import annotations

from unittest import mock

import torch.distributed as dist
import torch.distributed.tensor._redistribute as patched

from simmesh.torch import run


@mock.patch("torch.distributed.tensor._redistribute.redistribute_local_tensor")
@mock.patch.object(patched, "_DISABLE_REDISTRIBUTE_TRANSFORM_OPTIMIZATION", True)
def decorated(function: mock.MagicMock) -> tuple[int, bool]:
    """Calls what is patched once, and waits for the others before it looks."""
    patched.redistribute_local_tensor(dist.get_rank())
    dist.barrier()
    assert patched.redistribute_local_tensor is function
    function.assert_called_once_with(dist.get_rank())
    return function.call_count, patched._DISABLE_REDISTRIBUTE_TRANSFORM_OPTIMIZATION


def test_each_rank_has_a_patch_of_its_own() -> None:
    """Would fail if a rank took off the patch of another, or saw its calls."""
    before = patched.redistribute_local_tensor

    def body(rank: int) -> tuple[int, bool]:
        dist.init_process_group("gloo", rank=rank, world_size=4)
        seen = decorated()
        dist.barrier()
        assert patched.redistribute_local_tensor is before
        assert not patched._DISABLE_REDISTRIBUTE_TRANSFORM_OPTIMIZATION
        return seen

    ran = run(body, 4)
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == [(1, True)] * 4
    assert patched.redistribute_local_tensor is before
