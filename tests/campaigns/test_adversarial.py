"""A slice of the benchmark; its full size, beside the peer, is ``make bench``."""

import subprocess
import sys


def test_hostile_stores_neither_place_an_answer_nor_push_one_out() -> None:
    # In a process of its own: it sets Django up with three stores that lie.
    benchmark = subprocess.run(
        [sys.executable, "-m", "benchmarks.adversarial", "--slice"],
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert benchmark.returncode == 0, benchmark.stdout + benchmark.stderr
    assert benchmark.stdout.count("recall=1.0, leak=0.0") == 6
