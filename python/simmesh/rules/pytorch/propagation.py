"""PyTorch's own answer for placements of an operator's inputs: what it accepts, moves and claims.

No process group is needed: the mesh has no backend, and answers as rank 0, or as any other rank.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor import _sharding_prop as sharding_prop
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.distributed.tensor._op_schema import OpSchema, RuntimeSchemaInfo
from torch.distributed.tensor.placement_types import Placement
from torch.utils import _pytree as pytree

Placements = tuple[tuple[Placement, ...], ...]


@dataclass(frozen=True)
class Call:
    """A call of an operator with plain tensors."""

    op: torch._ops.OpOverload
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def tensors(self) -> list[Tensor]:
        """The tensors among the arguments, in their order."""
        leaves = pytree.tree_leaves((self.args, self.kwargs))
        return [leaf for leaf in leaves if isinstance(leaf, Tensor)]

    def with_tensors(self, tensors: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with other things in the places of the tensors."""
        given = iter(tensors)
        args, kwargs = pytree.tree_map(
            lambda leaf: next(given) if isinstance(leaf, Tensor) else leaf,
            (self.args, self.kwargs),
        )
        return args, kwargs


@dataclass(frozen=True)
class Answer:
    """PyTorch's answer: the row that it computes by, and the call on the pieces of a rank.

    ``inputs`` are the placements after redistribution. ``outputs`` has the spec of each output,
    None for one that isn't a distributed tensor. ``schemas`` has the rewritten call for each rank
    where arguments or the operator change.
    """

    inputs: Placements
    outputs: Any
    schema: OpSchema | None
    uses_arguments: bool

    @property
    def key(self) -> tuple[str, str]:
        """The row as text."""
        return (
            ", ".join(placements_text(each) for each in self.inputs),
            ", ".join(
                "-" if spec is None else placements_text(spec.placements)
                for spec in _flat_specs(self.outputs)
            ),
        )


def placements_text(placements: Sequence[Placement]) -> str:
    """Placements as PyTorch prints them, one a mesh dim."""
    return " ".join(map(str, placements))


def _flat_specs(outputs: Any) -> list[Any]:
    if outputs is None or isinstance(outputs, DTensorSpec):
        return [outputs]
    return list(outputs)


def mesh_of(sizes: Sequence[int], coordinate: Sequence[int]) -> DeviceMesh:
    """A mesh without a backend that answers as the rank at a coordinate."""
    ranks = torch.arange(math.prod(sizes)).reshape(tuple(sizes))
    rank = int(ranks[tuple(coordinate)])
    return DeviceMesh("cpu", ranks, _init_backend=False, _rank=rank)


class Propagation:
    """Asks PyTorch's sharding propagation about one call on meshes of one shape."""

    def __init__(self, call: Call, mesh: Sequence[int]) -> None:
        self._call, self._sizes = call, tuple(mesh)
        self._propagator = DTensor._op_dispatcher.sharding_propagator
        self._meshes: dict[tuple[int, ...], DeviceMesh] = {}

    def _mesh(self, coordinate: tuple[int, ...]) -> DeviceMesh:
        if coordinate not in self._meshes:
            self._meshes[coordinate] = mesh_of(self._sizes, coordinate)
        return self._meshes[coordinate]

    def _schema(self, placements: Placements, coordinate: tuple[int, ...]) -> OpSchema:
        mesh = self._mesh(coordinate)
        specs = [
            DTensorSpec(mesh, each, TensorMeta(tensor.shape, tensor.stride(), tensor.dtype))
            for each, tensor in zip(placements, self._call.tensors)
        ]
        args, kwargs = self._call.with_tensors(specs)
        info = self._schema_info()
        return OpSchema(self._call.op, args, kwargs, schema_info=info)

    def _schema_info(self) -> RuntimeSchemaInfo | None:
        info = self._propagator.op_to_schema_info.get(self._call.op)
        if info is None:
            info = self._propagator.op_to_schema_info_for_single_dim_strategy.get(self._call.op)
        found: RuntimeSchemaInfo | None = info
        return found

    def ask(self, placements: Placements, coordinate: tuple[int, ...] | None = None) -> Answer:
        """PyTorch's answer on the rank at a coordinate. Raises what PyTorch raises."""
        place = coordinate or (0,) * len(self._sizes)
        schema = self._schema(placements, place)
        sharding = self._propagator.propagate_op_sharding_non_cached(schema)
        effective = list(placements)
        changed = sharding.redistribute_schema if sharding.needs_redistribute else None
        if changed is not None:
            moved = [
                leaf for leaf in pytree.tree_leaves(changed.args_schema)
                if isinstance(leaf, DTensorSpec)
            ]  # fmt: skip
            # PyTorch doesn't redistribute tensors that are keyword arguments.
            args = [leaf for leaf in pytree.tree_leaves(schema.args_schema) if _is_spec(leaf)]
            for at in range(len(args)):
                effective[at] = moved[at].placements
        return Answer(
            tuple(tuple(each) for each in effective),
            sharding.output_spec,
            changed,
            bool(changed is not None and sharding.use_val_from_redistribute_schema),
        )

    def offered(self, placements: Placements) -> list[Placements]:
        """The placements of the inputs in all rows that PyTorch chooses from."""
        found: list[Placements] = []
        choose = sharding_prop._select_min_cost_strategy

        def choosing(strategy: Any, *rest: Any) -> Any:
            for row in strategy.strategies:
                specs = row.input_specs or [row.output_specs] * len(placements)
                if all(isinstance(spec, DTensorSpec) for spec in specs):
                    found.append(tuple(tuple(spec.placements) for spec in specs))
            return choose(strategy, *rest)

        with (
            mock.patch.object(sharding_prop, "_select_min_cost_strategy", choosing),
            contextlib.suppress(Exception),
        ):
            self.ask(placements)
        return [each for each in found if len(each) == len(placements)]

    def local_call(
        self, answer: Answer, placements: Placements, coordinate: tuple[int, ...],
        tensors: Sequence[Tensor],
    ) -> tuple[torch._ops.OpOverload, tuple[Any, ...], dict[str, Any]]:  # fmt: skip
        """The operator and arguments that the rank at a coordinate calls with its pieces."""
        args, kwargs = self._call.with_tensors(tensors)
        if answer.schema is None:
            return self._call.op, args, kwargs
        if not answer.uses_arguments:
            return answer.schema.op, args, kwargs
        # Arguments for local shapes differ between ranks.
        schema = self.ask(placements, coordinate).schema
        assert schema is not None
        given = iter(tensors)
        args = pytree.tree_map(
            lambda leaf: next(given) if _is_spec(leaf) else leaf, schema.args_schema
        )
        return schema.op, tuple(args), kwargs


def _is_spec(leaf: Any) -> bool:
    return isinstance(leaf, DTensorSpec)


def rules_of_pytorch() -> dict[torch._ops.OpOverload, str]:
    """All operators with a rule of their own, and where PyTorch keeps it."""
    propagator = DTensor._op_dispatcher.sharding_propagator
    tables = {
        "rule": propagator.op_to_rules,
        "strategy": propagator.op_strategy_funcs,
        "single-dim strategy": propagator.op_single_dim_strategy_funcs,
    }
    return {op: kind for kind, table in tables.items() for op in table}


def is_decomposed(op: torch._ops.OpOverload) -> bool:
    """True if PyTorch may derive the operator's rule from its decomposition."""
    from torch.distributed.tensor._decompositions import DecompShardingStrategy

    return bool(DecompShardingStrategy.has_decomp(op))


def communicates(op: torch._ops.OpOverload) -> bool:
    """True if PyTorch runs the operator by a handler that may communicate."""
    return op in DTensor._op_dispatcher._custom_op_handlers


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without warnings, which propagation repeats for each call."""
    import logging
    import warnings

    logger = logging.getLogger("torch")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
