"""Slices of the crowds; their full size is ``make proof``. Cases C31 and C33 of set A."""

import pytest

from benchmarks import crowds


def test_c31_every_write_of_many_clients_at_two_processes_is_stored_once() -> None:
    report = crowds.writers(servers=2, clients=8, each=20)
    assert report.problems == []


@pytest.mark.parametrize("grown", [False, True], ids=["embedded", "grown"])
def test_c33_of_many_reviewers_at_once_each_proposal_is_decided_once(grown: bool) -> None:
    report = crowds.reviewers(servers=2, people=5, items=8, grown=grown)
    assert report.problems == []
    assert "decisions: 8" in report.lines
