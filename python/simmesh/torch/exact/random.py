"""Random operators: torch draws from the rank's own generator."""

from __future__ import annotations

from typing import Any

from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import values, write
from simmesh.torch.exact.tables import Operator

tables.safe(
    "random",
    "bernoulli bernoulli_ uniform uniform_ normal normal_ normal_functional randperm rand_like "
    "randn_like randint_like random random_ exponential exponential_ geometric geometric_ cauchy "
    "cauchy_ log_normal log_normal_ multinomial poisson binomial _standard_gamma _sample_dirichlet "
    "rrelu_with_noise rrelu_with_noise_",
)


@tables.exact("random", "native_dropout")
def _dropout(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    tensor, chance, trains = args
    result, mask = func(*args, **options)
    if trains is not False and tensor.numel():
        write(result, values(tensor).times(values(mask.to(tensor.dtype))).scaled(_scale(chance)))
    return result, mask


@tables.exact("random", "native_dropout_backward")
def _dropout_backward(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    gradient, mask, scale = args
    result = func(*args, **options)
    if gradient.numel():
        write(result, values(gradient).times(values(mask.to(gradient.dtype))).scaled(float(scale)))
    return result


def _scale(chance: float) -> float:
    return 0.0 if chance == 1 else 1.0 / (1.0 - chance)
