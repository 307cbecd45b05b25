"""Fused steps of optimizers. torch's kernels round otherwise in vectors than in the rest of a
tensor, so the steps are computed in float64, and each element is rounded once when it is written.
"""

from __future__ import annotations

from typing import Any

import torch

from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import drop
from simmesh.torch.exact.doubles import narrow, wide
from simmesh.torch.exact.tables import Operator

#: The lists of tensors that a step reads and writes, by the operator's name.
_LISTS = {
    "adam": ("self", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"),
    "adamw": ("self", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"),
    "sgd": ("self", "grads", "momentum_buffer_list"),
    "adagrad": ("self", "grads", "state_sums"),
}


def _named(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[str, Any]:
    """The name of the optimizer, and the arguments by name."""
    name = tables.packet_of(func).removeprefix("_fused_").removesuffix("_")
    return name, tables.named_arguments(func, args, options)


@tables.exact("optimizers", "_fused_adam_ _fused_adamw_ _fused_sgd_ _fused_adagrad_")
def _step(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    name, given = _named(func, args, options)
    _take(name, given)


@tables.exact("optimizers", "_fused_adam _fused_adamw _fused_sgd _fused_adagrad")
def _functional_step(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """The step on copies, which are the results."""
    name, given = _named(func, args, options)
    copies = {key: [each.clone() for each in given[key]] for key in _LISTS[name]}
    _take(name, {**given, **copies})
    return tuple(copies.values())


def _take(name: str, given: dict[str, Any]) -> None:
    """Takes the step of all parameters, unless GradScaler found a gradient that isn't finite."""
    if given["found_inf"] is not None and float(given["found_inf"]) == 1.0:
        return
    compute = _STEPS[name]
    lists = [given[key] for key in _LISTS[name]]
    steps = given.get("state_steps") or [None] * len(lists[0])
    for index, count in enumerate(steps):
        tensors = [each[index] if index < len(each) else None for each in lists]
        parameter, gradient = tensors[0], tensors[1]
        slope = wide(gradient)
        if given["grad_scale"] is not None:
            slope = slope / float(given["grad_scale"])
            _write(gradient, slope)
        if given["maximize"]:
            slope = -slope
        compute(name, given, parameter, slope, tensors[2:], count)


def _write(target: torch.Tensor, doubles: torch.Tensor) -> torch.Tensor:
    """Writes elements, and returns them as they are rounded."""
    narrow(doubles, target)
    drop(target)
    return wide(target)


def _adam(
    name: str, given: dict[str, Any], parameter: torch.Tensor, slope: torch.Tensor,
    states: list[Any], count: Any,
) -> None:  # fmt: skip
    rate, decay, step = float(given["lr"]), given["weight_decay"], float(count)
    value = wide(parameter)
    if decay and name == "adam":
        slope = slope + value * decay
    elif decay:
        value = value * (1 - rate * decay)
    beta1, beta2 = given["beta1"], given["beta2"]
    mean, square, largest = states
    mean = _write(mean, wide(mean) * beta1 + slope * (1 - beta1))
    square = _write(square, wide(square) * beta2 + slope * slope * (1 - beta2))
    if given["amsgrad"]:
        square = _write(largest, torch.maximum(wide(largest), square))
    root = square.sqrt() / (1 - beta2**step) ** 0.5 + given["eps"]
    _write(parameter, value - mean / root * (rate / (1 - beta1**step)))


def _sgd(
    name: str, given: dict[str, Any], parameter: torch.Tensor, slope: torch.Tensor,
    states: list[Any], count: Any,
) -> None:  # fmt: skip
    value, momentum = wide(parameter), given["momentum"]
    slope = slope + value * given["weight_decay"]
    if momentum:
        (buffer,) = states
        kept = slope
        if not given["is_first_step"]:
            kept = wide(buffer) * momentum + slope * (1 - given["dampening"])
        kept = _write(buffer, kept)
        slope = slope + kept * momentum if given["nesterov"] else kept
    _write(parameter, value - slope * float(given["lr"]))


def _adagrad(
    name: str, given: dict[str, Any], parameter: torch.Tensor, slope: torch.Tensor,
    states: list[Any], count: Any,
) -> None:  # fmt: skip
    value, (total,) = wide(parameter), states
    slope = slope + value * given["weight_decay"]
    total = _write(total, wide(total) + slope * slope)
    rate = float(given["lr"]) / (1 + (float(count) - 1) * given["lr_decay"])
    _write(parameter, value - slope / (total.sqrt() + given["eps"]) * rate)


_STEPS = {"adam": _adam, "adamw": _adam, "sgd": _sgd, "adagrad": _adagrad}
