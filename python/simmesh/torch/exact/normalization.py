"""Layer, group and batch norms. Statistics are exact sums; the rest is float64, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from simmesh._core.exact import Values
from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import drop, keep, unrounded, write
from simmesh.torch.exact.doubles import function, narrow, wide
from simmesh.torch.exact.sums import exact_sum, moments, summed_last
from simmesh.torch.exact.tables import Operator


def _statistics(rows: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The mean, the variance and 1 / sqrt(variance + eps) of rows of rounded elements."""
    count = rows.shape[-1]
    spread, mean = moments(rows, count)
    means = torch.empty(rows.numel() // count, dtype=torch.float64)
    variances = torch.empty_like(means)
    mean.round_into(means)
    spread.divided(float(count)).round_into(variances)
    return means, variances, function("rsqrt", variances + eps)


def _scaled(normal: torch.Tensor, weight: torch.Tensor | None,
            bias: torch.Tensor | None) -> torch.Tensor:  # fmt: skip
    if weight is not None:
        normal = normal * wide(weight)
    return normal if bias is None else normal + wide(bias)


@tables.exact("norms", "native_layer_norm")
def _layer_norm(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    tensor, shape, weight, bias, eps = args
    if tensor.numel() == 0:
        return result
    rows = wide(tensor).reshape(-1, torch.Size(shape).numel())
    mean, _, scale = _statistics(rows, eps)
    normal = (rows - mean[:, None]) * scale[:, None]
    narrow(_scaled(normal.reshape(tensor.shape), weight, bias), result[0])
    narrow(mean.reshape(result[1].shape), result[1])
    narrow(scale.reshape(result[2].shape), result[2])
    return result


def _input_gradient(gradient: torch.Tensor, normal: torch.Tensor,
                    scale: torch.Tensor) -> torch.Tensor:  # fmt: skip
    """The gradient of rows that were normalized by their own statistics."""
    count = normal.shape[-1]
    mean = exact_sum(gradient, count)[:, None] / count
    along = exact_sum(gradient * normal, count)[:, None] / count
    return (gradient - mean - normal * along) * scale[:, None]


def _write_sum(result: torch.Tensor | None, terms: torch.Tensor) -> None:
    """Writes sums over the first dim, which stay exact behind the result."""
    if result is not None and terms.numel():
        write(result, Values.of(terms).summed(1, terms.shape[0], result.numel()))


@tables.exact("norms", "native_layer_norm_backward")
def _layer_norm_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    gradient, tensor, shape, mean, scale, weight = args[:6]
    if tensor.numel() == 0:
        return result
    count = torch.Size(shape).numel()
    rows, given = wide(tensor).reshape(-1, count), wide(gradient).reshape(-1, count)
    scales = wide(scale).reshape(-1)
    normal = (rows - wide(mean).reshape(-1, 1)) * scales[:, None]
    if result[0] is not None:
        scaled = given if weight is None else given * wide(weight).reshape(-1)
        narrow(_input_gradient(scaled, normal, scales).reshape(tensor.shape), result[0])
    _write_sum(result[1], given * normal)
    _write_sum(result[2], given)
    return result


@tables.exact("norms", "native_group_norm")
def _group_norm(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    tensor, weight, bias, images, channels, area, groups, eps = args
    if tensor.numel() == 0:
        return result
    rows = wide(tensor).reshape(images * groups, -1)
    mean, _, scale = _statistics(rows, eps)
    normal = ((rows - mean[:, None]) * scale[:, None]).reshape(images, channels, area)
    weight, bias = (each if each is None else each.reshape(-1, 1) for each in (weight, bias))
    narrow(_scaled(normal, weight, bias).reshape(tensor.shape), result[0])
    narrow(mean.reshape(result[1].shape), result[1])
    narrow(scale.reshape(result[2].shape), result[2])
    return result


@tables.exact("norms", "native_group_norm_backward")
def _group_norm_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    gradient, tensor, mean, scale, weight, images, channels, area, groups = args[:9]
    if tensor.numel() == 0:
        return result
    rows, scales = wide(tensor).reshape(images * groups, -1), wide(scale).reshape(-1)
    normal = (rows - wide(mean).reshape(-1, 1)) * scales[:, None]
    given = wide(gradient).reshape(images, channels, area)
    if result[0] is not None:
        scaled = given if weight is None else given * wide(weight).reshape(-1, 1)
        found = _input_gradient(scaled.reshape(rows.shape), normal, scales)
        narrow(found.reshape(tensor.shape), result[0])
    for into, terms in (
        (result[1], given * normal.reshape(given.shape)), (result[2], given)
    ):  # fmt: skip
        _write_sum(into, terms.permute(0, 2, 1).reshape(-1, channels))
    return result


def _channels_first(tensor: torch.Tensor) -> torch.Tensor:
    """Rows of all elements of a channel."""
    return wide(tensor).transpose(0, 1).reshape(tensor.shape[1], -1)


def _channels_back(rows: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
    shape = [like.shape[1], like.shape[0], *like.shape[2:]]
    return rows.reshape(shape).transpose(0, 1)


@tables.exact(
    "norms",
    "native_batch_norm _native_batch_norm_legit _native_batch_norm_legit.no_stats "
    "_native_batch_norm_legit_no_training",
)
def _batch_norm(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    given = dict(zip([each.name for each in func._schema.arguments], args))
    running_mean, running_var = given.get("running_mean"), given.get("running_var")
    kept = [None if each is None else wide(each).clone() for each in (running_mean, running_var)]
    result = func(*args, **options)
    tensor, eps, momentum = given["input"], given["eps"], given["momentum"]
    if tensor.numel() == 0:
        return result
    rows = _channels_first(tensor)
    training = given.get("training", not tables.packet_of(func).endswith("no_training"))
    if training:
        found = Statistics(*_statistics(rows, eps), rows.shape[1])
        Running(running_mean, running_var, momentum, kept).update(found)
        mean, scale = found.mean, found.scale
        if result[1].numel():
            narrow(mean, result[1])
            narrow(scale, result[2])
    else:
        assert kept[0] is not None and kept[1] is not None
        mean, scale = kept[0], function("rsqrt", kept[1] + eps)
    _normalize(rows, mean, scale, given.get("weight"), given.get("bias"), result[0])
    return result


def _normalize(rows: torch.Tensor, mean: torch.Tensor, scale: torch.Tensor,
               weight: torch.Tensor | None, bias: torch.Tensor | None,
               result: torch.Tensor) -> None:  # fmt: skip
    """Writes (x - mean) * scale * weight + bias; mean and scale are float64, one a channel."""
    normal = (rows - mean[:, None]) * scale[:, None]
    weight, bias = (each if each is None else each.reshape(-1, 1) for each in (weight, bias))
    narrow(_channels_back(_scaled(normal, weight, bias), result), result)


def normalized(tensor: torch.Tensor, mean: torch.Tensor, scale: torch.Tensor,
               weight: torch.Tensor | None, bias: torch.Tensor | None) -> torch.Tensor:  # fmt: skip
    """A tensor that is normalized with given statistics, which are float64, one a channel."""
    result = torch.empty_like(tensor)
    _normalize(_channels_first(tensor), mean, scale, weight, bias, result)
    return result


@dataclass(frozen=True)
class Statistics:
    """The mean, the variance and 1 / sqrt(variance + eps) of each channel, of ``count`` elements
    in all rows.
    """

    mean: torch.Tensor
    variance: torch.Tensor
    scale: torch.Tensor
    count: int


class Running:
    """The running mean and variance of a batch norm, if it has them. ``before`` are their values
    before the call, if it has changed them already.
    """

    def __init__(
        self,
        mean: torch.Tensor | None,
        variance: torch.Tensor | None,
        momentum: float,
        before: Sequence[torch.Tensor | None] | None = None,
    ) -> None:
        self._targets = mean, variance
        self._momentum = momentum
        self._before = before

    def update(self, found: Statistics) -> None:
        """Moves them towards those of a batch; the variance without bias."""
        count = found.count
        unbiased = found.variance * (count / (count - 1)) if count > 1 else found.variance
        before = self._before
        if before is None:
            before = [None if each is None else wide(each) for each in self._targets]
        for target, old, new in zip(self._targets, before, (found.mean, unbiased)):
            if target is not None and old is not None:
                narrow((1 - self._momentum) * old + self._momentum * new, target)
                drop(target)


def sums_of_channels(tensor: torch.Tensor) -> torch.Tensor:
    """For each channel the sum of its elements, then that of their squares, then the number of
    elements of one: 2 C + 1 float64. The sums stay exact behind the elements.
    """
    rows = _channels_first(tensor)
    channels, count = rows.shape
    result = torch.zeros(2 * channels + 1, dtype=torch.float64)
    if count:
        elements = Values.of(rows)
        keep(result[:channels], summed_last(elements, count))
        keep(result[channels:-1], summed_last(elements.times(elements), count))
    result[-1] = count
    return result


def statistics_of_parts(parts: Sequence[torch.Tensor], eps: float) -> Statistics:
    """The statistics of the rows of all parts, from the sums of each."""
    channels = len(parts[0]) // 2
    count = sum(float(each[-1]) for each in parts)
    total, squares = unrounded(parts[0][:channels]), unrounded(parts[0][channels:-1])
    for each in parts[1:]:
        total = total.plus(unrounded(each[:channels]))
        squares = squares.plus(unrounded(each[channels:-1]))
    mean = total.divided(count)
    spread = squares.plus(total.times(mean), -1.0)
    means, variances = torch.empty(2, channels, dtype=torch.float64)
    mean.round_into(means)
    spread.divided(count).round_into(variances)
    return Statistics(means, variances, function("rsqrt", variances + eps), int(count))


class BackwardOfChannels:
    """The backward pass of a batch norm whose statistics are those of more rows than these."""

    def __init__(
        self, gradient: torch.Tensor, tensor: torch.Tensor, weight: torch.Tensor | None,
        mean: torch.Tensor, scale: torch.Tensor,
    ) -> None:  # fmt: skip
        self._tensor, self._scale = tensor, wide(scale)[:, None]
        self._given = _channels_first(gradient)
        self._normal = (_channels_first(tensor) - wide(mean)[:, None]) * self._scale
        self._scaled = self._given if weight is None else self._given * wide(weight)[:, None]

    def sums(self) -> torch.Tensor:
        """The sums over these rows that the gradient of the input needs of all rows: 2 C float64,
        which stay exact.
        """
        channels, count = self._scaled.shape
        result = torch.zeros(2 * channels, dtype=torch.float64)
        if count:
            keep(result[:channels], summed_last(Values.of(self._scaled), count))
            along = self._scaled * self._normal
            keep(result[channels:], summed_last(Values.of(along), count))
        return result

    def of_input(self, sums: torch.Tensor, count: int) -> torch.Tensor:
        """The gradient of the input, from the sums over all rows, which have ``count`` elements."""
        mean, along = (each[:, None] / count for each in sums.chunk(2))
        found = (self._scaled - mean - self._normal * along) * self._scale
        return narrow(_channels_back(found, self._tensor), torch.empty_like(self._tensor))

    def of_parameters(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The gradients of weight and bias by these rows, which stay exact."""
        found = torch.zeros(2, len(self._given), dtype=self._tensor.dtype)
        _write_sum(found[0], (self._given * self._normal).t())
        _write_sum(found[1], self._given.t())
        return found[0], found[1]


@tables.exact("norms", "native_batch_norm_backward")
def _batch_norm_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    gradient, tensor, weight, running_mean, running_var, mean, scale, training, eps = args[:9]
    if tensor.numel() == 0:
        return result
    rows, given = _channels_first(tensor), _channels_first(gradient)
    if training:
        means, scales = wide(mean), wide(scale)
    else:
        means, scales = wide(running_mean), function("rsqrt", wide(running_var) + eps)
    normal = (rows - means[:, None]) * scales[:, None]
    scaled = given if weight is None else given * wide(weight)[:, None]
    if result[0] is not None:
        found = _input_gradient(scaled, normal, scales) if training else scaled * scales[:, None]
        narrow(_channels_back(found, tensor), result[0])
    _write_sum(result[1], (given * normal).t())
    _write_sum(result[2], given.t())
    return result
