"""The place of the repository, for tests that read its recorded cases and gates."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CASES = ROOT / "tests" / "cases"
GATES = ROOT / "examples" / "gates"
