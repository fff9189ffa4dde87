"""The campaigns at full size. Their output goes to ``docs/evidence``, one page per campaign.

    python -m benchmarks.proof [name ...]
    python -m benchmarks.proof locomo --locomo PATH

Each campaign is a program of its own that prints what it found and ends with 0 if it is as it
should be. A page holds the command, the date, the machine in general terms and the output, so that
anybody can run the same and compare; timings depend on the machine, ratios hardly do.
"""

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from benchmarks.local_server import ROOT

EVIDENCE: Final = ROOT / "docs" / "evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """One page of evidence: ``arguments`` follow ``python -m benchmarks.<module>``."""

    name: str
    title: str
    module: str
    arguments: Sequence[str] = ()

    @property
    def command(self) -> str:
        return " ".join(["python -m", f"benchmarks.{self.module}", *self.arguments])


CAMPAIGNS: Final = (
    Campaign(
        name="published-suite",
        title="The published conformance suite of memorywire against our HTTP API",
        module="published_suite",
    ),
    Campaign(
        name="microbench",
        title="The paper's microbenchmark, beside the published package with our embedder",
        module="microbench",
    ),
    Campaign(
        name="microbench-as-installed",
        title="The paper's microbenchmark, beside the published package with the torch it asks for",
        module="microbench",
        arguments=("--as-installed",),
    ),
    Campaign(
        name="adversarial",
        title="One or two hostile stores of three, beside the published package's router",
        module="adversarial",
    ),
    Campaign(
        name="growth",
        title="Latency, memory and disk at 1,000 to 100,000 memories of one agent",
        module="growth",
        arguments=("--full",),
    ),
    Campaign(
        name="growth-pgvector",
        title="The same with ledger and store in PostgreSQL",
        module="growth",
        arguments=("--full", "--store", "pgvector"),
    ),
    Campaign(
        name="kill-writer",
        title="A writing process killed 1,000 times",
        module="kill_writer",
        arguments=("--cycles", "1000"),
    ),
    Campaign(
        name="crowd-writers",
        title="16 clients x 200 remembers at 4 server processes on one SQLite ledger",
        module="crowds",
        arguments=("writers",),
    ),
    Campaign(
        name="crowd-reviewers",
        title="20 reviewers deciding the same 100 proposals at once, each with a double click",
        module="crowds",
        arguments=("reviewers",),
    ),
    Campaign(
        name="crowd-reviewers-grown",
        title="1,000 proposals, each decided by three reviewers at once, on PostgreSQL and Redis",
        module="crowds",
        arguments=("reviewers", "--people", "3", "--items", "1000", "--grown"),
    ),
    Campaign(
        name="flaky-stores",
        title="20,000 writes to two stores that fail, hang or lose the reply 30% of the time",
        module="flaky_stores",
    ),
    Campaign(
        name="random-worlds",
        title="Recall in 500 random worlds equals brute force",
        module="random_worlds",
    ),
    Campaign(
        name="random-worlds-pgvector",
        title="The same 500 random worlds with pgvector as the store",
        module="random_worlds",
        arguments=("--store", "pgvector"),
    ),
    Campaign(
        name="fuzz-openapi",
        title="20,000 generated requests against the OpenAPI document",
        module="fuzz_openapi",
    ),
)

LOCOMO: Final = Campaign(
    name="locomo",
    title="LoCoMo evidence retrieval with the default settings",
    module="locomo",
)
"""Its data may not be shipped, so it runs only where it is told where they are."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", metavar="name", help="all, if none is given")
    parser.add_argument("--locomo", metavar="PATH", help="where the files of LoCoMo are")
    options = parser.parse_args()
    known = {c.name: c for c in (*CAMPAIGNS, *([LOCOMO] if options.locomo else []))}
    if unknown := set(options.names) - known.keys():
        parser.error(f"no {', '.join(unknown)}; there are {', '.join(known)}")
    failed = [
        name
        for name in options.names or known
        if not prove(known[name], hidden_argument=options.locomo if name == LOCOMO.name else "")
    ]
    print(f"not as it should be: {', '.join(failed)}" if failed else "all as it should be")
    return 1 if failed else 0


def prove(campaign: Campaign, *, hidden_argument: str = "") -> bool:
    """Run a campaign, write its page, and say whether it ended well.

    ``hidden_argument`` is given to it and left out of the page: a path of this machine.
    """
    print(f"{campaign.name} ...", flush=True)
    started_at = time.monotonic()
    done = subprocess.run(
        [
            *(sys.executable, "-m", f"benchmarks.{campaign.module}", *campaign.arguments),
            *([hidden_argument] if hidden_argument else []),
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    print(done.stdout, flush=True)
    EVIDENCE.mkdir(parents=True, exist_ok=True)
    text = page(
        campaign,
        output=done.stdout,
        is_well=done.returncode == 0,
        seconds=time.monotonic() - started_at,
    )
    (EVIDENCE / f"{campaign.name}.md").write_text(text)
    return done.returncode == 0


def page(campaign: Campaign, *, output: str, is_well: bool, seconds: float) -> str:
    """The evidence as Markdown."""
    return "\n".join(
        [
            f"# {campaign.title}",
            "",
            f"`{campaign.command}`",
            "",
            "| | |",
            "|---|---|",
            f"| result | {'as it should be' if is_well else '**not as it should be**'} |",
            f"| date | {datetime.now(UTC):%Y-%m-%d %H:%M} UTC |",
            f"| took | {seconds:.0f} s |",
            f"| machine | {machine()} |",
            "",
            "```",
            output.rstrip(),
            "```",
            "",
        ]
    )


def machine() -> str:
    """Cores, processor, memory, system and Python: nothing that names this very machine."""
    memory_gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load_1min = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores, {_processor()}, {memory_gib:.0f} GiB, {platform.system()},"
        f" Python {platform.python_version()}; load at the end {load_1min:.1f}"
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for row in cpuinfo.read_text().splitlines():
            if row.startswith("model name"):
                return row.partition(":")[2].strip()
    return platform.machine()


if __name__ == "__main__":
    sys.exit(main())
