"""Types of plain tensors: what the ranks of a mesh hold, stated for each axis and checked.

    from simmesh import typed
    from simmesh.typed import I, P, R, S, V

    with typed.set_current_mesh(mesh), typed.typecheck():
        typed.assert_type(x, {"tp": R})
        typed.assert_type(w, {"tp": S(0)})
        terms = typed.reinterpret(x @ w, "tp", src=V, dst=P)
        y = typed.all_reduce(terms, "tp", dst=I)

The names are those of the package spmd_types. ``check`` also compares the types with what the ranks
really hold.
"""

from __future__ import annotations

from simmesh.typed.annotations import (
    assert_type,
    assert_type_like,
    mutate_type,
    reinterpret_mesh,
    reinterpret_no_grad,
)
from simmesh.typed.autograd_functions import (
    register_autograd_function,
    register_decomposition,
    register_local_autograd_function,
)
from simmesh.typed.axes import MeshAxis, current_mesh, set_current_mesh
from simmesh.typed.boundaries import Infer, local, local_map, no_typecheck
from simmesh.typed.check import check, checked
from simmesh.typed.conversions import (
    all_gather,
    all_reduce,
    all_to_all,
    convert,
    invariant_to_replicate,
    redistribute,
    reduce_scatter,
    reinterpret,
    shard,
    unshard,
)
from simmesh.typed.kinds import I, P, PartitionSpec, R, S, SpmdType, V
from simmesh.typed.refusal import DTensorPropagationError, SpmdTypeError, SpmdValueError
from simmesh.typed.scalar import Scalar
from simmesh.typed.state import is_type_checking, typecheck
from simmesh.typed.stored import has_type, partition_spec_of, type_of
from simmesh.typed.verdict import Lie, TypedCheck, TypeLie

__all__ = [
    "DTensorPropagationError",
    "I",
    "Infer",
    "Lie",
    "MeshAxis",
    "P",
    "PartitionSpec",
    "R",
    "S",
    "Scalar",
    "SpmdType",
    "SpmdTypeError",
    "SpmdValueError",
    "TypeLie",
    "TypedCheck",
    "V",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "assert_type",
    "assert_type_like",
    "check",
    "checked",
    "convert",
    "current_mesh",
    "has_type",
    "invariant_to_replicate",
    "is_type_checking",
    "local",
    "local_map",
    "mutate_type",
    "no_typecheck",
    "partition_spec_of",
    "redistribute",
    "reduce_scatter",
    "register_autograd_function",
    "register_decomposition",
    "register_local_autograd_function",
    "reinterpret",
    "reinterpret_mesh",
    "reinterpret_no_grad",
    "set_current_mesh",
    "shard",
    "type_of",
    "typecheck",
    "unshard",
]
