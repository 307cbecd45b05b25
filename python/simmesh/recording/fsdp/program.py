"""Runs the programs of FSDP2 cases on one rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from simmesh.recording import formula


class Program:
    """A sharded model with the outputs, handles and state dicts of the steps that ran on it."""

    def __init__(self, model: nn.Module, dtype: str = "float32") -> None:
        self.model = model
        self._dtype = dtype
        self._outputs: dict[str, Any] = {}
        self._handles: dict[str, Any] = {}
        self._state_dicts: dict[str, Any] = {}
        self._optimizer: torch.optim.Optimizer | None = None

    def run(self, step: Mapping[str, Any]) -> None:
        """Runs one step, which must raise if the case says so."""
        act = getattr(self, f"_{step['do']}", None)
        if act is None:
            raise ValueError(
                f"[recording/program] expected a step that can be recorded, got {step['do']!r}"
            )
        if not step.get("expect_error"):
            return act(step)
        try:
            act(step)
        except Exception:
            return None
        raise RuntimeError(
            f"[recording/program] expected the step {step['do']} to raise, got its end"
        )

    def _module(self, step: Mapping[str, Any]) -> Any:
        return self.model.get_submodule(step.get("module", ""))

    def _forward(self, step: Mapping[str, Any]) -> None:
        with torch.set_grad_enabled(step.get("grad", True)):
            output = self._module(step)(self.input_of(step["x"]))
        self._outputs[step.get("as", "")] = output

    def input_of(self, x: Mapping[str, Any]) -> Tensor:
        """Returns the input of a step: a tensor by formula, or a part of an earlier output."""
        if "from" in x:
            value = self._outputs[x["from"]]
            if "chunk" in x:
                value = value.chunk(x["chunk"][1], 0)[x["chunk"][0]]
            return value.detach().requires_grad_() if x.get("detach") else value
        integer = x["rule"] in ("index", "bool")
        value = formula.values(
            x["shape"], x, x.get("dtype") or ("int64" if integer else self._dtype)
        )
        return value.requires_grad_() if x.get("requires_grad") else value

    def _backward(self, step: Mapping[str, Any]) -> None:
        terms: list[Tensor] = []
        for name in step["of"]:
            output = self._outputs[name]
            parts = output if isinstance(output, tuple) else (output,)
            chosen = step.get("outs")
            terms += [part for index, part in enumerate(parts) if chosen is None or index in chosen]
        total = terms[0].sum()
        for term in terms[1:]:
            total = total + term.sum()
        total.backward(retain_graph=step.get("retain", False))

    def _set(self, step: Mapping[str, Any]) -> None:
        set_on(self._module(step), step)

    def _set_prefetch(self, step: Mapping[str, Any]) -> None:
        targets = [self.model.get_submodule(name) for name in step["targets"]]
        getattr(self._module(step), f"set_modules_to_{step['kind']}_prefetch")(targets)

    def _unshard(self, step: Mapping[str, Any]) -> None:
        handle = self._module(step).unshard(async_op=step.get("async", False))
        if handle is not None:
            self._handles[step.get("as", "")] = handle

    def _reshard(self, step: Mapping[str, Any]) -> None:
        self._module(step).reshard()

    def _wait_handle(self, step: Mapping[str, Any]) -> None:
        if step["as"] in self._handles:
            self._handles[step["as"]].wait()

    def _zero_grad(self, step: Mapping[str, Any]) -> None:
        self.model.zero_grad(set_to_none=True)

    def _optim_step(self, step: Mapping[str, Any]) -> None:
        if self._optimizer is None:
            self._optimizer = torch.optim.SGD(self.model.parameters(), lr=step.get("lr", 0.1))
        self._optimizer.step()

    def _state_dict(self, step: Mapping[str, Any]) -> None:
        self._state_dicts[step.get("as", "")] = self.model.state_dict()

    def _share_comm_ctx(self, step: Mapping[str, Any]) -> None:
        from torch.distributed.fsdp import share_comm_ctx

        share_comm_ctx([self.model.get_submodule(name) for name in step["modules"]])

    def _reset_iter_state(self, step: Mapping[str, Any]) -> None:
        self._module(step).reset_iter_state()

    def _set_requires_grad(self, step: Mapping[str, Any]) -> None:
        for name in step["params"]:
            self.model.get_parameter(name).requires_grad_(step["value"])


def set_on(module: Any, step: Mapping[str, Any]) -> None:
    """Calls the setter that a ``set`` step names."""
    name = {"unshard_async_op": "_set_unshard_async_op"}.get(step["what"], f"set_{step['what']}")
    keywords = {} if step.get("recurse") is None else {"recurse": step["recurse"]}
    getattr(module, name)(step["value"], **keywords)
