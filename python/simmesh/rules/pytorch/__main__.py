"""``python -m simmesh.rules.pytorch``: judges the sharding rules of the installed PyTorch."""

import sys

from simmesh.rules.pytorch.command import run

sys.exit(run(sys.argv[1:]))
