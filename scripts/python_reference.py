"""The reference of the Python package, from its sources and the stub of its C++ side, by griffe."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import griffe

#: The modules that programs may import. Others may change.
MODULES = ("simmesh", "simmesh.typed", "simmesh.findings", "simmesh.pytest_plugin")


def load(path: Path, module: str) -> griffe.Object:
    """Reads a module below a path, without importing it."""
    loader = griffe.GriffeLoader(search_paths=[path], allow_inspection=False)
    package = loader.load("simmesh", try_relative_path=False)
    loader.resolve_aliases(external=False)
    found = package
    for name in module.split(".")[1:]:
        found = found[name]
    return found  # type: ignore[return-value]


def public_names(module: griffe.Object) -> list[str]:
    """The names that a module exports, or else those of its functions and classes."""
    if module.exports is not None:
        return sorted(str(name) for name in module.exports if str(name) != "__version__")
    own = (each for each in module.members.values() if not each.is_alias)
    return [
        each.name for each in own
        if (each.is_function or each.is_class) and not each.name.startswith("_")
    ]  # fmt: skip


def member_of(module: griffe.Object, name: str) -> griffe.Object:
    """A name of a module, also where the module imports it; of a function that a stub only
    overloads, the first form.
    """
    member = module[name]
    # A module may have the name of its function.
    if isinstance(member, griffe.Module) and name in member.members:
        member = member[name]
    if not isinstance(member, griffe.Alias):
        return member
    try:
        return member.final_target
    except griffe.AliasResolutionError:
        place, _, own = member.target_path.rpartition(".")
        return module.modules_collection[place].overloads[own][0]  # type: ignore[no-any-return]


def parts_of(each: griffe.Object) -> Iterator[griffe.Object]:
    """The members of a class that programs use; of an overloaded one, the first form."""
    overloads = getattr(each, "overloads", None) or {}
    for name in sorted({*each.members, *overloads}):
        member = each.members[name] if name in each.members else overloads[name][0]
        if isinstance(member, griffe.Object) and not name.startswith("_"):
            yield member


def forms_of(each: griffe.Object) -> list[griffe.Function]:
    """The forms in which a function is called: its overloads, or else itself."""
    of_function = getattr(each, "overloads", None)
    if isinstance(of_function, list) and of_function:
        return of_function
    of_parent = (getattr(each.parent, "overloads", None) or {}).get(each.name, [])
    return of_parent or [each]  # type: ignore[list-item]


def text_of(each: griffe.Object) -> str:
    """The text that documents an object: its own, or that of its first form that has one."""
    texts = [each.docstring]
    if each.is_function:
        texts += [form.docstring for form in forms_of(each)]
    return next((text.value for text in texts if text is not None), "")


def undocumented(path: Path) -> list[str]:
    """The functions, classes and methods of the public modules that no text documents."""
    found = []
    for name in MODULES:
        module = load(path, name)
        if not text_of(module):
            found.append(name)
        for own in public_names(module):
            each = member_of(module, own)
            if not (each.is_function or each.is_class):
                continue
            if not text_of(each):
                found.append(f"{name}.{own}")
            if each.is_class:
                found += [
                    f"{name}.{own}.{part.name}" for part in parts_of(each)
                    if part.is_function and not text_of(part)
                ]  # fmt: skip
    return found


def calls_of(each: griffe.Object) -> list[str]:
    """The calls of a function as Markdown."""
    return ["```python", *(str(form.signature()) for form in forms_of(each)), "```", ""]


def module_page(path: Path, name: str) -> str:
    """The page of a module: each exported name with its signature and its text."""
    module = load(path, name)
    lines = [f"# {name}", "", text_of(module), ""]
    for own in public_names(module):
        each = member_of(module, own)
        lines += [f"## {own}", ""]
        if each.is_function:
            lines += calls_of(each)
        lines += [text_of(each), ""]
        if each.is_class:
            for part in parts_of(each):
                lines += [f"### {own}.{part.name}", ""]
                if part.is_function:
                    lines += calls_of(part)
                lines += [text_of(part), ""]
    return "\n".join(lines)
