"""Looks notice each change of a namespace, counted by Python or not."""

from __future__ import annotations

import types

import pytest

from simmesh.torch.isolation import namespace_version
from simmesh.torch.isolation.namespace_version import Look


class _NeverEqual:
    def __eq__(self, other: object) -> bool:
        raise AssertionError("expected that values aren't asked")

    __hash__ = None  # type: ignore[assignment]


@pytest.fixture(params=[True, False], ids=["counted", "compared"], autouse=True)
def _counts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.param:
        monkeypatch.setattr(namespace_version, "_counts_changes", lambda: False)


def test_values_names_and_their_absence_are_changes() -> None:
    names = {"a": _NeverEqual(), "b": 1}
    look = Look(names)
    assert look.has_changed(), "expected the first look to find all"
    assert not look.has_changed()
    names["a"] = _NeverEqual()
    assert look.has_changed()
    names["c"] = 2
    assert look.has_changed()
    del names["b"]
    assert look.has_changed()
    assert not look.has_changed()


def test_another_name_of_the_same_value_is_a_change() -> None:
    value = object()
    names = {"a": value}
    look = Look(names)
    look.has_changed()
    del names["a"]
    names["b"] = value
    assert look.has_changed()


def test_modules_and_classes_have_names() -> None:
    module = types.ModuleType("example")

    class Example:
        value = 1

    for owner in (module, Example):
        look = Look(owner)
        look.has_changed()
        owner.value = 2  # type: ignore[attr-defined, union-attr]
        assert look.has_changed()
        look.forget()
        assert look.has_changed()
        assert not look.has_changed()
