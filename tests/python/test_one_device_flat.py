"""FullyShardedDataParallel: the pieces of flat parameters are compared under their own names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, ShardingStrategy

import simmesh
from simmesh.one_device.comparison import Comparison

ROWS = torch.randn(12, 4, generator=torch.Generator().manual_seed(1))


def training(
    fault: str = "", clips: bool = False, **options: Any
) -> Callable[[DeviceMesh], torch.Tensor]:
    """Two steps of a model of four layers, two of which have a flat parameter of their own."""

    def program(mesh: DeviceMesh) -> torch.Tensor:
        torch.manual_seed(0)
        inside = nn.Sequential(nn.Linear(7, 5), nn.GELU(), nn.LayerNorm(5))
        model: Any = nn.Sequential(nn.Linear(4, 7), nn.GELU(), inside, nn.Linear(5, 1, bias=False))
        group: Any = (mesh["replicate"].get_group(), mesh["shard"].get_group())
        is_hybrid = options.get("sharding_strategy") is ShardingStrategy.HYBRID_SHARD
        chosen = {
            "process_group": (group[1], group[0]) if is_hybrid else None,
            "device_id": torch.device("cpu"), **options,
        }  # fmt: skip
        model[2] = FullyShardedDataParallel(model[2], **chosen)
        model = FullyShardedDataParallel(model, **chosen)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        mine = ROWS[simmesh.rows_of(mesh.get_rank(), mesh.size(), len(ROWS))]
        for _ in range(2):
            loss = model(mine).square().sum() / len(ROWS)
            (loss * mesh.size()).backward()
            if fault and mesh.get_rank() == 1:
                for parameter in model.parameters():
                    if parameter.grad is not None:
                        parameter.grad.mul_(2)
            if clips:
                model.clip_grad_norm_(0.01)
            optimizer.step()
            optimizer.zero_grad()
        return loss.detach()

    return program


def compared(*arguments: Any, **options: Any) -> Comparison:
    return simmesh.same_as_one_device(
        training(*arguments, **options),
        layouts=[{"replicate": 1, "shard": 2}, {"replicate": 2, "shard": 2}],
    )


@pytest.mark.parametrize("originals", [False, True])
@pytest.mark.parametrize(
    "strategy",
    [
        ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP, ShardingStrategy.NO_SHARD,
        ShardingStrategy.HYBRID_SHARD,
    ],
)  # fmt: skip
def test_flat_parameters_are_compared(strategy: ShardingStrategy, originals: bool) -> None:
    """Would fail if a flat parameter had no counterpart, or its pieces were put together wrong."""
    comparison = compared(sharding_strategy=strategy, use_orig_params=originals)
    assert comparison.equal, comparison.text
    for verdict in comparison.verdicts:
        assert not verdict.skipped
        names = {key.name for key in verdict.layouts}
        parameters = {f"{module}.weight" for module in ("0", "2.0", "2.2", "3")}
        assert parameters | {"2.2.bias", "exp_avg of 2.0.weight", "step of 3.weight"} <= names


@pytest.mark.parametrize("originals", [False, True])
def test_clipping_and_low_precision_have_the_bits_of_one_device(originals: bool) -> None:
    """Would fail if FSDP's own norm, or its sums of gradients in float32, were rounded by place."""
    policy = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    comparison = compared(clips=True, use_orig_params=originals)
    assert comparison.equal, comparison.text
    comparison = compared(mixed_precision=policy, use_orig_params=originals)
    assert comparison.equal, comparison.text


@pytest.mark.parametrize("originals", [False, True])
def test_fault_in_a_piece_is_found(originals: bool) -> None:
    """Would fail if what a rank does to its pieces weren't seen, or the parameter not named."""
    with pytest.raises(simmesh.DiffersFromOneDevice) as error:
        compared("doubled", use_orig_params=originals)
    first = error.value.comparison.verdicts[0].faults[0]
    assert first.key is not None
    assert (first.key.kind, first.key.name) == ("gradient", "0.weight")
