"""Run the conformance suite that the package ``memorywire`` publishes against this server.

    python -m benchmarks.published_suite

The suite comes from the package's sdist and is not changed; ``benchmarks/published/plugin.py``
hands it a store that talks HTTP. Exit code 0 if every scenario passes.
"""

import os
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

from benchmarks.local_server import ROOT, started
from benchmarks.peer import VERSION, cache_folder

_NEEDS = (f"memorywire=={VERSION}", "pytest", "pytest-asyncio", "httpx", "sqlite-vec")


def main() -> int:
    folder = cache_folder() / "published-suite"
    python = _environment(folder / "venv")
    suite = _suite(folder)
    with started() as server:
        return subprocess.run(
            [
                python, "-m", "pytest", "tests/conformance", "-p", "plugin", "-k", "sqlite-vec",
                "-o", "asyncio_mode=auto", "-o", "addopts=", "-p", "no:cacheprovider", "-q",
            ],  # fmt: skip
            cwd=suite,
            env=os.environ
            | {
                "PYTHONPATH": f"{ROOT / 'benchmarks' / 'published'}{os.pathsep}{suite}",
                "MEMORYWIRE_ADDRESS": server.address,
                "MEMORYWIRE_KEY": server.key,
            },
            check=False,
        ).returncode


def _environment(folder: Path) -> str:
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        _pip(str(python), "install", *_NEEDS)
        (folder / "ready").touch()
    return str(python)


def _suite(folder: Path) -> Path:
    """The unpacked sdist."""
    unpacked = folder / f"memorywire-{VERSION}"
    if not unpacked.exists():
        _pip(
            sys.executable, "download", "--no-deps", "--no-binary", "memorywire",
            "--dest", str(folder), f"memorywire=={VERSION}",
        )  # fmt: skip
        with tarfile.open(folder / f"memorywire-{VERSION}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return unpacked


def _pip(python: str, *arguments: str) -> None:
    subprocess.run([python, "-m", "pip", "--quiet", *arguments], check=True)


if __name__ == "__main__":
    sys.exit(main())
