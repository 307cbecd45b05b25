"""The lines that a page shows of a command, held against those that it prints."""

from __future__ import annotations

import re


def holds_in_order(output: str, shown: str) -> str | None:
    """The first line of ``shown`` that ``output`` doesn't have behind those before it; ``...``
    stands for any text.
    """
    position = 0
    for line in shown.splitlines():
        pattern = ".*".join(re.escape(part) for part in line.strip().split("..."))
        found = re.compile(pattern).search(output, position)
        if found is None:
            return line
        position = found.end()
    return None
