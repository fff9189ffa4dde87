"""Campaigns that kill processes, at the size the issue asks for."""

import subprocess
import sys


def test_200_kills_lose_no_acknowledged_write_and_leave_no_change_without_its_row() -> None:
    # In a process of its own: it forks, and must do so before any thread is started.
    campaign = subprocess.run(
        [sys.executable, "-m", "benchmarks.kill_writer", "--cycles", "200"],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert campaign.returncode == 0, campaign.stdout + campaign.stderr
    assert "200 kills" in campaign.stdout
