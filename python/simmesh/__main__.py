"""The command `simmesh`, which the C++ program of that name runs too."""

from __future__ import annotations

import sys

from simmesh._core import command


def main() -> int:
    """Runs the command that sys.argv names and returns its exit status."""
    sys.stdout.flush()
    return command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
