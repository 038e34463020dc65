"""The folder where fetched files are kept."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(cache: str = "") -> Path:
    """Return where fetched files are kept: `cache`, else $SPARCL_CACHE, else the user's cache folder."""
    chosen = cache or os.environ.get("SPARCL_CACHE", "")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path.home() / ".cache") / "sparcl"
