"""Reads a rule, in whatever form a user has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simmesh.rules.calls import Call, applied, call_of, name_of, unwrapped
from simmesh.rules.factors import is_factor_rule, parse_factor_rule
from simmesh.rules.hooks import hooked_class, is_spmd_types, rule_of_types
from simmesh.rules.objects import RuleRow, claims_of_lists, rows_of_objects
from simmesh.rules.rule import Row, Rule, parse_placements, resolved, rule_of_rows, texts_of
from simmesh.rules.sizes import RuleInput
from simmesh.rules.wrappers import LocalMap, local_map_of, rule_of_local_map


@dataclass(frozen=True)
class Judged:
    """A function of tensors, its inputs, and the rule that is judged."""

    call: Call
    inputs: list[RuleInput]
    rule: Rule
    name: str


def read(function: Any, rule: Any, inputs: Sequence[Any] | None) -> Judged:
    """Reads a rule and the inputs of its function.

    Raises ValueError for what can't be read.
    """
    wrapped = local_map_of(function)
    if wrapped is not None:
        function, rule = wrapped.function, wrapped if rule is None else rule
    function = applied(function)
    hooked = hooked_class(function)
    if not callable(function):
        raise ValueError(f"[rules] expected a function, got {function!r}")
    texts = _texts(rule)
    if texts and any(map(is_factor_rule, texts)):
        return _of_factors(function, texts, inputs)
    placements = parse_placements(texts) if texts else None
    if inputs is None:
        raise ValueError(
            "[rules] expected inputs, as in inputs=['mk', 'kn'], got none: only a rule of "
            "letters says them itself"
        )
    call, given = call_of(function, inputs)
    if placements is not None:
        found = placements
    elif rule is None and hooked is None:
        if not hasattr(unwrapped(function), "_schema"):
            raise ValueError(
                "[rules] expected a rule, got none: only an operator of PyTorch, a local_map and "
                "an autograd function with a hook of spmd_types have their own"
            )
        found = _strategies().registered_rule(unwrapped(function), call, given)
    elif rule is None or is_spmd_types(rule) or _is_hook(rule):
        found = rule_of_types(call, given)
    else:
        found = _of_objects(function, rule, call, given)
    _check_inputs(found, given)
    return Judged(call, given, _in_front(found, given), name_of(function))


def _strategies() -> Any:
    from simmesh.rules import strategies

    return strategies


def _is_hook(rule: Any) -> bool:
    return callable(rule) and getattr(rule, "__name__", "") in (
        "spmd_typecheck", "typecheck_forward",
    )  # fmt: skip


def _texts(rule: Any) -> list[str]:
    """The lines of a rule that is a text, or several; none for an object."""
    if isinstance(rule, str):
        return texts_of(rule)
    if isinstance(rule, Iterable) and not isinstance(rule, dict):
        entries = list(rule)
        if all(isinstance(each, str) for each in entries):
            texts = texts_of(entries)
            return texts if all("->" in text for text in texts) or len(texts) == 1 else []
    return []


def _of_factors(
    function: Callable[..., Any], texts: Sequence[str], inputs: Sequence[Any] | None
) -> Judged:
    if len(texts) > 1:
        raise ValueError(
            f"[rules] expected one rule of letters, got {len(texts)}: '{texts[0].strip()}' and "
            "others"
        )
    rule = parse_factor_rule(texts[0])
    assert rule.letters is not None
    if inputs is None:
        call, given = call_of(function, [RuleInput(dims) for dims in rule.letters])
        given = [RuleInput(dims) for dims in rule.letters]
    else:
        call, given = call_of(function, inputs)
    _check_inputs(rule, given)
    return Judged(call, given, rule, name_of(function))


def _of_objects(function: Any, rule: Any, call: Call, inputs: Sequence[RuleInput]) -> Rule:
    wrapped = rule if isinstance(rule, LocalMap) else local_map_of(rule)
    if wrapped is not None:
        return rule_of_local_map(wrapped, call.is_tensor)
    if isinstance(rule, RuleRow):
        return rule_of_rows([rows_of_objects(rule.inputs, rule.outputs)])
    if callable(rule):
        found: Rule = _strategies().rule_of_strategy(function, rule, call, inputs)
        return found
    if isinstance(rule, (list, tuple)) and rule:
        return _of_list(function, rule, call)
    raise ValueError(
        "[rules] expected a rule: text, rows of placements, a function under register_sharding, a "
        f"single-dim strategy or a local_map, got {rule!r}"
    )


def _of_list(function: Any, rule: Sequence[Any], call: Call) -> Rule:
    """The rule of rows as objects; a text among them is a row too."""
    is_pair = (
        isinstance(rule, tuple)
        and len(rule) == 2
        and all(isinstance(side, (list, tuple)) for side in rule)
        and not any(isinstance(each, (list, tuple)) for side in rule for each in side)
    )
    rows = [rule] if is_pair else list(rule)
    if not any(isinstance(row, (list, tuple, RuleRow)) or "->" in str(row) for row in rows):
        # One flat row.
        rows = [rows]
    count = _output_count(function, rows, sum(call.is_tensor))
    claims: list[tuple[Row, ...]] = []
    left_out: list[str] = []
    for row in rows:
        if isinstance(row, str):
            read = parse_placements([row])
            claims += [(each,) for each in read.rows] + list(read.joint)
            continue
        found, skipped = claims_of_lists([row], count, call.is_tensor)
        claims += found
        left_out += skipped
    if not claims:
        raise ValueError(f"[rules] expected a row that can be judged, got {'; '.join(left_out)}")
    return replace(rule_of_rows(claims), left_out=tuple(left_out))


def _output_count(function: Any, rows: Sequence[Any], tensors: int) -> int:
    schema = getattr(unwrapped(function), "_schema", None)
    if schema is not None:
        return len(schema.returns)
    first = next((row for row in rows if not isinstance(row, str)), None)
    if isinstance(first, RuleRow):
        return len(first.outputs)
    if first is not None and len(first) == 2 and all(isinstance(e, (list, tuple)) for e in first):
        return len(first[0])
    count = len([each for each in first or () if each is not None]) - tensors
    if count < 1:
        raise ValueError(
            f"[rules] row {first!r}: expected outputs and then {tensors} inputs, got "
            f"{count + tensors} placements"
        )
    return count


def _check_inputs(rule: Rule, inputs: Sequence[RuleInput]) -> None:
    expected = len(rule.all_rows[0].inputs)
    if len(inputs) != expected:
        raise ValueError(f"[rules] expected {expected} inputs, as the rule has, got {len(inputs)}")


def _in_front(rule: Rule, inputs: Sequence[RuleInput]) -> Rule:
    """The rule with dims of inputs counted from the front."""
    dims = [len(each.dims) for each in inputs]
    return replace(
        rule,
        rows=tuple(resolved(row, dims) for row in rule.rows),
        joint=tuple(tuple(resolved(row, dims) for row in rows) for rows in rule.joint),
    )
