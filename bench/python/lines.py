"""Prints what scripts measure: as a table to read, or with ``--json`` as one JSON object a line, of
which the bench page is made.
"""

from __future__ import annotations

import json
import sys

#: True if lines of JSON are asked for.
AS_JSON = "--json" in sys.argv


def text(line: str) -> None:
    """Prints a line of a table, unless JSON is asked for."""
    if not AS_JSON:
        print(line, flush=True)


def value(name: str, measured: float) -> None:
    """Prints a value as JSON if that is asked for."""
    if AS_JSON:
        print(json.dumps({"name": name, "value": measured}), flush=True)
