"""Random operators. A plain tensor's numbers are the next ones of the rank's own generator. A
DTensor has one device's: each rank draws the whole tensor and keeps the elements that are its own.
So has a plain tensor whose layout is declared by ``random_layout``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.tensor import Shard, _random

from simmesh import _core
from simmesh.torch.exact import tables
from simmesh.torch.exact.companions import drop, scope, values, write
from simmesh.torch.exact.shapes import kinds_of
from simmesh.torch.exact.shared_changes import WhileAnyThread
from simmesh.torch.exact.tables import Operator

tables.safe(
    "random",
    "bernoulli bernoulli_ uniform uniform_ normal normal_ normal_functional randperm rand randn "
    "randint rand_like randn_like randint_like random random_ exponential exponential_ geometric "
    "geometric_ cauchy cauchy_ log_normal log_normal_ multinomial poisson binomial "
    "_standard_gamma _sample_dirichlet rrelu_with_noise rrelu_with_noise_",
)


@tables.exact("random", "native_dropout")
def _dropout(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    tensor, chance, trains = args
    result, mask = drawn(func, args, options)
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


def drawn(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Calls a random operator: on the whole tensor where a DTensor's numbers are drawn."""
    region: Region | DeclaredLayout | None = scope.region
    if isinstance(region, DeclaredLayout):
        region = region.region_of(func, args, options)
    if region is not None:
        return region.draw(func, args, options)
    result = func(*args, **options)
    if options.get("generator") is None:
        scope.drawn = f"{tables.name_of(func)}, {_core.call_site()}"
    for each in _written(func, args, options):
        drop(each)
    return result


def _written(func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> list[torch.Tensor]:
    named = tables.named_arguments(func, args, options)
    return list(tables.tensors_in([named[name] for name in kinds_of(func)]))


@dataclass(frozen=True)
class Region:
    """The DTensor whose numbers a rank draws: its spec, and the generator that was asked for."""

    spec: Any
    generator: torch.Generator | None

    def draw(self, func: Operator, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """Draws all elements of the DTensor and returns, or writes, those of this rank."""
        places = self._places()
        if self.generator is not None and "generator" in _arguments(func):
            options = {**options, "generator": self.generator}
        if not any(True for _ in tables.tensors_in(args)):
            at = _arguments(func).index("size")
            args = (*args[:at], list(self.spec.shape), *args[at + 1 :])
        whole_args = tuple(self._widened(each, places) for each in args)
        found = func(*whole_args, **options)
        written = _written(func, args, options)
        if written:
            written[0].copy_(_taken(found, places))
            drop(written[0])
            return written[0]
        if isinstance(found, torch.Tensor):
            return _taken(found, places)
        return tuple(_taken(each, places) for each in found)

    def _places(self) -> torch.Tensor:
        """The places of this rank's elements in the whole tensor, in its shape."""
        mesh, shape = self.spec.mesh, self.spec.shape
        places = torch.arange(shape.numel()).view(shape)
        for dim, placement in enumerate(self.spec.placements):
            if placement.is_replicate():
                continue
            pieces, _ = placement._split_tensor(
                places, mesh.size(dim), with_padding=False, contiguous=False
            )
            places = pieces[mesh.get_local_rank(dim)]
        return places

    def _widened(self, value: Any, places: torch.Tensor) -> Any:
        if not isinstance(value, torch.Tensor) or value.shape != places.shape:
            return value
        whole = value.new_zeros(self.spec.shape)
        whole.view(-1)[places.reshape(-1)] = value.reshape(-1)
        return whole


@dataclass(frozen=True)
class _Spec:
    """The layout of a plain tensor, as a DTensor's spec names it."""

    mesh: Any
    placements: tuple[Any, ...]
    shape: torch.Size


@dataclass(frozen=True)
class DeclaredLayout:
    """The layout that plain tensors have where a program draws their numbers. ``shape`` is the
    whole tensor's, where it isn't cut evenly.
    """

    mesh: Any
    placements: tuple[Any, ...]
    shape: tuple[int, ...] | None

    def region_of(
        self, func: Operator, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Region | None:
        """The numbers that a call draws; None for those of no tensor with dims, as of randperm."""
        given = tables.named_arguments(func, args, options)
        own = next(iter(tables.tensors_in(given.values())), None)
        sizes = own.shape if own is not None else given.get("size")
        if sizes is None or len(sizes) == 0:
            return None
        return Region(self._spec(torch.Size(sizes)), None)

    def _spec(self, own: torch.Size) -> _Spec:
        """The layout of a tensor of which this rank has a part. Raises ValueError where the part
        has other sizes than the layout gives it.
        """
        dims = len(own)
        placements = tuple(_counted_from_0(each, own) for each in self.placements)
        whole = list(own)
        if self.shape is not None and len(self.shape) == dims:
            whole = list(self.shape)
        else:
            for size, each in zip(self.mesh.shape, placements):
                if not each.is_replicate():
                    whole[each.dim] *= size
        spec = _Spec(self.mesh, placements, torch.Size(whole))
        expected = Region(spec, None)._places().shape
        if expected != own:
            raise ValueError(
                f"[torch/exact] random_layout: expected a part of {list(expected)} of the whole "
                f"tensor {whole} on rank {_core.rank()}, got {list(own)}; shape=... names the "
                "whole tensor where it isn't cut evenly"
            )
        return spec


def _counted_from_0(placement: Any, sizes: torch.Size) -> Any:
    if placement.is_replicate():
        return placement
    if not -len(sizes) <= placement.dim < len(sizes):
        raise ValueError(
            f"[torch/exact] random_layout: expected a dim of {list(sizes)}, got {placement}"
        )
    return placement if placement.dim >= 0 else Shard(placement.dim + len(sizes))


@contextmanager
def random_layout(
    mesh: Any, placements: Sequence[Any], shape: Sequence[int] | None = None
) -> Iterator[None]:
    """See ``simmesh.torch.exact.random_layout``."""
    if len(placements) != mesh.ndim:
        raise ValueError(
            f"[torch/exact] random_layout: expected a placement for each of {mesh.ndim} mesh dims, "
            f"got {len(placements)}"
        )
    for each in placements:
        if not (each.is_replicate() or hasattr(each, "_split_tensor")):
            raise ValueError(
                f"[torch/exact] random_layout: expected Replicate or Shard, got {each}"
            )
    whole = None if shape is None else tuple(shape)
    declared = DeclaredLayout(mesh, tuple(placements), whole)
    before, scope.region = scope.region, declared if scope.mode is not None else None
    try:
        yield
    finally:
        scope.region = before


def _arguments(func: Operator) -> list[str]:
    return [each.name for each in func._schema.arguments]


def _taken(whole: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return whole.reshape(-1)[places.reshape(-1)].view(places.shape)


class _Tracker:
    """Stands where DTensor keeps the states of generators, which it has for accelerators alone."""

    distribute_region_enabled = True

    @contextmanager
    def _distribute_region(
        self, spec: Any, generator: torch.Generator | None = None
    ) -> Iterator[None]:
        is_whole = scope.mode is not None and not any(each.is_partial() for each in spec.placements)
        before, scope.region = scope.region, Region(spec, generator) if is_whole else None
        try:
            yield
        finally:
            scope.region = before


_tracker = _Tracker()


def _put_in(is_first: bool) -> None:
    if _random._rng_tracker is None:
        _random._rng_tracker = _tracker  # type: ignore[assignment]


def _take_out() -> None:
    if _random._rng_tracker is _tracker:
        _random._rng_tracker = None


#: Lets DTensor tell whose numbers it draws while any thread is in the mode.
noticed_regions = WhileAnyThread(_put_in, _take_out)
