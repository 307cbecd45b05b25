"""The table of operators: which of torch's operators are exact, safe or refused in the mode.

Each family of operators is a module that enters its operators here. An operator that no module
enters has the entry that a rule gives it: a view, a maker of tensors without operands, a form that
writes into its operand or into ``out`` of an operator that is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Callable

import torch

Operator = Any
#: Computes an operator: it gets the operator, its arguments and its options.
Handler = Callable[[Operator, tuple[Any, ...], dict[str, Any]], Any]


@dataclass(frozen=True)
class Entry:
    """The class of an operator: ``exact`` with the handler that computes it, ``safe`` where
    torch's own kernel has bits that don't depend on an element's place, ``composed`` of operators
    that are in the table themselves, or ``refused``. ``reason`` says why.
    """

    kind: str
    family: str
    reason: str = ""
    handler: Handler | None = None


_by_name: dict[str, Entry] = {}
_rules: list[Callable[[Operator], Entry | None]] = []
_out_rules: list[Callable[[Operator], Entry | None]] = []
_found: dict[Operator, Entry] = {}


def exact(family: str, names: str) -> Callable[[Handler], Handler]:
    """Enters a function as the handler of operators. ``names`` are those of torch without
    ``aten::``, with or without an overload: ``mul mul.Tensor fsdp::chunk_cat``.
    """

    def enter(handler: Handler) -> Handler:
        _enter(names, Entry("exact", family, handler=handler))
        return handler

    return enter


def safe(family: str, names: str) -> None:
    """Enters operators that torch computes."""
    _enter(names, Entry("safe", family))


def refuse(family: str, reason: str, names: str) -> None:
    """Enters operators that raise an error, which says the reason."""
    _enter(names, Entry("refused", family, reason))


def rule(judge: Callable[[Operator], Entry | None]) -> Callable[[Operator], Entry | None]:
    """Enters a function that gives operators without a name in the table an entry, or None."""
    _rules.append(judge)
    return judge


def out_rule(judge: Callable[[Operator], Entry | None]) -> Callable[[Operator], Entry | None]:
    """Enters a rule for operators that write into ``out``; it is asked before the table is."""
    _out_rules.append(judge)
    return judge


def writes_out(operator: Operator) -> bool:
    """True for the form of an operator that writes into ``out``."""
    return any(each.is_out for each in operator._schema.arguments)


def entry_of(operator: Operator) -> Entry | None:
    """The entry of an operator; None where it is in no table."""
    found = _found.get(operator)
    if found is None:
        found = _look_up(operator)
        if found is not None:
            _found[operator] = found
    return found


def declare(operator: Operator, entry: Entry) -> None:
    """Enters one overload, which a program made, in place of what the table says of it."""
    _found[operator] = entry


def name_of(operator: Operator) -> str:
    """The name in the table: ``mul.Tensor``, ``fsdp::chunk_cat``."""
    name: str = operator.name().removeprefix("aten::")
    return name


def packet_of(operator: Operator) -> str:
    """The name without the overload."""
    return name_of(operator).partition(".")[0]


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


def entries() -> dict[str, Entry]:
    """The entries that the modules of the families made, by name."""
    return dict(_by_name)


def is_composite(operator: Operator) -> bool:
    """True for an operator that torch always composes of others. Some overloads have a schema and
    no name of their own: those aren't.
    """
    try:
        has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
        return bool(has_kernel(operator.name(), "CompositeImplicitAutograd"))
    except RuntimeError:
        return False


def named(name: str) -> Entry | None:
    """The entry that a module made for a name."""
    return _by_name.get(name)


def _enter(names: str, entry: Entry) -> None:
    for name in names.split():
        assert name not in _by_name, name
        _by_name[name] = entry


def _look_up(operator: Operator) -> Entry | None:
    found = _by_name.get(name_of(operator))
    if found is None and writes_out(operator):
        # The handler of the functional form would leave ``out`` as it is.
        found = next((entry for judge in _out_rules if (entry := judge(operator))), None)
    if found is None:
        found = _by_name.get(packet_of(operator))
    if found is not None:
        return found
    return next((entry for judge in _rules if (entry := judge(operator)) is not None), None)


def tensors_in(values: Any) -> Iterable[torch.Tensor]:
    """The tensors among arguments, those of lists too."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from tensors_in(value)


def named_arguments(
    operator: Operator, args: tuple[Any, ...], options: dict[str, Any]
) -> dict[str, Any]:
    """All arguments of a call by name, in the order of the schema, with the schema's defaults."""
    schema = operator._schema.arguments
    given = {**dict(zip([each.name for each in schema], args)), **options}
    return {each.name: given.get(each.name, each.default_value) for each in schema}
