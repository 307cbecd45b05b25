"""Parameters of FullyShardedDataParallel under their own names: each rank has pieces of a flat
parameter, which holds all parameters of a module one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class FlatTensor:
    """This rank's piece of a tensor that is cut like a parameter, in one dim. ``ranks`` are those
    that have the pieces, in order, and ``shape`` is that of the whole tensor.
    """

    piece: torch.Tensor
    ranks: tuple[int, ...]
    shape: torch.Size


class FlatParameter:
    """A parameter that is a part of a flat one, by its place in it."""

    def __init__(self, handle: Any, index: int) -> None:
        self._handle, self._index = handle, index

    @property
    def _flat(self) -> Any:
        return self._handle.flat_param

    @property
    def own(self) -> torch.Tensor | None:
        """The parameter that the optimizer has, if that isn't the flat one."""
        return None if self._flat._params is None else self._flat._params[self._index]

    @property
    def optimized(self) -> torch.Tensor:
        """The parameter that the optimizer has."""
        return self._flat if self.own is None else self.own

    @property
    def requires_grad(self) -> bool:
        """True if the parameter is trained."""
        return bool(self.optimized.requires_grad)

    @property
    def value(self) -> FlatTensor:
        """The elements that this rank keeps."""
        # Before its first call FSDP has only the shard.
        sharded = getattr(self._flat, "_local_shard", None) if self._is_cut else None
        return self._tensor(self._in_flat(self._flat.data if sharded is None else sharded))

    @property
    def grad(self) -> FlatTensor | None:
        """The gradient of these elements; None where there is none."""
        if self.own is not None and self._is_here:
            gradient = self.own.grad
            return None if gradient is None else self._tensor(gradient.reshape(-1))
        gradient = self._handle.sharded_grad if self.own is None else self._flat.data[:0]
        return None if gradient is None else self._tensor(self._in_flat(gradient))

    def state(self, value: torch.Tensor) -> FlatTensor | torch.Tensor:
        """A tensor of the optimizer's state for this parameter."""
        if value.dim() == 0:
            return value
        flat = value.reshape(-1)
        return self._tensor(flat if self.own is not None else self._in_flat(flat))

    @property
    def _is_cut(self) -> bool:
        return bool(self._handle.uses_sharded_strategy)

    @property
    def _place(self) -> Any:
        return self._flat._shard_param_infos[self._index]

    @property
    def _is_here(self) -> bool:
        return bool(self._place.in_shard)

    def _in_flat(self, flat: torch.Tensor) -> torch.Tensor:
        if not self._is_here:
            return flat[:0]
        begin = self._place.offset_in_shard
        return flat.reshape(-1)[begin : begin + self._place.numel_in_shard]

    def _tensor(self, piece: torch.Tensor) -> FlatTensor:
        group = self._handle.process_group
        ranks = dist.get_process_group_ranks(group) if self._is_cut else [dist.get_rank()]
        return FlatTensor(piece.detach(), tuple(ranks), self._flat._shapes[self._index])


def flat_parameters_in(module: torch.nn.Module) -> Iterator[tuple[torch.nn.Module, str, Any]]:
    """The flat parameters' parts in a module: the module and the name of each parameter, and the
    parameter.
    """
    for each in module.modules():
        handle = getattr(each, "_handle", None)
        if handle is None or not hasattr(handle, "flat_param"):
            continue
        for index, (name, owner, _) in enumerate(handle.flat_param._param_infos):
            yield owner, name, FlatParameter(handle, index)
