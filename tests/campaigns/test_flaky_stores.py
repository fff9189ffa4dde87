"""A slice of the campaign; its full size is ``make proof``."""

import subprocess
import sys


def test_stores_that_fail_hang_and_lose_replies_end_with_each_memory_once() -> None:
    # In a process of its own: it sets Django up with two stores behind bad lines.
    campaign = subprocess.run(
        [sys.executable, "-m", "benchmarks.flaky_stores", "--writes", "800"],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert campaign.returncode == 0, campaign.stdout + campaign.stderr
    assert "800 writes" in campaign.stdout
    assert campaign.stdout.count(": 0 differences") == 2
    for fault in ("fail", "hang", "lose reply"):
        assert campaign.stdout.count(fault) == 2, "each store met each fault"
