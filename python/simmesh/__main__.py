"""The command `simmesh`, as the C++ program has it, with `demo` and `gates`, and what needs
PyTorch: `record`, `torchrun`, `accelerate launch`, `deepspeed`, `museum`, `merge` of its shards,
`validate --python` and `validate --pytorch`.
"""

from __future__ import annotations

import sys

from simmesh._core import command
from simmesh.started_by_mpi import is_started_by_mpi, refuse_mpi
from simmesh.termination import end_children_on_sigterm


def main() -> int:
    """Runs the command that sys.argv names and returns its exit status."""
    if is_started_by_mpi():
        return refuse_mpi()
    if sys.argv[1:2] == ["demo"]:
        from simmesh.demo import run as demo

        return demo(sys.argv[2:])
    if sys.argv[1:2] == ["gates"]:
        from simmesh.gates_command import run as gates

        return gates(sys.argv[2:])
    if sys.argv[1:2] in (["record"], ["torchrun"], ["accelerate"], ["deepspeed"]):
        end_children_on_sigterm()
    if sys.argv[1:2] == ["record"]:
        from simmesh.recording_command import run

        return run(sys.argv[2:])
    if sys.argv[1:2] == ["torchrun"]:
        from simmesh.torchrun_command import run as torchrun

        return torchrun(sys.argv[2:])
    if sys.argv[1:2] in (["accelerate"], ["deepspeed"]):
        from simmesh.launch_commands import run as launch

        return launch(sys.argv[1], sys.argv[2:])
    if sys.argv[1:2] == ["museum"]:
        from simmesh.museum.command import run as museum

        return museum(sys.argv[2:])
    if sys.argv[1:2] == ["merge"]:
        from simmesh.museum import shards

        if shards.is_ours(sys.argv[2:]):
            return shards.merge(sys.argv[2:])
    if sys.argv[1:2] == ["validate"]:
        from simmesh import rules_command

        if rules_command.is_ours(sys.argv[1:]):
            return rules_command.run(sys.argv[2:])
        if sys.argv[2:3] == ["--pytorch"]:
            from simmesh.rules.pytorch.command import run as validate

            return validate(sys.argv[3:])
    sys.stdout.flush()
    return command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
