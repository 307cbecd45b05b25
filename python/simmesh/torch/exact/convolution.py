"""Convolutions of any number of dims, as products of windows and weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from simmesh._core.exact import Values, product
from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import values, write
from simmesh.torch.exact.indexing import places_of
from simmesh.torch.exact.tables import Operator


class _Windows(NamedTuple):
    """The windows of an image that a kernel sees: strides, padding and dilation in each dim."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]

    def of(self, image: torch.Tensor, kernel: Sequence[int]) -> torch.Tensor:
        """[images, channels, *image] as [images, channels, *places, *kernel], padded by -1."""
        margins = [each for amount in reversed(self.padding) for each in (amount, amount)]
        found = torch.nn.functional.pad(image, margins, value=-1)
        for dim, (size, stride, dilation) in enumerate(zip(kernel, self.stride, self.dilation)):
            found = found.unfold(2 + dim, (size - 1) * dilation + 1, stride)
            found = found[..., ::dilation]
        return found


def _spread(setting: Sequence[int], dims: int) -> list[int]:
    return list(setting) * dims if len(setting) == 1 else list(setting)


def _as_forward(
    image: torch.Tensor, output: torch.Tensor, weight: torch.Tensor, windows: _Windows, groups: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The operands of a convolution, each by group: the numbers of the image's elements in windows
    [groups, images * places, channels * kernel], the windows themselves, the weights as
    [groups, channels * kernel, outputs], and the numbers of the output's elements as
    [groups, images * places, outputs].
    """
    dims, kernel = weight.dim() - 2, weight.shape[2:]
    numbers = windows.of(places_of(image.shape).double(), kernel).to(torch.int64)
    places = tuple(slice(0, size) for size in output.shape[2:])  # a transposed one may have more
    numbers = numbers[(slice(None), slice(None), *places)]
    counts = [image.shape[0], groups, image.shape[1] // groups]
    numbers = numbers.reshape(*counts, *numbers.shape[2:])
    spatial = list(range(3, 3 + dims))
    rows = math.prod(numbers.shape[3 : 3 + dims]) * image.shape[0]
    order = [1, 0, *spatial, 2, *range(3 + dims, 3 + 2 * dims)]
    numbers = numbers.permute(order).reshape(groups, rows, -1)
    flat = torch.cat([image.detach().reshape(-1), image.new_zeros(1)])
    columns = weight.detach().reshape(groups, weight.shape[0] // groups, -1).transpose(1, 2)
    outputs = places_of(output.shape).reshape(output.shape[0], groups, -1, *output.shape[2:])
    outputs = outputs.permute(1, 0, *range(3, 3 + dims), 2).reshape(groups, rows, -1)
    return numbers, flat[numbers], columns, outputs


def _forward(image: torch.Tensor, weight: torch.Tensor, output: torch.Tensor, windows: _Windows,
             groups: int) -> Values:  # fmt: skip
    """The convolution's values in the order of the output's elements."""
    _, seen, columns, outputs = _as_forward(image, output, weight, windows, groups)
    return product(seen, columns).summed_at(outputs.reshape(-1), output.numel())


def _to_image(given: torch.Tensor, weight: torch.Tensor, image: torch.Tensor, windows: _Windows,
              groups: int) -> Values:  # fmt: skip
    """The gradient of the image, which is also the transposed convolution."""
    numbers, _, columns, outputs = _as_forward(image, given, weight, windows, groups)
    terms = product(given.detach().reshape(-1)[outputs], columns.transpose(1, 2))
    return terms.summed_at(numbers.reshape(-1), image.numel())


def _to_weight(given: torch.Tensor, image: torch.Tensor, weight: torch.Tensor, windows: _Windows,
               groups: int) -> Values:  # fmt: skip
    _, seen, _, outputs = _as_forward(image, given, weight, windows, groups)
    return product(given.detach().reshape(-1)[outputs].transpose(1, 2), seen)


@tables.exact("convolutions", "convolution _convolution convolution_overrideable")
def _convolution(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    image, weight, bias, stride, padding, dilation, transposed, _, groups = args[:9]
    if result.numel() == 0:
        return result
    dims = weight.dim() - 2
    windows = _Windows(_spread(stride, dims), _spread(padding, dims), _spread(dilation, dims))
    images, output = (image, result) if image.dim() > dims + 1 else (image[None], result[None])
    if transposed:
        found = _to_image(images, weight, output, windows, groups)
    else:
        found = _forward(images, weight, output, windows, groups)
    if bias is not None:
        found = found.plus(values(bias.reshape(-1, *[1] * dims).expand(output.shape)))
    write(result, found)
    return result


@tables.exact("convolutions", "convolution_backward")
def _convolution_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    given, image, weight, _, stride, padding, dilation, transposed, _, groups, mask = args
    if given.numel() == 0:
        return result
    dims = weight.dim() - 2
    windows = _Windows(_spread(stride, dims), _spread(padding, dims), _spread(dilation, dims))
    if mask[0]:
        if transposed:
            write(result[0], _forward(given, weight, result[0], windows, groups))
        else:
            write(result[0], _to_image(given, weight, result[0], windows, groups))
    if mask[1]:
        one, other = (given, image) if transposed else (image, given)
        write(result[1], _to_weight(other, one, result[1], windows, groups))
    if mask[2]:
        view = given.transpose(0, 1)
        write(result[2], values(view).summed(given.shape[1], given.numel() // given.shape[1], 1))
    return result
