"""Run the conformance suite that the package ``memorywire`` publishes against this server.

    python -m benchmarks.published_suite

The suite comes from the package's sdist and is not changed; ``benchmarks/published/plugin.py``
hands it a store that talks HTTP. Exit code 0 if every scenario passes.
"""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

from benchmarks import peer
from benchmarks.local_server import ROOT, started


def main() -> int:
    folder = peer.cache_folder() / "published-suite"
    suite = _suite(folder)
    with started() as server:
        return subprocess.run(
            [
                peer.python(),
                "-m",
                "pytest",
                "tests/conformance",
                "-p",
                "plugin",
                "-k",
                "sqlite-vec",
                "-o",
                "asyncio_mode=auto",
                "-o",
                "addopts=",
                "-p",
                "no:cacheprovider",
                "-q",
            ],
            cwd=suite,
            env=os.environ
            | {
                "PYTHONPATH": f"{ROOT / 'benchmarks' / 'published'}{os.pathsep}{suite}",
                "MEMORYWIRE_ADDRESS": server.address,
                "MEMORYWIRE_KEY": server.key,
            },
            check=False,
        ).returncode


def _suite(folder: Path) -> Path:
    """The unpacked sdist."""
    unpacked = folder / f"memorywire-{peer.VERSION}"
    if not unpacked.exists():
        peer.pip(
            sys.executable,
            "download",
            "--no-deps",
            "--no-binary",
            "memorywire",
            "--dest",
            str(folder),
            f"memorywire=={peer.VERSION}",
        )
        with tarfile.open(folder / f"memorywire-{peer.VERSION}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return unpacked


if __name__ == "__main__":
    sys.exit(main())
