"""Rules of PyTorch's DTensor: functions under ``register_sharding``, single-dim strategies, and the
rule that is registered for an operator.

Such a rule depends on sizes and on arguments, so it is asked at each of the judged sizes, as
DTensor asks it. DTensor cuts no dim that has fewer rows than there are ranks, which isn't judged.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

from simmesh.rules.argument_sizes import OutputSizes, giving_sizes, letters_of
from simmesh.rules.calls import Call, unwrapped
from simmesh.rules.objects import claims_of_lists
from simmesh.rules.rule import REPLICATE, Row, Rule, resolved
from simmesh.rules.sizes import RuleInput, Shapes

# The sizes of all letters at which a rule is asked for its rows.
_PROBED = (3, 2, 4, 6, 8, 12, 5, 1)
_SINGLE_DIM = ["op", "args_schema", "kwargs_schema"]

# The lists of rows for arguments on a mesh of one dim: each row as claims_of_lists takes it.
Ask = Callable[[list[torch.Tensor], int], Sequence[Any]]


def _propagator() -> Any:
    return DTensor._op_dispatcher.sharding_propagator


def _registry(name: str) -> dict[Any, Any]:
    found: dict[Any, Any] = getattr(_propagator(), name, {})
    return found


def strategy_form(rule: Any) -> str:
    """The form of a function that is a rule: "single_dim" or "register_sharding"."""
    for info in _registry("op_single_dim_strategy_funcs").values():
        if rule in (info, getattr(info, "func", info)):
            return "single_dim"
    for registered in _registry("op_strategy_funcs").values():
        if _under_register_sharding(registered) is rule:
            return "register_sharding"
    names = list(inspect.signature(rule).parameters)
    return "single_dim" if names == _SINGLE_DIM else "register_sharding"


def _under_register_sharding(registered: Any) -> Any:
    """The function that ``register_sharding`` registered; None for another strategy."""
    is_custom = (
        isinstance(registered, functools.partial)
        and getattr(registered.func, "__name__", "") == "custom_strategy"
    )
    return registered.args[0] if is_custom else None


def registered_rule(operator: Any, call: Call, inputs: Sequence[RuleInput]) -> Rule:
    """The rule that the installed PyTorch has for an operator.

    Raises ValueError where it has none, and for sizes among the arguments that DTensor would change
    on each rank: -1 stands for such a size, as do sizes in letters.
    """
    _expect_same_arguments(operator, call)
    single = _registry("op_single_dim_strategy_funcs").get(operator)
    if single is not None:
        return rule_of_strategy(operator, single, call, inputs, "single_dim")
    strategy = _registry("op_strategy_funcs").get(operator)
    if strategy is None:
        raise ValueError(
            f"[rules] expected an operator with a sharding rule in PyTorch {torch.__version__}, "
            f"got {operator}"
        )
    custom = _under_register_sharding(strategy)
    if custom is not None:
        return rule_of_strategy(operator, custom, call, inputs, "register_sharding")
    ask = functools.partial(_ask_strategy, operator, strategy, call)
    return _Asked(ask, call, inputs, _output_count(operator, call)).rule()


def _expect_same_arguments(operator: Any, call: Call) -> None:
    place = _registry("op_to_shape_and_stride_idx").get(operator)
    if place is None:
        return
    place = place[0] if isinstance(place, tuple) else place
    if place < len(call.slots) and call.slots[place].kind == "sizes":
        return
    arguments = call.arguments([None] * sum(call.is_tensor))
    sizes = arguments[place] if place < len(arguments) else ()
    if isinstance(sizes, (list, tuple)) and -1 not in sizes:
        raise ValueError(
            f"[rules] {operator}: expected letters, as in ['a', 'bc'], or -1 among the sizes "
            f"{list(sizes)}, since DTensor gives each rank others, got none"
        )


def rule_of_strategy(
    function: Callable[..., Any],
    rule: Any,
    call: Call,
    inputs: Sequence[RuleInput],
    form: str | None = None,
) -> Rule:
    """The rule of a function under ``register_sharding``, or of a single-dim strategy."""
    operator = unwrapped(function)
    form = form or strategy_form(rule)
    if form == "single_dim":

        def ask(tensors: list[torch.Tensor], ranks: int) -> Sequence[Any]:
            metas = [_meta(tensor) for tensor in tensors]
            arguments = tuple(call.arguments(metas))
            found: Sequence[Any] = rule(operator, arguments, call.keywords())
            return found

    else:

        def ask(tensors: list[torch.Tensor], ranks: int) -> Sequence[Any]:
            specs = [_spec(tensor, Replicate(), ranks) for tensor in tensors]
            found: Sequence[Any] = rule(*call.arguments(specs), **call.keywords())
            return found

    is_single_dim = form == "single_dim"
    return _Asked(ask, call, inputs, _output_count(operator, call), is_single_dim).rule()


def _output_count(operator: Any, call: Call) -> int:
    schema = getattr(operator, "_schema", None)
    return len(schema.returns) if schema is not None else 0


def _meta(tensor: torch.Tensor) -> TensorMeta:
    return TensorMeta(tensor.shape, tensor.stride(), tensor.dtype)


@functools.cache
def _mesh(ranks: int) -> DeviceMesh:
    return DeviceMesh("cpu", torch.arange(ranks), _init_backend=False, _rank=0)


def _spec(tensor: torch.Tensor, placement: Placement, ranks: int) -> DTensorSpec:
    return DTensorSpec(_mesh(ranks), (placement,), tensor_meta=_meta(tensor))


def _ask_strategy(
    operator: Any, strategy: Any, call: Call, tensors: list[torch.Tensor], ranks: int
) -> Sequence[Any]:
    """Asks a strategy of OpSchema for each placement of the inputs, and collects its rows."""
    from torch.distributed.tensor._op_schema import OpSchema, OpSpec, OpStrategy

    choices = [
        [Replicate(), *map(Shard, range(tensor.dim())), *([Partial()] if _sums(tensor) else [])]
        for tensor in tensors
    ]
    rows: list[Any] = []
    failure: Exception | None = None
    for placements in itertools.product(*choices):
        inputs = [
            OpStrategy([OpSpec(_spec(tensor, placement, ranks), input_specs=())])
            for tensor, placement in zip(tensors, placements)
        ]
        schema = OpSchema(operator, tuple(call.arguments(inputs)), call.keywords())
        try:
            found = strategy(schema)
        except Exception as error:  # a strategy may refuse placements
            failure = error
            continue
        for each in getattr(found, "strategies", ()):
            if each.input_specs is None:
                continue
            outputs = each.output_specs
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            of_outputs = [None if spec is None else spec.placements[0] for spec in outputs]
            row = (of_outputs, [spec.placements[0] for spec in each.input_specs])
            if row not in rows:
                rows.append(row)
    if not rows and failure is not None:
        raise failure
    return rows


def _sums(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point()


@dataclass
class _Asked:
    """A rule that is asked at each size; its answers are kept. ``replicates`` is True if it also
    has the row of replicated tensors, which single-dim strategies leave out.
    """

    ask: Ask
    call: Call
    inputs: Sequence[RuleInput]
    output_count: int
    replicates: bool = False
    answers: dict[tuple[Shapes, int], list[Row]] = field(default_factory=dict)
    left_out: dict[str, None] = field(default_factory=dict)
    failure: Exception | None = None

    def rule(self) -> Rule:
        """The rows at any of the probed sizes, each claimed where the rule has it."""
        letters = sorted({d for each in self.inputs for d in each.dims if isinstance(d, str)})
        rows: dict[Row, None] = {}
        for size in _PROBED:
            shapes = tuple(each.shape(dict.fromkeys(letters, size)) for each in self.inputs)
            for ranks in (2, 3):
                rows.update(dict.fromkeys(self.rows_at(shapes, ranks)))
        if not rows:
            reason = "" if self.failure is None else f": {self.failure}"
            raise ValueError(f"[rules] expected a rule that returns rows, got none{reason}")
        return Rule(tuple(rows), claims=self.claims, left_out=tuple(self.left_out))

    def claims(self, rows: Sequence[Row], mesh: Sequence[int], shapes: Shapes) -> bool:
        """True if the rule has all rows at these sizes, and DTensor cuts no dim into more pieces
        than it has rows.
        """
        if any(row not in self.rows_at(shapes, size) for row, size in zip(rows, mesh)):
            return False
        for at, shape in enumerate(shapes):
            pieces = [1] * len(shape)
            for row, size in zip(rows, mesh):
                placement = row.inputs[at]
                if placement.is_shard:
                    if placement.dim >= len(shape):
                        return False
                    pieces[placement.dim] *= size
                    if shape[placement.dim] < pieces[placement.dim] * placement.split_factor:
                        return False
        return True

    def rows_at(self, shapes: Shapes, ranks: int) -> list[Row]:
        """The rows at these sizes, on a mesh dim of that many ranks."""
        key = (shapes, ranks)
        if key not in self.answers:
            self.answers[key] = self._ask(shapes, ranks)
        return self.answers[key]

    def _ask(self, shapes: Shapes, ranks: int) -> list[Row]:
        tensors = [
            torch.empty(shape, dtype=torch.float32 if each.values is None else each.values.dtype)
            for each, shape in zip(self.inputs, shapes)
        ]
        try:
            with giving_sizes(OutputSizes(letters_of(self.inputs, shapes))):
                lists = self.ask(tensors, ranks)
        except Exception as error:  # a rule may refuse sizes
            self.failure = error
            return []
        count = self.output_count or self._count_of(lists)
        claims, left_out = claims_of_lists(lists, count, self.call.is_tensor)
        self.left_out.update(dict.fromkeys(left_out))
        rows = [rows[0] for rows in claims if len(rows) == 1]
        rows = [resolved(row, [len(shape) for shape in shapes]) for row in rows]
        if self.replicates and all(not row.is_replicated for row in rows):
            rows.insert(0, Row((REPLICATE,) * len(shapes), (REPLICATE,) * count))
        return rows

    def _count_of(self, lists: Sequence[Any]) -> int:
        first = lists[0] if lists else ([None],)
        is_pair = len(first) == 2 and all(isinstance(side, (list, tuple)) for side in first)
        return len(first[0]) if is_pair else len(first) - sum(self.call.is_tensor)
