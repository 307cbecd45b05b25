"""Splits a model as the swarm's programs ask for. A program has the source of what it uses."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DeviceMesh, DTensor, Replicate, Shard, distribute_module
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)


def shard(
    model: nn.Module, mesh: DeviceMesh, policy: MixedPrecisionPolicy, reshard: bool,
    layers: bool = True, divides: bool = True,
) -> None:  # fmt: skip
    """FSDP2 of each layer and of the rest; gradients are averaged, or else added up."""
    for module in (*model.layers, model) if layers else (model,):
        fully_shard(module, mesh=mesh, mp_policy=policy, reshard_after_forward=reshard)
        if not divides:
            module.set_gradient_divide_factor(1.0)


def tensor_parallel(model: nn.Module, mesh: DeviceMesh, sequence: bool, loss: bool) -> None:
    """Splits each layer over the mesh, and on request the activations between and the logits."""
    whole, between = Replicate(), Shard(1) if sequence else Replicate()
    head = ColwiseParallel(
        input_layouts=between,
        output_layouts=Shard(-1) if loss else whole,
        use_local_output=not loss,
    )
    plan = {"embed": RowwiseParallel(input_layouts=whole, output_layouts=between), "head": head}
    # Without sequence parallelism a norm has plain parameters: it gets whole ones as DTensors.
    norm = SequenceParallel(sequence_dim=1, use_local_output=True)
    parallelize_module(model, mesh, plan | ({"norm": norm} if sequence else {}))
    columns, rows = ColwiseParallel, RowwiseParallel
    for layer in model.layers:
        parts: dict[str, Any] = {"norm": norm} if sequence else {}
        if sequence:
            parts["body"] = PrepareModuleInput(
                input_layouts=(between,), desired_input_layouts=(whole,)
            )
        for name, part in layer.body.named_children():
            if isinstance(part, nn.Linear):
                is_last = name in ("out", "down")
                parts[f"body.{name}"] = rows(output_layouts=between) if is_last else columns()
        parallelize_module(layer, mesh, parts)
    if not sequence:
        for norm_layer in (model.norm, *(layer.norm for layer in model.layers)):
            keep_whole(norm_layer, mesh)


def keep_whole(module: nn.Module, mesh: DeviceMesh) -> None:
    """Makes the parameters of a norm DTensors, as those of the other modules are."""

    def given(module: nn.Module, inputs: Any, mesh: DeviceMesh) -> Any:
        return DTensor.from_local(inputs[0], mesh, [Replicate()], run_check=False)

    def taken(module: nn.Module, outputs: Any, mesh: DeviceMesh) -> Any:
        return outputs.to_local()

    distribute_module(module, mesh, None, given, taken)


def add_up(model: nn.Module, mesh: DeviceMesh, but: str = "") -> None:
    """Adds up the gradients of all ranks, but those of experts that each rank has for itself, and
    of shards.
    """
    for name, parameter in model.named_parameters():
        gradient = parameter.grad
        is_own = ".owned." in name or isinstance(gradient, DTensor) or name == but
        if gradient is not None and not is_own:
            dist.all_reduce(gradient, group=mesh.get_group())


def syncs(model: nn.Module, is_last: bool) -> Any:
    """Lets gradients be reduced in the last micro-batch alone."""
    if isinstance(model, FSDPModule):
        model.set_requires_gradient_sync(is_last)
    elif hasattr(model, "no_sync") and not is_last:
        return model.no_sync()
    return torch.enable_grad()
