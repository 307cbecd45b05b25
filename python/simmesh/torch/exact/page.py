"""The page of the operators: ``python -m simmesh.torch.exact.page``."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from simmesh.torch.exact import tables
from simmesh.torch.exact.families import load

_INTRODUCTION = """\
# Operators in exact ranks
With `local="exact"` each operator of PyTorch that gets floating elements has one of these classes:

| class | meaning |
| --- | --- |
| exact | simmesh computes it: sums stay unrounded until they are complete |
| safe | PyTorch computes it: it adds nothing up, and an element's bits don't depend on its place |
| composed | PyTorch composes it of other operators, which are computed in turn |
| refused | an error names the operator, the line of the program and the reason |

The list holds the operators of `aten`, with an overload where the others of that name differ. It is
written by `python -m simmesh.torch.exact.page > docs/exact_pytorch_operators.md`. An operator that
isn't on it has the class that a rule gives it:

- A view of a tensor, and a maker of tensors that gets none, are safe.
- `name_` and `name.out` have the class of `name`.
- `_foreach_name` is composed of `name` for each tensor.
- An operator that PyTorch always composes of others is composed.
- Every operator whose operands are integers or bools is safe.
- Complex numbers are made, added, subtracted, multiplied, negated, conjugated, copied and viewed;
  other operators refuse them.
- Collectives carry exact values: those of `c10d`, of functional collectives and of FSDP2.
- An operator of `torch.library.custom_op` is composed of what its function calls. It is refused if
  that gives elements to NumPy or takes their address.
- Anything else is refused. `simmesh.torch.exact.declare(operator, how)` enters an operator of your
  own: `how` is `"safe"`, or a function that composes it of other operators.
"""


def page() -> str:
    """The text of docs/exact_pytorch_operators.md."""
    load()
    from simmesh.torch.exact import refusals

    parts = [_INTRODUCTION]
    for kind in ("exact", "safe"):
        parts.append(f"\n## {kind.capitalize()}\n")
        parts += [_paragraph(family, names) for family, names in _families(kind)]
    parts.append("\n## Refused\n")
    parts += [_paragraph(reason, patterns.split()) for reason, patterns in refusals.REASONS]
    return "".join(parts)


def _families(kind: str) -> Iterator[tuple[str, list[str]]]:
    entries = tables.entries()
    for family in sorted({entry.family for entry in entries.values()}):
        names = [
            name for name, entry in entries.items() if (entry.kind, entry.family) == (kind, family)
        ]
        if names:
            yield family, sorted(names)


def _paragraph(title: str, names: list[str]) -> str:
    text = " ".join(f"`{name}`" for name in names)
    title = title[0].upper() + title[1:]
    return "\n".join(textwrap.wrap(f"**{title}.** {text}", 100, break_on_hyphens=False)) + "\n\n"


if __name__ == "__main__":
    print(page(), end="")
