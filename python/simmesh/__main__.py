"""The command `simmesh`, as the C++ program has it, and `record` and `torchrun`, which need
PyTorch.
"""

from __future__ import annotations

import sys

from simmesh._core import command


def main() -> int:
    """Runs the command that sys.argv names and returns its exit status."""
    if sys.argv[1:2] == ["record"]:
        from simmesh.recording_command import run

        return run(sys.argv[2:])
    if sys.argv[1:2] == ["torchrun"]:
        from simmesh.torchrun_command import run as torchrun

        return torchrun(sys.argv[2:])
    sys.stdout.flush()
    return command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
