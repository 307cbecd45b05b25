"""Every rank of a device mesh in one process: deterministic, checked bit for bit."""

from __future__ import annotations

from simmesh._core import __version__ as __version__
