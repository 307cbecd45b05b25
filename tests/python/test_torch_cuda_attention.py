"""DTensor shards attention under CUDA's names by heads and by the batch, as on a GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Placement, Replicate, Shard, distribute_tensor
from torch.nn.functional import scaled_dot_product_attention

import simmesh

BATCH, HEADS, LENGTH, WIDTH = 4, 6, 5, 8

MASKS: dict[str, tuple[int, ...] | None] = {
    "none": None, "of all": (LENGTH, LENGTH), "of each batch": (BATCH, 1, LENGTH, LENGTH),
    "of each head": (1, HEADS, LENGTH, LENGTH),
}  # fmt: skip


def attention(placements: list[Placement], mask: tuple[int, ...] | None) -> Any:
    """Attention and its gradients on tensors that are placed so, and their placements."""
    mesh = init_device_mesh("cuda", (2, 2))
    torch.manual_seed(0)
    operands = [
        distribute_tensor(torch.randn(BATCH, HEADS, LENGTH, WIDTH), mesh, placements)
        .detach().requires_grad_()
        for _ in range(3)
    ]  # fmt: skip
    whole = None if mask is None else torch.randn(mask)
    added = None if whole is None else distribute_tensor(whole, mesh, [Replicate(), Replicate()])
    result = scaled_dot_product_attention(*operands, attn_mask=added, is_causal=mask is None)
    result.pow(2).sum().backward()
    found = [result, *(each.grad for each in operands)]
    assert all(isinstance(each, DTensor) for each in found)
    values = [each.full_tensor() for each in found]  # type: ignore[union-attr]
    given = [each.full_tensor().detach().requires_grad_() for each in operands]
    expected = scaled_dot_product_attention(*given, attn_mask=whole, is_causal=mask is None)
    expected.pow(2).sum().backward()
    wanted = [expected, *(each.grad for each in given)]
    # Rows of queries are computed alone, in the same order with and without other heads.
    same = all(map(torch.equal, values, wanted))  # type: ignore[arg-type]
    return same, result.placements


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize(
    "placements", [[Shard(0), Shard(1)], [Shard(1), Shard(1)], [Replicate(), Shard(0)]], ids=str
)
def test_heads_and_batches_stay_cut(placements: list[Placement], mask: str) -> None:
    """Would fail if the operands were gathered where a mask allows the cut, or computed wrongly."""
    ran = simmesh.spmd_run(attention, placements, MASKS[mask], world_size=4, device="cuda")
    assert ran.outcome.ok, ran.outcome.report
    for same, placed in ran.results:
        assert same
        refused = {"of each batch": [Shard(0)], "of each head": [Shard(1)]}.get(mask, [])
        expected = [Replicate() if each in refused else each for each in placements]
        assert list(placed) == expected


def test_the_strategies_are_gone_with_the_run() -> None:
    """On the CPU attention is PyTorch's own, which gathers the heads."""

    def placements(device: str) -> Any:
        mesh = init_device_mesh(device, (2,))
        q, k, v = (
            distribute_tensor(torch.ones(2, 2, 3, 4), mesh, [Shard(1)]).detach().requires_grad_()
            for _ in range(3)
        )
        return scaled_dot_product_attention(q, k, v).placements

    found = [
        simmesh.spmd_run(placements, device, world_size=2, device=device, timeout=600).results[0]
        for device in ("cuda", "cpu")
    ]
    assert found == [(Shard(1),), (Replicate(),)]
