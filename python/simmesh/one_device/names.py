"""Names of modules and parameters that are the same with and without wrappers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from simmesh.one_device.flat_parameters import FlatParameter, flat_parameters_in

# The attribute in which a wrapper of PyTorch holds the module that it wraps.
_WRAPPED = ("module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod")


def unwrapped(module: torch.nn.Module) -> torch.nn.Module:
    """The module inside of DDP, FSDP, checkpointing and compiled wrappers."""
    while type(module).__module__.startswith("torch."):
        inside = list(module._modules.items())
        if len(inside) != 1 or inside[0][0] not in _WRAPPED or inside[0][1] is None:
            return module
        module = inside[0][1]
    return module


def class_of(module: torch.nn.Module) -> type[torch.nn.Module]:
    """The class of a module as the program wrote it: fully_shard puts one of its own before it."""
    kind = type(module)
    if any(base.__name__ == "FSDPModule" for base in kind.__bases__):
        return kind.__bases__[-1]
    return kind


class Names:
    """The names of a rank's modules and parameters.

    A module that is called by the program, and not by another module, is a root. The names below
    the first root that has modules inside are those of its named_modules(), without wrappers;
    ``first_class`` is its class. The names below another root begin with its class.
    """

    def __init__(self) -> None:
        self.parameters: dict[str, torch.Tensor | FlatParameter] = {}
        self._buffers: dict[str, tuple[torch.nn.Module, str]] = {}
        self._of_module: dict[int, tuple[torch.nn.Module, str]] = {}
        self._roots: dict[int, str] = {}
        self._of_parameter: dict[int, tuple[torch.Tensor, str]] = {}
        self._flat: dict[str, FlatParameter] = {}
        self._strays: set[str] = set()
        self.first_class = ""

    def __getstate__(self) -> dict[str, Any]:
        """The names of the roots, without the modules and parameters of the program."""
        roots = dict(enumerate(self._roots.values()))
        return {**vars(Names()), "_roots": roots, "first_class": self.first_class}

    @property
    def roots(self) -> list[str]:
        """The names of the roots."""
        return list(self._roots.values())

    def of_module(self, module: torch.nn.Module) -> str | None:
        """The name of a module; "" for the first root."""
        found = self._of_module.get(id(module))
        return None if found is None else found[1]

    def of_parameter(self, parameter: torch.Tensor) -> str | None:
        """The name of a parameter."""
        found = self._of_parameter.get(id(parameter))
        return None if found is None else found[1]

    def add_root(self, module: torch.nn.Module) -> list[str]:
        """Names a module that the program calls, and all inside of it. Returns the names of the
        parameters that had none.

        Names that are there already are kept, but parameters may be new ones: wrappers replace
        them.
        """
        known_parameters = set(self.parameters)
        root = unwrapped(module)
        prefix = self._roots.get(id(root))
        if prefix is None:
            known = self.of_module(root)
            prefix = self._new_root(root) if known is None else known
            self._roots[id(root)] = prefix
        for name, each in _named(root, prefix):
            self._of_module[id(each)] = (each, name)
        self._add_flat(module)
        for name, each in _named(root, prefix):
            for key, parameter in each._parameters.items():
                whole = f"{name}.{key}" if name else key
                if parameter is not None and not self._is_of_flat(whole, parameter):
                    self.add_parameter(whole, parameter)
            for key, buffer in each._buffers.items():
                if buffer is not None:
                    self._buffers[f"{name}.{key}" if name else key] = (each, key)
        return [name for name in self.parameters if name not in known_parameters]

    def buffers(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The buffers that modules have now: a program may put another tensor in the place of
        one.
        """
        for name, (owner, key) in self._buffers.items():
            buffer = owner._buffers.get(key)
            if buffer is not None:
                yield name, buffer

    def _add_flat(self, module: torch.nn.Module) -> None:
        """Names the parts of flat parameters."""
        for owner, key, parameter in flat_parameters_in(module):
            name = self.of_module(owner)
            if name is None:
                continue
            whole = f"{name}.{key}" if name else key
            self.parameters[whole] = self._flat[whole] = parameter
            held = parameter.optimized
            self._of_parameter[id(held)] = (held, whole)

    def _is_of_flat(self, name: str, parameter: torch.Tensor) -> bool:
        return name in self._flat or hasattr(parameter, "_shard_param_infos")

    def flat_parts(self, parameter: torch.Tensor) -> list[tuple[str, FlatParameter]]:
        """The parts of an optimizer's parameter, if it is flat or a piece of a flat one."""
        return [(name, each) for name, each in self._flat.items() if each.optimized is parameter]

    def _new_root(self, root: torch.nn.Module) -> str:
        has_modules = any(each is not None for each in root._modules.values())
        if has_modules and "" not in self._roots.values():
            self.first_class = class_of(root).__name__
            return ""
        kind = class_of(root).__name__
        count = sum(name.partition("#")[0] == kind for name in self._roots.values())
        return kind if count == 0 else f"{kind}#{count + 1}"

    def add_stray(self, name: str, parameter: torch.Tensor) -> None:
        """Names a parameter that an optimizer steps and that belongs to no module so far. If a
        module that has it is called later, it gets that one's name.
        """
        self.add_parameter(name, parameter)
        self._strays.add(name)

    def add_parameter(self, name: str, parameter: torch.Tensor) -> None:
        """Names a parameter, unless it has a name already, as one that is tied to another."""
        known = self.of_parameter(parameter)
        if known in self._strays and name not in self._strays:
            self.parameters.pop(known, None)
        elif known is not None and known != name:
            return
        before = self.parameters.get(name)
        # While FSDP2 has gathered a parameter, the module holds a plain tensor in its place.
        is_gathered = hasattr(before, "placements") and not hasattr(parameter, "placements")
        if before is not parameter and not is_gathered:
            self.parameters[name] = parameter
        if not is_gathered:
            self._of_parameter[id(parameter)] = (parameter, name)


def _named(module: torch.nn.Module, name: str) -> Iterator[tuple[str, torch.nn.Module]]:
    module = unwrapped(module)
    yield name, module
    for key, inside in module._modules.items():
        if inside is not None:
            yield from _named(inside, f"{name}.{key}" if name else key)
