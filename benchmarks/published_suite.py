"""The conformance suite published with ``memorywire``, unchanged, against our HTTP API.

    python -m benchmarks.published_suite

It runs in the peer's venv on the files of its source distribution; ``benchmarks.published`` puts
our server in the place of its reference store. All 18 tests must pass, none may be skipped.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from xml.etree import ElementTree

from benchmarks import peer
from benchmarks.local_server import ROOT, LocalServer, started

TESTS: Final = 18


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One test of the suite. ``trouble`` is empty if it passed."""

    name: str
    trouble: str


def main() -> int:
    with started() as server:
        outcomes = run(server)
    for outcome in outcomes:
        print(f"{'fails' if outcome.trouble else 'ok':6}{outcome.name}")
        if outcome.trouble:
            print(f"      {outcome.trouble}")
    passed = sum(not outcome.trouble for outcome in outcomes)
    print(f"{passed} of {TESTS} pass (memorywire {peer.VERSION}, tests/conformance)")
    return 0 if passed == len(outcomes) == TESTS else 1


def run(server: LocalServer) -> list[Outcome]:
    """Run the suite against a served data folder.

    Raises: RuntimeError if it could not be run at all.
    """
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        done = subprocess.run(
            [
                *(str(peer.python()), "-m", "pytest", "-p", "benchmarks.published.plugin"),
                *("-p", "no:cacheprovider", "-q", f"--junit-xml={report}", "tests/conformance"),
            ],
            cwd=peer.source(),
            env=os.environ
            | {
                "PYTHONPATH": str(ROOT),
                "MEMORYWIRE_URL": server.address,
                "MEMORYWIRE_KEY": server.key,
            },
            capture_output=True,
            text=True,
            check=False,
        )
        if not report.exists():
            raise RuntimeError(f"the suite did not run:\n{done.stdout}{done.stderr}")
        return _outcomes(report)


def _outcomes(report: Path) -> list[Outcome]:
    # The report was written by pytest a moment ago: no stranger's XML.
    cases = ElementTree.parse(report).iter("testcase")  # noqa: S314
    return [Outcome(name=case.get("name", ""), trouble=_trouble(case)) for case in cases]


def _trouble(case: ElementTree.Element) -> str:
    for kind in ("failure", "error", "skipped"):
        if (found := case.find(kind)) is not None:
            return f"{kind}: {found.get('message', '').splitlines()[0][:300]}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
