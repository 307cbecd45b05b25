"""Every rank of a device mesh in one process: deterministic, checked bit for bit."""

from __future__ import annotations

from simmesh._core import __version__ as __version__
from simmesh.spmd import SpmdFailure as SpmdFailure
from simmesh.spmd import spmd as spmd
from simmesh.spmd import spmd_run as spmd_run
