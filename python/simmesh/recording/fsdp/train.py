"""Records the kinds ``train`` and ``train_exact``: losses, gradient norms, final parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from simmesh.recording import formula, ranks
from simmesh.recording.fsdp import nodes, sharding

ANSWERS = ("losses", "grad_norms", "final", "final_shape")
_OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def answer(
    case: Mapping[str, Any],
    settings: ranks.Settings = ranks.Settings(),
    build: Callable[[Mapping[str, Any]], nn.Module] = nodes.build,
) -> dict[str, Any]:
    """Returns the case with its figures, as the installed PyTorch gives them."""
    results = ranks.on_ranks(lambda rank: _train(case, build(case), rank), case["world"], settings)
    question = {name: value for name, value in case.items() if name not in ANSWERS}
    steps, parts = case["steps"], case["microbatches"]
    losses = [
        sum(
            sum(result["losses"][step * parts + part] for result in results) / len(results)
            for part in range(parts)
        )
        for step in range(steps)
    ]
    figures = {"losses": losses, "grad_norms": results[0]["norms"]}
    final = results[0]["final"]
    if case["kind"] == "train_exact":
        shapes = {name: list(tensor.shape) for name, tensor in final.items()}
        hashes = {name: formula.bits(tensor) for name, tensor in final.items()}
        return {**question, "losses": losses, "final": hashes, "final_shape": shapes}
    return {
        **question,
        **figures,
        "final": {name: _summary(tensor) for name, tensor in final.items()},
    }


def _train(case: Mapping[str, Any], model: nn.Module, rank: int) -> dict[str, Any]:
    names = [name for name, _ in model.named_parameters()]
    sharding.shard(model, case)
    optimizer = _optimizer(model, case["optimizer"])
    losses: list[float] = []
    norms: list[Any] = []
    parts = case["microbatches"]
    for step in range(case["steps"]):
        for part in range(parts):
            _synchronize(model, case, is_last=part == parts - 1)
            x, y = (_share(case, case[name], rank, step, part) for name in ("input", "target"))
            loss = _loss(case["loss"], model(x), y) / parts
            loss.backward()
            losses.append(loss.item())
        norms.append(_clip(model, case))
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    final = {name: _whole(model.get_parameter(name)) for name in names}
    return {"losses": losses, "norms": norms, "final": final}


def _optimizer(model: nn.Module, fields: Mapping[str, Any]) -> torch.optim.Optimizer:
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()
    }
    return _OPTIMIZERS[options.pop("name")](model.parameters(), **options)


def _synchronize(model: Any, case: Mapping[str, Any], *, is_last: bool) -> None:
    if case["mesh"] is None or case["sync"] == "every":
        return
    if case["sync"] == "last":
        model.set_requires_gradient_sync(is_last)
    else:
        model.set_requires_all_reduce(is_last)
    model.set_is_last_backward(is_last)


def _share(
    case: Mapping[str, Any], data: Mapping[str, Any], rank: int, step: int, part: int
) -> Tensor:
    seed = data["seed"] + case["step_seed"] * step + case["microbatch_seed"] * part
    dtype = data.get("dtype") or (
        "int64" if data["rule"] == "index" else case.get("dtype", "float32")
    )
    batch = formula.values(data["shape"], {**data, "seed": seed % 2**64}, dtype)
    rows = batch.size(0) // case["world"]
    return batch[rank * rows : (rank + 1) * rows]


def _loss(kind: str, output: Tensor, target: Tensor) -> Tensor:
    if kind == "mse":
        return functional.mse_loss(output, target)
    if kind == "cross_entropy":
        return functional.cross_entropy(output.flatten(0, -2), target.flatten())
    return (output * target).sum() / output.size(0)


def _clip(model: nn.Module, case: Mapping[str, Any]) -> Any:
    clip = case.get("clip")
    order = float(clip["norm"]) if clip else 2.0
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    norm = _whole(nn.utils.get_total_norm(gradients, order))
    if clip:
        factor = torch.clamp(clip["max_norm"] / (norm + clip["eps"]), max=1.0)
        for gradient in gradients:
            sharding.local_of(gradient).mul_(factor)
    return _figure(norm.item())


def _figure(value: float) -> Any:
    return value if math.isfinite(value) else str(value)


def _whole(tensor: Tensor) -> Tensor:
    return (tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor).detach()


def _summary(tensor: Tensor) -> dict[str, float]:
    flat = tensor.double().flatten()
    summary = {"sum": flat.sum().item(), "abs_sum": flat.abs().sum().item()}
    ends = {"first": flat[0].item(), "last": flat[-1].item()} if flat.numel() else {}
    return {**summary, **ends}
