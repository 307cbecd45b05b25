"""Records ``fully_shard`` on one rank's model: events in order, and collectives' buffers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp._fully_shard._fsdp_state import _get_module_fsdp_state

from simmesh.recording import formula

_REDUCTIONS = ("sum", "avg", "product", "min", "max", "premul_sum")


class EventLog:
    """The events of a rank. ``watches``: it keeps the hashes of collectives' buffers too."""

    def __init__(self, model: nn.Module, *, watches: bool = False) -> None:
        self.events: list[list[Any]] = []
        self.collectives: list[dict[str, Any]] = []
        self._paths = {id(module): path for path, module in model.named_modules()}
        self._watches = watches
        self._states: list[Any] = []
        self._groups: list[Any] = []
        self._pending: dict[int, dict[str, Any]] = {}
        self.in_reshard = 0

    def add(self, *event: Any) -> None:
        """Appends an event."""
        self.events.append(list(event))

    def state(self, state: Any) -> str:
        """The name of a state: its modules' names."""
        return self._joined(state._modules)

    def group(self, group: Any) -> str:
        """The name of a parameter group: its modules' names; its number, if they have several."""
        name = self._joined(group.modules)
        siblings = _groups_of(group.modules[0])
        return name if len(siblings) < 2 else f"{name}#{siblings.index(group)}"

    def parameter(self, parameter: Any) -> str:
        """The dotted name of a parameter of a group."""
        info = parameter._module_info
        return self._slot(info.module, info.param_name)

    def aliases(self, parameter: Any) -> list[str]:
        """The other slots of a parameter that several modules share."""
        info = parameter._module_info
        return [self._slot(*slot) for slot in zip(info.shared_modules, info.shared_param_names)]

    @contextmanager
    def inside_state(self, state: Any) -> Iterator[None]:
        """Prefetches in here are done by this state."""
        self._states.append(state)
        try:
            yield
        finally:
            self._states.pop()

    @contextmanager
    def inside_group(self, group: Any) -> Iterator[None]:
        """Collectives in here are those of this group."""
        self._groups.append(group)
        try:
            yield
        finally:
            self._groups.pop()

    def prefetch(self, target: Any, direction: str) -> None:
        """Notes that the state in which this happens prefetches ``target``."""
        by = self.state(self._states[-1]) if self._states else ""
        self.add("prefetch", self.group(target), direction, by)

    def collective(
        self,
        op: str,
        source: torch.Tensor,
        output_numel: int,
        group: dist.ProcessGroup,
        call: Callable[[], Any],
        *,
        reduction: Any = None,
        output: torch.Tensor | None = None,
    ) -> Any:
        """Notes a collective of the group in which this happens, and runs it."""
        if not self._groups:
            return call()
        of, dtype = self._groups[-1], formula.name_of(source.dtype)
        numels = [source.numel()] if op == "all_reduce" else [source.numel(), output_numel]
        reduced = [] if reduction is None else [_reduction(reduction)]
        self.add(op, self.group(of), *numels, dist.get_world_size(group), dtype, *reduced)
        if not self._watches:
            return call()
        entry = {
            "op": op,
            "group": self.group(of),
            "dtype": dtype,
            "input_numel": source.numel(),
            "output_numel": output_numel,
            "input_hash": formula.bits(source),
        }
        self.collectives.append(entry)
        result = call()
        if output is None:
            self._pending[id(of)] = entry
        else:
            entry["output_hash"] = formula.bits(output)
        return result

    def gathered(self, group: Any, output: torch.Tensor) -> None:
        """Notes the result of the gather for which a group waited."""
        entry = self._pending.pop(id(group), None)
        if entry is not None:
            entry["output_hash"] = formula.bits(output)

    @property
    def current_group(self) -> Any:
        """The group whose collectives run now; None outside of one."""
        return self._groups[-1] if self._groups else None

    def _slot(self, module: nn.Module, name: str) -> str:
        path = self._paths[id(module)]
        return f"{path}.{name}" if path else name

    def _joined(self, modules: Any) -> str:
        return ", ".join(self._paths[id(module)] for module in modules)


def groups_of(model: nn.Module) -> list[Any]:
    """The parameter groups of a model, in pre-order of the modules."""
    groups = [group for module in model.modules() for group in _groups_of(module)]
    return list({id(group): group for group in groups}.values())


def _groups_of(module: nn.Module) -> list[Any]:
    state = _get_module_fsdp_state(module)
    if state is None:
        return []
    if hasattr(state, "_fsdp_param_groups"):
        return list(state._fsdp_param_groups)
    return [] if state._fsdp_param_group is None else [state._fsdp_param_group]


def _reduction(operator: Any) -> str:
    kind = getattr(operator, "op", operator)
    return next(name for name in _REDUCTIONS if getattr(dist.ReduceOp, name.upper()) == kind)
