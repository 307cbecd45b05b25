"""Every rank of a device mesh in one process: deterministic, checked bit for bit."""

from __future__ import annotations

from simmesh._core import version as __version__

__all__ = ["__version__"]
