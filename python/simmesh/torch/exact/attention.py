"""Attention, computed like its composition: products, a softmax in float64, products."""

from __future__ import annotations

import math
from typing import Any

import torch

from simmesh._core.exact import Values, product
from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import write
from simmesh.torch.exact.doubles import function, narrow, wide
from simmesh.torch.exact.losses import softmax_gradient
from simmesh.torch.exact.sums import exact_sum
from simmesh.torch.exact.tables import Operator


def _batches(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(-1, *tensor.shape[-2:])


def _repeated(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    """Keys or values for each of the heads of queries that share them."""
    times = heads // tensor.shape[1]
    return tensor if times == 1 else tensor.repeat_interleave(times, 1)


def _doubles(found: Values, shape: Any) -> torch.Tensor:
    result = torch.empty(shape, dtype=torch.float64)
    found.round_into(result)
    return result


def _probabilities(
    query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor | None, is_causal: bool, scale: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The softmax of the scores, and the logarithm of the sum of their exponentials."""
    shape = [*query.shape[:-1], key.shape[-2]]
    scores = _doubles(product(_batches(query), _batches(key).transpose(1, 2)), shape) * scale
    if mask is not None:
        is_choice = mask.dtype == torch.bool
        scores = scores.masked_fill(~mask, -math.inf) if is_choice else scores + wide(mask)
    if is_causal:
        allowed = torch.ones(shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~allowed, -math.inf)
    largest = scores.amax(-1, keepdim=True)
    largest = torch.where(largest == -math.inf, 0.0, largest)  # a row without any key
    powers = function("exp", scores - largest)
    total = exact_sum(powers, shape[-1]).reshape(shape[:-1]).unsqueeze(-1)
    chances = torch.where(total == 0, 0.0, powers / total)
    return chances, (function("log", total) + largest).squeeze(-1)


def _rounded(chances: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Probabilities as the product with values reads them: float32, or float64 of float64."""
    return chances if dtype == torch.float64 else chances.float()


def _default_scale(query: torch.Tensor, options: dict[str, Any]) -> float:
    scale = options.get("scale")
    return 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)


@tables.exact("attention", "_scaled_dot_product_flash_attention_for_cpu")
def _flash(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    output, logarithms = func(*args, **options)
    query, key, value = args[:3]
    if output.numel() == 0:
        return output, logarithms
    is_causal = args[4] if len(args) > 4 else options.get("is_causal", False)
    heads = query.shape[1]
    chances, sums = _probabilities(query, _repeated(key, heads), options.get("attn_mask"),
                                   is_causal, _default_scale(query, options))  # fmt: skip
    weights = _rounded(chances, query.dtype)
    values = _repeated(value, heads).to(weights.dtype)
    write(output, product(_batches(weights), _batches(values)))
    narrow(sums.reshape(logarithms.shape), logarithms)
    return output, logarithms


@tables.exact("attention", "_scaled_dot_product_flash_attention_for_cpu_backward")
def _flash_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    result = func(*args, **options)
    gradient, query, key, value, output, logarithms, _, is_causal = args[:8]
    if query.numel() == 0 or key.numel() == 0:
        return result
    heads, scale = query.shape[1], _default_scale(query, options)
    keys, values = _repeated(key, heads), _repeated(value, heads)
    chances, sums = _probabilities(query, keys, options.get("attn_mask"), is_causal, scale)
    is_whole = _are_those_of(sums, logarithms)
    if not is_whole:
        ratios = function("exp", sums - wide(logarithms).reshape(sums.shape))
        chances = torch.where(chances == 0, 0.0, chances * ratios.unsqueeze(-1))
    weights = _rounded(chances, query.dtype)
    given = gradient.to(weights.dtype)
    along = product(_batches(given), _batches(values.to(weights.dtype)).transpose(1, 2))
    doubles = _doubles(along, chances.shape)
    if is_whole:
        slopes = softmax_gradient(doubles, chances)
    else:
        products = wide(gradient) * wide(output)
        change = exact_sum(products, products.shape[-1]).reshape(products.shape[:-1])
        slopes = chances * (doubles - change.unsqueeze(-1))
    rounded = _rounded(slopes, query.dtype)
    write(result[0], product(_batches(rounded), _batches(keys.to(rounded.dtype))).scaled(scale))
    of_keys = product(_batches(rounded).transpose(1, 2), _batches(query.to(rounded.dtype)))
    _write_shared(result[1], of_keys.scaled(scale), keys.shape)
    _write_shared(result[2], product(_batches(weights).transpose(1, 2), _batches(given)),
                  values.shape)  # fmt: skip
    return result


def _are_those_of(sums: torch.Tensor, logarithms: torch.Tensor) -> bool:
    """True if the softmax is that of these keys. A ring gives the logarithms over all keys, and
    those of a part here.
    """
    own = narrow(sums.reshape(logarithms.shape), torch.empty_like(logarithms))
    return torch.equal(own, logarithms)


def _write_shared(result: torch.Tensor, found: Values, shape: torch.Size) -> None:
    """Writes the gradient of keys or values, added over the heads that share them."""
    if result.shape == shape:
        write(result, found)
        return
    batch, heads, *inner = result.shape
    write(result, found.summed(batch * heads, shape[1] // heads, math.prod(inner)))
