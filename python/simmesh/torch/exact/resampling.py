"""Average pools and interpolations: in each dim a matrix of fixed weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from simmesh._core.exact import Values
from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import values, write
from simmesh.torch.exact.tables import Operator


def _resampled(source: Values, shape: list[int], dims: int, maps: Sequence[torch.Tensor]) -> Values:
    """Applies a matrix of [outputs, inputs] to each of the last dims."""
    found, sizes = source, list(shape)
    for at, weights in enumerate(maps, start=len(sizes) - dims):
        outer, inner = math.prod(sizes[:at]), math.prod(sizes[at + 1 :])
        outputs, inputs = weights.shape
        into, taken = weights.nonzero(as_tuple=True)
        factors = weights[into, taken]
        blocks = torch.arange(outer).reshape(-1, 1, 1)
        within = torch.arange(inner).reshape(1, 1, -1)
        source_at = (blocks * inputs + taken.reshape(1, -1, 1)) * inner + within
        target_at = (blocks * outputs + into.reshape(1, -1, 1)) * inner + within
        each = factors.reshape(1, -1, 1).expand(source_at.shape)
        terms = found.taken(source_at.reshape(-1)).times(Values.of(each))
        found = terms.summed_at(target_at.reshape(-1), outer * outputs * inner)
        sizes[at] = outputs
    return found


def _probed(operator: Callable[[torch.Tensor], torch.Tensor], inputs: int) -> torch.Tensor:
    """The weights of an operator of one dim: what it makes of each unit vector."""
    units = torch.eye(inputs, dtype=torch.float64).unsqueeze(1)
    return operator(units).squeeze(1).t().contiguous()


def _each_dim(setting: Any, dims: int) -> list[Any]:
    if not isinstance(setting, (list, tuple)):
        return [setting] * dims
    return list(setting) * dims if len(setting) == 1 else list(setting)


def _dims_of(func: Operator) -> int:
    return next(dims for dims in (1, 2, 3) if f"{dims}d" in tables.packet_of(func))


def _pool_maps(image: torch.Tensor, dims: int, settings: dict[str, Any]) -> list[torch.Tensor]:
    kernel = _each_dim(settings["kernel_size"], dims)
    stride = _each_dim(settings["stride"] or kernel, dims)
    padding = _each_dim(settings["padding"], dims)
    override = settings.get("divisor_override")
    maps = []
    for at in range(dims):
        options = {
            "stride": stride[at], "padding": padding[at], "ceil_mode": settings["ceil_mode"],
            "count_include_pad": settings["count_include_pad"],
        }  # fmt: skip

        def pool(units: torch.Tensor, size: int = kernel[at], more: Any = options) -> torch.Tensor:
            return torch.nn.functional.avg_pool1d(units, size, **more)

        weights = _probed(pool, image.shape[at - dims])
        if override is not None:
            weights = torch.where(weights != 0, 1.0, 0.0).double()
        maps.append(weights)
    if override is not None:
        maps[0] = maps[0] / override
    return maps


@tables.exact("resampling", "avg_pool1d avg_pool2d avg_pool3d")
def _pool(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result, dims = func(*args, **options), _dims_of(func)
    image = args[0]
    if result.numel():
        maps = _pool_maps(image, dims, tables.named_arguments(func, args, options))
        write(result, _resampled(values(image), list(image.shape), dims, maps))
    return result


@tables.exact("resampling", "avg_pool2d_backward avg_pool3d_backward")
def _pool_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result, dims = func(*args, **options), _dims_of(func)
    given, image = args[0], args[1]
    if result.numel():
        maps = [
            each.t()
            for each in _pool_maps(image, dims, tables.named_arguments(func, args, options))
        ]
        write(result, _resampled(values(given), list(given.shape), dims, maps))
    return result


def _adaptive_maps(image: torch.Tensor, outputs: Sequence[int]) -> list[torch.Tensor]:
    maps = []
    for size, inputs in zip(outputs, image.shape[-len(outputs) :]):

        def pool(units: torch.Tensor, size: int = size) -> torch.Tensor:
            return torch.nn.functional.adaptive_avg_pool1d(units, size)

        maps.append(_probed(pool, inputs))
    return maps


@tables.exact("resampling", "_adaptive_avg_pool2d _adaptive_avg_pool3d")
def _adaptive(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result, dims, image = func(*args, **options), _dims_of(func), args[0]
    if result.numel():
        maps = _adaptive_maps(image, result.shape[-dims:])
        write(result, _resampled(values(image), list(image.shape), dims, maps))
    return result


@tables.exact("resampling", "_adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward "
              "adaptive_avg_pool3d_backward")  # fmt: skip
def _adaptive_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result, dims = func(*args, **options), _dims_of(func)
    given, image = args[0], args[1]
    if result.numel():
        maps = [each.t() for each in _adaptive_maps(image, given.shape[-dims:])]
        write(result, _resampled(values(given), list(given.shape), dims, maps))
    return result


_INTERPOLATIONS = (
    "upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d "
    "upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d "
    "_upsample_nearest_exact2d _upsample_nearest_exact3d"
)


def _interpolation_maps(
    packet: str, inputs: Sequence[int], outputs: Sequence[int], given: dict[str, Any]
) -> list[torch.Tensor]:
    """The weights of each dim, from torch's interpolation of unit vectors of float64."""
    scales = [each for name, each in given.items() if name.startswith("scales")]
    maps = []
    for at, (size_in, size_out) in enumerate(zip(inputs, outputs)):
        scale = scales[at] if at < len(scales) else None

        def along(units: torch.Tensor, size: int = size_out, by: Any = scale) -> torch.Tensor:
            if "bicubic" in packet:
                return torch.ops.aten.upsample_bicubic2d(
                    units.unsqueeze(2), [1, size], given["align_corners"], None, by
                ).squeeze(2)
            if "linear" in packet:
                return torch.ops.aten.upsample_linear1d(units, [size], given["align_corners"], by)
            is_exact = "exact" in packet
            nearest = "_upsample_nearest_exact1d" if is_exact else "upsample_nearest1d"
            return getattr(torch.ops.aten, nearest)(units, [size], by)

        maps.append(_probed(along, size_in))
    return maps


@tables.exact("resampling", _INTERPOLATIONS)
def _interpolate(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result, dims, image = func(*args, **options), _dims_of(func), args[0]
    if result.numel():
        maps = _interpolation_maps(
            tables.packet_of(func), image.shape[-dims:], result.shape[-dims:],
            tables.named_arguments(func, args, options),
        )  # fmt: skip
        write(result, _resampled(values(image), list(image.shape), dims, maps))
    return result


@tables.exact("resampling", " ".join(f"{name}_backward" for name in _INTERPOLATIONS.split()))
def _interpolate_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result, dims, given = func(*args, **options), _dims_of(func), args[0]
    if result.numel():
        maps = _interpolation_maps(
            tables.packet_of(func), result.shape[-dims:], given.shape[-dims:],
            tables.named_arguments(func, args, options),
        )  # fmt: skip
        write(result, _resampled(values(given), list(given.shape), dims, [m.t() for m in maps]))
    return result
