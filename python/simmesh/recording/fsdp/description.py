"""Model nodes of the FSDP2 cases for modules of PyTorch."""

from __future__ import annotations

from typing import Any, Callable

from torch import nn

_KINDS: dict[type, Callable[[Any], dict[str, Any]]] = {
    nn.Linear: lambda m: {
        "kind": "linear",
        "in": m.in_features,
        "out": m.out_features,
        "bias": m.bias is not None,
    },
    nn.Embedding: lambda m: {"kind": "embedding", "num": m.num_embeddings, "dim": m.embedding_dim},
    nn.ReLU: lambda m: {"kind": "relu"},
    nn.Tanh: lambda m: {"kind": "tanh"},
    nn.SiLU: lambda m: {"kind": "silu"},
    nn.GELU: lambda m: {"kind": "gelu" if m.approximate == "none" else "gelu_tanh"},
    nn.LayerNorm: lambda m: {"kind": "layer_norm", "dim": m.normalized_shape[0], "eps": m.eps},
}


def nodes_of(module: nn.Module, name: str = "") -> dict[str, Any]:
    """Returns the node of a model: nn.Sequential of linear layers, embeddings, activations,
    layer norms.

    Raises ValueError for a module that no node stands for.
    """
    if type(module) is nn.Sequential:
        children = [nodes_of(child, path) for path, child in module.named_children()]
        return {"name": name, "kind": "sequential", "children": children}
    describe = _KINDS.get(type(module))
    is_odd = isinstance(module, nn.LayerNorm) and (
        len(module.normalized_shape) != 1 or module.bias is None
    )
    if describe is None or is_odd:
        raise ValueError(
            f"[recording/description] expected nn.Sequential or one of "
            f"{', '.join(kind.__name__ for kind in _KINDS)}, got {module} at {name!r}; "
            f"record the kind fsdp_layout, which takes any model"
        )
    return {"name": name, **describe(module)}


def skeleton_of(module: nn.Module, name: str = "") -> dict[str, Any]:
    """Returns the node of a model with this one's parameters, by name and shape, that computes
    nothing.

    Raises ValueError for a module that has parameters of its own and submodules with parameters.
    """
    children = [
        (path, child) for path, child in module.named_children() if list(child.parameters())
    ]
    own = [
        [path, list(parameter.shape)] for path, parameter in module.named_parameters(recurse=False)
    ]
    if own and children:
        raise ValueError(
            f"[recording/description] expected parameters in modules without submodules, got "
            f"{own[0][0]!r} beside {children[0][0]!r} in {name or type(module).__name__!r}"
        )
    if own:
        return {"name": name, "kind": "params", "params": own}
    return {
        "name": name,
        "kind": "sequential",
        "children": [skeleton_of(child, path) for path, child in children],
    }


def parameters_of(module: nn.Module, seed: int, **data: Any) -> list[dict[str, Any]]:
    """The records of a model's parameters: values by formula, a seed each."""
    return [
        {"name": name, "shape": list(parameter.shape), "seed": seed + 7 * index, **data}
        for index, (name, parameter) in enumerate(module.named_parameters())
    ]
