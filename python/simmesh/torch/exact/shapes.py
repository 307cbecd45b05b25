"""Views, makers of tensors, and other operators that compute no floating element."""

from __future__ import annotations

from typing import Any

import torch

from simmesh.torch.exact import tables
from simmesh.torch.exact.tables import Entry, Operator

_VIEW, _MAKER, _WHOLE = Entry("safe", "views"), Entry("safe", "makers"), Entry("safe", "integers")

tables.safe(
    "views",
    "_unsafe_view lift lift_fresh detach detach_ alias view_as_real view_as_complex view.dtype "
    "set_ set resize_ resize_as_ as_strided_ _resize_output_ record_stream _reshape_alias "
    "shallow_copy_data_ data",
)
tables.safe(
    "makers",
    "empty_like zeros_like ones_like full_like new_empty new_zeros new_ones new_full "
    "new_empty_strided empty_strided _efficientzerotensor linspace logspace eye "
    "_new_zeros_with_same_feature_meta",
)
tables.safe(
    "data",
    "is_pinned is_set_to sparse_dim dense_dim is_coalesced _has_same_storage_numel _pin_memory "
    "_dimI _dimV sym_size sym_stride sym_numel sym_storage_offset size stride _fused_sdp_choice "
    "_version",
)


@tables.rule
def _view(operator: Operator) -> Entry | None:
    """A view shares its operand's storage, and with it what stands behind the elements."""
    schema = operator._schema
    if torch.Tag.inplace_view in operator.tags:
        return _VIEW
    if tables.is_composite(operator):
        return None  # such as ``to``, which may copy
    reads = [each.alias_info for each in schema.returns if each.alias_info is not None]
    return _VIEW if reads and not any(each.is_write for each in reads) else None


@tables.rule
def _maker(operator: Operator) -> Entry | None:
    """A maker has no tensor among its operands."""
    operands = [each for each in operator._schema.arguments if not each.is_out]
    return None if any("Tensor" in str(each.type) for each in operands) else _MAKER


@tables.rule
def _prims(operator: Operator) -> Entry | None:
    is_prims = operator.name().startswith("prims::")
    return tables.named(tables.packet_of(operator).removeprefix("prims::")) if is_prims else None


def kinds_of(operator: Operator) -> tuple[Any, ...]:
    """The names of the arguments that an operator writes."""
    return tuple(
        each.name
        for each in operator._schema.arguments
        if each.alias_info is not None and each.alias_info.is_write
    )
