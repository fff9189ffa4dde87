"""LoCoMo evidence retrieval: recall over ten long conversations, over HTTP, default settings.

    python -m benchmarks.locomo path/to/folder

The folder (or the data file in it) is somebody else's and stays where it is: the shared driver
``locomo_retrieval.py`` and ``locomo_retrieval.json.gz``, whose licence (CC BY-NC 4.0) allows
measuring and forbids shipping. The driver stores each of 5,882 turns as one episodic memory, asks
1,982 questions with annotated evidence and counts the evidence among the first k; no language
model judges anything.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from benchmarks.local_server import LocalServer, started

RECALL_AT_10_MIN: Final = 0.72
_DRIVER: Final = "locomo_retrieval.py"
_DATA: Final = "locomo_retrieval.json.gz"
_MEASURES: Final = ("recall@5", "recall@10", "recall@20", "mrr")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("path", type=Path, help="the folder of the driver and its data, or a file")
    parser.add_argument("--conversation", action="append", default=[], help="only this one")
    options = parser.parse_args()
    with started() as server:
        result = run(server, options.path, conversations=options.conversation)
    for line in lines(result):
        print(line)
    return 0 if result["metrics"]["all"]["recall@10"] >= RECALL_AT_10_MIN else 1


def run(server: LocalServer, path: Path, *, conversations: list[str]) -> dict[str, Any]:
    """What the driver measured, in its own words.

    Raises: CalledProcessError if it fails, FileNotFoundError if it is not there.
    """
    folder = path if path.is_dir() else path.parent
    data = folder / _DATA if path.is_dir() else path
    for needed in (folder / _DRIVER, data):
        if not needed.exists():
            raise FileNotFoundError(f"LoCoMo needs {needed.name} in the folder given")
    done = subprocess.run(
        [
            *(sys.executable, str(folder / _DRIVER), "run", "--data", str(data)),
            *("--backend", "http", "--base-url", server.address, "--api-key", server.key),
            *(word for name in conversations for word in ("--conversation", name)),
        ],
        stdout=subprocess.PIPE,  # its progress, on stderr, is shown
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def lines(result: dict[str, Any]) -> list[str]:
    """The result as a small table: a row per kind of question, then the latencies."""
    rows = [f"{'LoCoMo':12}{'n':>6}" + "".join(f"{name:>11}" for name in _MEASURES)]
    for name, values in result["metrics"].items():
        cells = "".join(f"{values[measure]:11.3f}" for measure in _MEASURES)
        rows.append(f"{name:12}{values['n']:6}{cells}")
    for name, key in (("remember", "remember_ms"), ("recall", "search_ms")):
        rows.append(f"{name:12}p50 {result[key]['p50']:.1f} ms, p95 {result[key]['p95']:.1f} ms")
    return rows


if __name__ == "__main__":
    sys.exit(main())
