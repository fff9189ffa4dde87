"""The benchmarks' own promises; their figures are never asserted here."""

import json
import os
from collections import Counter

from benchmarks import microbench, proof


def test_the_microbenchmark_has_the_papers_shape():
    data = json.loads(microbench.DATA.read_text())
    kinds = Counter(query["kind"] for query in data["queries"])
    assert len(data["facts"]) == 100
    assert kinds == {"paraphrase": 16, "exact": 14, "multi-hit": 12, "no-match": 8}


def test_every_labelled_answer_is_a_fact_of_the_user_who_is_asked_about():
    data = json.loads(microbench.DATA.read_text())
    owner = {fact["id"]: fact["user_id"] for fact in data["facts"]}
    for query in data["queries"]:
        assert (query["kind"] == "no-match") == (not query["gold"])
        assert {owner[gold] for gold in query["gold"]} <= {query["user_id"]}


def test_a_ratio_is_the_median_of_the_rounds_ratios_of_medians():
    ours = [[1.0, 2.0, 3.0], [10.0], [4.0]]
    theirs = [[4.0], [20.0], [4.0]]
    assert microbench.ratio(ours, theirs) == 0.5


def test_a_page_of_evidence_names_the_machine_in_general_terms_only():
    text = proof.page(proof.CAMPAIGNS[0], output="18 of 18\n", is_well=True, seconds=5.0)
    assert "18 of 18" in text
    assert "python -m benchmarks.published_suite" in text
    assert os.uname().nodename not in text
    assert str(proof.ROOT) not in text
