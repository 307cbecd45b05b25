"""Modules of PyTorch for the model nodes of the FSDP2 cases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from simmesh.recording import formula

Module = TypeVar("Module", bound=nn.Module)

_POINTWISE: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "tanh": torch.tanh,
    "silu": functional.silu,
    "identity": lambda x: x * 1,
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
}


class Node(nn.Module):
    """One node of a case's model: its children are submodules, its kind says what forward does."""

    def __init__(self, node: Mapping[str, Any], dtype: torch.dtype) -> None:
        super().__init__()
        self.node = node
        self.given: list[tuple[str, Tensor]] = []
        for name, shape in _shapes(node):
            self.register_parameter(name, nn.Parameter(torch.empty(shape, dtype=dtype)))
        for child in node.get("children") or _attention_children(node):
            self.add_module(child["name"], Node(child, dtype))

    def forward(self, x: Tensor) -> Any:
        """Runs the node, with its body recomputed in backward where the case asks for that."""
        if self.node.get("ac"):
            return checkpoint(self._body, x, use_reentrant=False)
        return self._body(x)

    def _body(self, x: Tensor) -> Any:
        kind = self.node["kind"]
        if kind in _POINTWISE:
            return _POINTWISE[kind](x)
        body = getattr(self, f"_{kind}", None)
        if body is None:
            raise NotImplementedError(
                f"[recording/nodes] expected a node that can be called, got {kind!r}"
            )
        return body(x)

    def _called(self) -> list[nn.Module]:
        children = dict(self.named_children())
        return [children[name] for name in self.node.get("calls") or children]

    def _linear(self, x: Tensor) -> Tensor:
        return functional.linear(x, self.weight, self.bias if self.node["bias"] else None)

    def _embedding(self, x: Tensor) -> Tensor:
        return functional.embedding(x, self.weight)

    def _position(self, x: Tensor) -> Tensor:
        return x + self.weight[: x.size(1)]

    def _layer_norm(self, x: Tensor) -> Tensor:
        return functional.layer_norm(
            x, (self.node["dim"],), self.weight, self.bias, self.node["eps"]
        )

    def _rms_norm(self, x: Tensor) -> Tensor:
        return x / torch.sqrt(x.square().mean(-1, keepdim=True) + self.node["eps"]) * self.weight

    def _sequential(self, x: Tensor) -> Tensor:
        for child in self._called():
            x = child(x)
        return x

    def _residual(self, x: Tensor) -> Tensor:
        return x + self._sequential(x)

    def _fan(self, x: Tensor) -> tuple[Tensor, ...]:
        return tuple(child(x) for child in self._called())

    def _add(self, x: Tensor) -> Tensor:
        first, *others = self._fan(x)
        for other in others:
            first = first + other
        return first

    def _attention(self, x: Tensor) -> Tensor:
        batch, length, dim = x.shape
        heads = self.node["heads"]

        def split(rows: Tensor) -> Tensor:
            return rows.reshape(batch, length, heads, dim // heads).transpose(1, 2)

        q, k, v = split(self.wq(x)), split(self.wk(x)), split(self.wv(x))
        scores = q @ k.transpose(-2, -1) / (dim // heads) ** 0.5
        if self.node["causal"]:
            later = torch.ones(length, length, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        mixed = torch.softmax(scores, -1) @ v
        return self.wo(mixed.transpose(1, 2).reshape(batch, length, dim))

    def _block(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))

    def _params(self, x: Tensor) -> Tensor:
        for name, gradient in self.given:
            parameter = getattr(self, name)
            local = parameter.to_local() if hasattr(parameter, "to_local") else parameter
            x = x + (local * gradient).sum()
        return x


def build(case: Mapping[str, Any]) -> Node:
    """The model of a case with its parameters' values, its tied and its frozen parameters."""
    model = filled(Node(case["model"], formula.DTYPES[case.get("dtype", "float32")]), case)
    for name, holder in case.get("tied", ()):
        set_parameter(model, name, model.get_parameter(holder))
    for name in case.get("frozen", ()):
        model.get_parameter(name).requires_grad_(False)
    return model


def filled(model: Module, case: Mapping[str, Any]) -> Module:
    """The model with the dtype and the parameters' values of a case."""
    model.to(formula.DTYPES[case.get("dtype", "float32")])
    parameters = dict(model.named_parameters())
    for record in case["params"]:
        parameter = parameters[record["name"]]
        with torch.no_grad():
            parameter.copy_(
                formula.values(record["shape"], record, formula.name_of(parameter.dtype))
            )
    return model


def set_parameter(model: nn.Module, name: str, parameter: nn.Parameter) -> None:
    """Puts a parameter into the slot with this dotted name."""
    path, _, slot = name.rpartition(".")
    setattr(model.get_submodule(path), slot, parameter)


def _shapes(node: Mapping[str, Any]) -> list[tuple[str, list[int]]]:
    kind = node["kind"]
    if kind == "linear":
        bias = [("bias", [node["out"]])] if node["bias"] else []
        return [("weight", [node["out"], node["in"]]), *bias]
    if kind == "embedding":
        return [("weight", [node["num"], node["dim"]])]
    if kind == "position":
        return [("weight", [node["len"], node["dim"]])]
    if kind in ("layer_norm", "rms_norm"):
        bias = [("bias", [node["dim"]])] if kind == "layer_norm" else []
        return [("weight", [node["dim"]]), *bias]
    return [(name, shape) for name, shape in node["params"]] if kind == "params" else []


def _attention_children(node: Mapping[str, Any]) -> list[dict[str, Any]]:
    if node["kind"] != "attention":
        return []
    dim = node["dim"]
    return [
        {"name": name, "kind": "linear", "in": dim, "out": dim, "bias": node["bias"]}
        for name in ("wq", "wk", "wv", "wo")
    ]
