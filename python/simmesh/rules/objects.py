"""Rules as objects: placements of PyTorch, types of spmd_types, and lists of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simmesh.rules.rule import (
    NONE,
    PARTIAL,
    REDUCTIONS,
    REPLICATE,
    VARYING,
    Row,
    RulePlacement,
    dual,
    placement_of_text,
    shard,
)


class NotJudged(ValueError):
    """A placement that values alone can't judge."""


@dataclass(frozen=True)
class RuleRow:
    """One row of a rule: placements of the inputs and of the outputs, as PyTorch's objects, as
    types of spmd_types, or as text.

    For a mesh of several dims each entry is a list with a placement for each of them.
    """

    inputs: Sequence[Any]
    outputs: Sequence[Any]

    def __post_init__(self) -> None:
        for name in ("inputs", "outputs"):
            side = getattr(self, name)
            if isinstance(side, str) or not isinstance(side, Sequence):
                raise ValueError(f"[rules] RuleRow {name}: expected a list, got {side!r}")


def placement_of_object(entry: Any) -> RulePlacement:
    """The placement that an object is: PyTorch's, spmd_types' or ours, or a text.

    Raises NotJudged for a placement such as _MaskPartial, and ValueError for anything else.
    """
    if entry is None:
        return NONE
    if isinstance(entry, RulePlacement):
        return entry
    if isinstance(entry, str):
        return placement_of_text(entry, entry)
    name = type(entry).__name__
    if name == "Replicate":
        return REPLICATE
    if name in ("_StridedShard", "StridedShard"):
        return RulePlacement("strided_shard", int(entry.dim), int(entry.split_factor))
    if name in ("Shard", "_ShardingPlaceholder"):
        return shard(int(entry.dim))
    if name == "Partial":
        reduction = str(getattr(entry, "reduce_op", None) or getattr(entry, "reduction", "sum"))
        if reduction not in REDUCTIONS:
            raise NotJudged(f"Partial({reduction}), which isn't one of {', '.join(REDUCTIONS)}")
        return RulePlacement("partial", reduction=reduction)
    kind = {"R": REPLICATE, "I": REPLICATE, "V": VARYING, "P": PARTIAL}.get(type_name(entry))
    if kind is not None:
        return kind
    if name.lower().endswith("partial"):
        raise NotJudged(f"{name}, a partial with a reduction of its own")
    raise ValueError(
        "[rules] expected a placement of PyTorch, a type of spmd_types or a text such as 'S(0)', "
        f"got {entry!r}"
    )


def type_name(entry: Any) -> str:
    """The name of a type of spmd_types, such as "I"; empty for anything else."""
    if isinstance(entry, str):
        return entry.strip() if entry.strip() in ("R", "I", "V", "P") else ""
    named = getattr(entry, "name", None)
    is_type = type(entry).__module__.split(".")[0] == "spmd_types"
    return str(named) if is_type and isinstance(named, str) else ""


def _is_type(entry: Any) -> bool:
    return not isinstance(entry, str) and type(entry).__module__.split(".")[0] == "spmd_types"


def row_of_objects(inputs: Sequence[Any], outputs: Sequence[Any]) -> Row:
    """The row of placements on one mesh dim. It is typed if it has a type of spmd_types other than
    those that are placements too.
    """
    ins, outs = (tuple(placement_of_object(each) for each in side) for side in (inputs, outputs))
    entries = [*inputs, *outputs]
    if not any(_is_type(each) or type_name(each) in ("I", "V") for each in entries):
        return Row(ins, outs)
    grads = [
        tuple(dual(placement, type_name(each) == "I") for each, placement in zip(side, placements))
        for side, placements in ((inputs, ins), (outputs, outs))
    ]
    return Row(ins, outs, grads[0], grads[1], is_typed=True)


def rows_of_objects(inputs: Sequence[Any], outputs: Sequence[Any]) -> tuple[Row, ...]:
    """The rows of a claim, one for each mesh dim: entries are placements, or lists with one for
    each mesh dim. A single output's list of placements may stand alone.
    """
    ins, outs = list(inputs), list(outputs)
    lists = [each for each in (*ins, *outs) if isinstance(each, (list, tuple))]
    if not lists:
        return (row_of_objects(ins, outs),)
    dims = {len(each) for each in lists}
    if len(dims) != 1:
        raise ValueError(
            "[rules] expected a placement for each mesh dim in every list, got lists of "
            f"{', '.join(map(str, sorted(dims)))}"
        )
    count = dims.pop()

    def on(at: int, side: list[Any]) -> list[Any]:
        return [each[at] if isinstance(each, (list, tuple)) else each for each in side]

    return tuple(row_of_objects(on(at, ins), on(at, outs)) for at in range(count))


def _is_placement(entry: Any) -> bool:
    if isinstance(entry, (list, tuple, Mapping)):
        return False
    try:
        placement_of_object(entry)
    except NotJudged:
        return True
    except ValueError:
        return False
    return True


def claims_of_lists(
    rule: Sequence[Any], output_count: int, is_tensor: Sequence[bool]
) -> tuple[list[tuple[Row, ...]], list[str]]:
    """The claims of a list in PyTorch's order, and the rows that can't be judged with the reason.

    A row is a pair (outputs, inputs), as functions under ``register_sharding`` return, or a flat
    list of the outputs and then the inputs, as single-dim strategies do, or a RuleRow.
    ``is_tensor`` says which arguments are tensors; rows may have None for the others.
    """
    claims: list[tuple[Row, ...]] = []
    left_out: list[str] = []
    for entry in rule:
        outputs, inputs = _sides(entry, output_count)
        inputs = _of_tensors(inputs, is_tensor)
        if len(outputs) != output_count:
            raise ValueError(
                f"[rules] row {entry!r}: expected {output_count} outputs, which come first, and "
                f"{sum(is_tensor)} inputs, got {len(outputs)} outputs"
            )
        try:
            rows = rows_of_objects(inputs, outputs)
        except NotJudged as error:
            left_out.append(f"a row with {error}")
            continue
        claims.append(rows)
    return claims, left_out


def _sides(entry: Any, output_count: int) -> tuple[list[Any], list[Any]]:
    if isinstance(entry, RuleRow):
        return list(entry.outputs), list(entry.inputs)
    if isinstance(entry, (list, tuple)):
        if len(entry) == 2 and all(isinstance(side, (list, tuple)) for side in entry):
            return list(entry[0]), list(entry[1])
        if all(_is_placement(each) for each in entry):
            return list(entry[:output_count]), list(entry[output_count:])
    raise ValueError(
        "[rules] expected a row as text, a RuleRow, a pair (outputs, inputs) of lists of "
        f"placements, or one list of outputs and then inputs, got {entry!r}"
    )


def _of_tensors(inputs: list[Any], is_tensor: Sequence[bool]) -> list[Any]:
    """The entries of the tensors, in a list that may have None for other arguments."""
    count = sum(is_tensor)
    if len(inputs) == count:
        return inputs
    if len(inputs) == len(is_tensor):
        kept = [each for each, tensor in zip(inputs, is_tensor) if tensor]
        dropped = [each for each, tensor in zip(inputs, is_tensor) if not tensor]
        if all(each is None for each in dropped):
            return kept
    present = [each for each in inputs if each is not None]
    if len(present) == count:
        return present
    raise ValueError(
        f"[rules] expected placements of {count} inputs, as there are tensors, got "
        f"{len(inputs)}: {inputs!r}"
    )
