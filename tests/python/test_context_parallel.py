"""PyTorch's ``context_parallel`` on ranks with tensors of the CPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.experimental import context_parallel
from torch.distributed.tensor.experimental._attention import (
    _cp_options,
    context_parallel_unshard,
    set_rotate_method,
)
from torch.distributed.tensor.experimental._context_parallel import _attention

import simmesh


def inputs(**options: Any) -> list[torch.Tensor]:
    torch.manual_seed(0)
    return [torch.randn(2, 3, 24, 4, **options) for _ in range(3)]


@pytest.mark.parametrize("schedule", ["fifo", "seeded:1", "pct:3"])
@pytest.mark.parametrize(
    ("ranks", "is_causal", "rotation"),
    [
        (2, True, "allgather"),
        (3, True, "alltoall"),
        (2, False, "alltoall"),
        (4, False, "allgather"),
    ],
)
def test_attention_and_gradients_are_those_of_one_device(
    schedule: str, ranks: int, is_causal: bool, rotation: str
) -> None:
    """Would fail if a rank attended to other keys, or if ranks shared what a context replaces."""

    def program() -> list[bool]:
        mesh = init_device_mesh("cpu", (ranks,))
        set_rotate_method(rotation)
        _cp_options.enable_load_balance = is_causal
        whole = inputs(requires_grad=True)
        expected = F.scaled_dot_product_attention(*whole, is_causal=is_causal)
        expected.sin().sum().backward()
        pieces = [tensor.detach().clone() for tensor in whole]
        with context_parallel(mesh, buffers=pieces, buffer_seq_dims=[2, 2, 2]):
            cut = [piece.detach().clone().requires_grad_() for piece in pieces]
            output = F.scaled_dot_product_attention(*cut, is_causal=is_causal)
            assert output.shape == (2, 3, 24 // ranks, 4)
            output.sin().sum().backward()
            found = context_parallel_unshard(
                mesh, [output.detach(), *(piece.grad for piece in cut)], [2] * 4
            )
        wanted = [expected.detach(), *(tensor.grad for tensor in whole)]
        # Sums of up to 24 terms of about 1 in another order: 24 roundings of 2**-24 and some.
        return [torch.allclose(one, other, atol=1e-5) for one, other in zip(found, wanted)]

    ran = simmesh.spmd_run(program, world_size=ranks, schedule=schedule)
    assert ran.outcome.ok, ran.outcome.report
    assert ran.results == [[True] * 4] * ranks


def test_the_same_results_under_every_schedule() -> None:
    """Would fail if a rank that leaves its context took away that of another."""

    @simmesh.spmd(world_size=2, schedules=10)
    def test() -> torch.Tensor:
        mesh = init_device_mesh("cpu", (2,))
        pieces = inputs()
        for _ in range(2):
            with context_parallel(mesh, buffers=pieces, buffer_seq_dims=[2, 2, 2]):
                output = F.scaled_dot_product_attention(*pieces, is_causal=True)
                if dist.get_rank() == 0:
                    dist.barrier()
            if dist.get_rank() == 1:
                dist.barrier()
        return output

    test()


def test_nothing_of_it_is_left() -> None:
    """Would fail if the host's attention, options or handlers were those of a run."""

    def program() -> None:
        _cp_options.enable_load_balance = False
        mesh = init_device_mesh("cpu", (2,))
        with context_parallel(mesh, buffers=inputs(), buffer_seq_dims=[2, 2, 2]):
            raise ValueError("on purpose")

    def state() -> list[Any]:
        return [
            F.scaled_dot_product_attention, dict(_attention.custom_ops), vars(_cp_options).copy(),
            dict(_attention._replaced_functions),
        ]  # fmt: skip

    before = state()
    assert "on purpose" in simmesh.spmd_run(program, world_size=2).outcome.message
    assert state() == before
