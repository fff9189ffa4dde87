"""The peer: the reference implementation from PyPI, in an environment of its own."""

import os
import tempfile
from pathlib import Path

VERSION = "0.5.0"


def cache_folder() -> Path:
    """Where what benchmarks download and build is kept between runs; never in the project."""
    folder = os.environ.get("MEMORYWIRE_BENCH_CACHE")
    return Path(folder) if folder else Path(tempfile.gettempdir()) / "memorywire-bench"
