"""The pure rules: expiry, merging, fusion."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stores import expiry, fusion, merging
from stores.protocol import Candidate
from stores.wire import ExpirePolicy, Fusion, MemoryRecord, MemoryType, MergeStrategy

NOW = 1_800_000_000_000
DAY = expiry.DAY_MS


# --- expiry --------------------------------------------------------------------------------------


def falls_under(policy: dict[str, Any], **facts: Any) -> bool:
    defaults: dict[str, Any] = {
        "memory_type": MemoryType.SEMANTIC,
        "confidence": 0.5,
        "created_at": NOW - 10 * DAY,
        "last_recalled_at": None,
    }
    return expiry.falls_under(ExpirePolicy(**policy), **(defaults | facts), now=NOW)


def test_older_than_means_older_and_not_equally_old():
    assert falls_under({"older_than_days": 9})
    assert not falls_under({"older_than_days": 10})


def test_confidence_below_means_below():
    assert falls_under({"confidence_below": 0.6})
    assert not falls_under({"confidence_below": 0.5})


def test_every_condition_has_to_hold():
    assert falls_under({"older_than_days": 9, "type": "semantic", "confidence_below": 0.6})
    assert not falls_under({"older_than_days": 9, "type": "episodic", "confidence_below": 0.6})
    assert not falls_under({"older_than_days": 11, "type": "semantic"})


def test_a_memory_never_recalled_counts_from_its_creation():
    assert falls_under({"no_recall_in_days": 9})
    assert not falls_under({"no_recall_in_days": 30})


def test_a_recent_recall_keeps_an_old_memory():
    assert not falls_under({"no_recall_in_days": 9}, last_recalled_at=NOW - DAY)


def test_a_memory_lapses_at_its_moment():
    assert expiry.has_lapsed(NOW, now=NOW)
    assert not expiry.has_lapsed(NOW + 1, now=NOW)
    assert not expiry.has_lapsed(None, now=NOW)


def test_fresh_means_at_most_so_many_days_old():
    assert expiry.is_fresh(NOW - DAY, within_days=1, now=NOW)
    assert not expiry.is_fresh(NOW - DAY - 1, within_days=1, now=NOW)
    assert expiry.is_fresh(0, within_days=None, now=NOW)


# --- merging -------------------------------------------------------------------------------------


def a_record(memory_id: str, content: str, **fields: Any) -> MemoryRecord:
    values: dict[str, Any] = {
        "id": memory_id,
        "agent_id": "agent",
        "type": MemoryType.SEMANTIC,
        "content": content,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return MemoryRecord(**(values | fields))


CANONICAL = a_record(
    "a",
    "likes tea\nlives in Oslo",
    created_at=NOW - 5,
    metadata={"k": 1, "only": "a"},
    confidence=0.6,
)
OLDER = a_record("b", "lives in Oslo\nhas a cat", created_at=NOW - 9, metadata={"k": 2, "x": 0})
NEWER = a_record("c", "works nights", created_at=NOW - 1, metadata={"k": 3}, confidence=0.9)


def merged(strategy: MergeStrategy) -> MemoryRecord:
    return merging.merge(CANONICAL, [NEWER, OLDER], strategy=strategy, now=NOW + 1)


def test_keep_canonical_leaves_it_exactly_as_it_is():
    assert merged(MergeStrategy.KEEP_CANONICAL) == CANONICAL


def test_merge_content_joins_lines_oldest_first_and_each_once():
    assert merged(MergeStrategy.MERGE_CONTENT).content == (
        "lives in Oslo\nhas a cat\nlikes tea\nworks nights"
    )


def test_merge_content_unites_metadata_and_the_newest_value_wins():
    assert merged(MergeStrategy.MERGE_CONTENT).metadata == {"k": 3, "only": "a", "x": 0}


def test_merge_content_keeps_the_highest_confidence():
    assert merged(MergeStrategy.MERGE_CONTENT).confidence == 1.0


def test_keep_highest_confidence_takes_the_most_trusted_content():
    survivor = merged(MergeStrategy.KEEP_HIGHEST_CONFIDENCE)
    assert (survivor.id, survivor.content, survivor.metadata) == (
        "a",
        OLDER.content,
        OLDER.metadata,
    )
    assert (survivor.created_at, survivor.updated_at) == (CANONICAL.created_at, NOW + 1)


def test_of_equally_trusted_records_the_older_wins():
    twins = [a_record("x", "young", created_at=NOW), a_record("y", "old", created_at=NOW - 1)]
    survivor = merging.merge(
        a_record("z", "low", confidence=0.1),
        twins,
        strategy=MergeStrategy.KEEP_HIGHEST_CONFIDENCE,
        now=NOW,
    )
    assert survivor.content == "old"


records = st.builds(
    a_record,
    st.uuids().map(str),
    st.text(alphabet="ab\n", min_size=1),
    created_at=st.integers(NOW - 3, NOW),
    confidence=st.floats(0, 1),
    metadata=st.dictionaries(st.sampled_from("kxy"), st.integers(0, 3)),
)
groups = st.lists(records, min_size=2, max_size=5)


@given(groups, st.sampled_from(MergeStrategy), st.randoms())
def test_the_order_duplicates_are_named_in_does_not_matter(
    group: list[MemoryRecord], strategy: MergeStrategy, random: Any
):
    canonical, *duplicates = group
    shuffled = duplicates.copy()
    random.shuffle(shuffled)
    assert merging.merge(canonical, duplicates, strategy=strategy, now=NOW) == merging.merge(
        canonical, shuffled, strategy=strategy, now=NOW
    )


@given(groups)
def test_merge_content_loses_no_line_no_key_and_no_confidence(group: list[MemoryRecord]):
    canonical, *duplicates = group
    survivor = merging.merge(canonical, duplicates, strategy=MergeStrategy.MERGE_CONTENT, now=NOW)
    lines = survivor.content.split("\n")
    assert len(set(lines)) == len(lines)
    assert set(lines) == {line for record in group for line in record.content.split("\n")}
    assert survivor.metadata.keys() == {key for record in group for key in record.metadata}
    assert survivor.confidence == max(record.confidence for record in group)


# --- fusion --------------------------------------------------------------------------------------


def ranking(*scored: tuple[str, float]) -> list[Candidate]:
    return [Candidate(id=memory_id, score=score) for memory_id, score in scored]


TWO_STORES = {"one": ranking(("a", 0.9), ("b", 0.5)), "two": ranking(("b", 0.8), ("c", 0.2))}


def fused(method: Fusion, **options: Any) -> dict[str, float]:
    found = fusion.fuse(method, TWO_STORES, **options)
    return {candidate.id: candidate.score for candidate in found}


def test_rrf_sums_one_over_sixty_plus_rank_from_one():
    assert fused(Fusion.RRF) == pytest.approx({"b": 1 / 62 + 1 / 61, "a": 1 / 61, "c": 1 / 62})


def test_max_takes_the_highest_score_of_any_store():
    assert fused(Fusion.MAX) == {"a": 0.9, "b": 0.8, "c": 0.2}


def test_weighted_sums_raw_scores_by_store_weight():
    assert fused(Fusion.WEIGHTED, weights={"one": 2.0}) == pytest.approx(
        {"a": 1.8, "b": 1.8, "c": 0.2}
    )


def test_a_negative_k_is_refused():
    with pytest.raises(ValueError, match="negative"):
        fusion.reciprocal_rank_fusion([["a"]], k=-1)


def test_a_leg_that_found_nothing_leaves_the_other_alone():
    assert fusion.combine_legs({"a": 0.7}, {}) == {"a": 0.7}
    assert fusion.combine_legs({}, {"a": 4.0, "b": 2.0}) == {"a": 1.0, "b": 0.5}


def test_both_legs_are_averaged_by_the_text_s_share():
    scores = fusion.combine_legs({"a": 0.8, "b": 0.4}, {"b": 3.0}, text_share=0.25)
    assert scores == pytest.approx({"a": 0.6, "b": 0.55})


ids = st.sampled_from("abcdef")
rankings = st.dictionaries(
    st.sampled_from(["s1", "s2", "s3"]),
    st.dictionaries(ids, st.floats(0, 1)).map(fusion.in_order),
    min_size=1,
)


@given(rankings, st.sampled_from(Fusion))
def test_fusion_returns_every_id_once_best_first(
    stores: dict[str, list[Candidate]], method: Fusion
):
    found = fusion.fuse(method, stores)
    assert sorted(candidate.id for candidate in found) == sorted(
        {candidate.id for ranked in stores.values() for candidate in ranked}
    )
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)


@given(st.dictionaries(ids, st.floats(0, 1)), st.dictionaries(ids, st.floats(0, 100)))
def test_combined_scores_stay_between_zero_and_one(
    similarities: dict[str, float], text_scores: dict[str, float]
):
    scores = fusion.combine_legs(similarities, text_scores)
    assert all(0 <= score <= 1 + 1e-9 for score in scores.values())


def test_an_episode_takes_over_its_neighbours_lead():
    scores = {"question": 0.8, "answer": 0.5, "before": 0.5, "unrelated": 0.3}
    raised = fusion.add_context(
        scores,
        {
            "answer": fusion.Neighbours("question", None),
            "before": fusion.Neighbours(None, "question"),
        },
    )
    assert raised == pytest.approx(
        {"question": 0.8, "answer": 0.5 + 0.5 * 0.4, "before": 0.5 + 0.5 * 0.2, "unrelated": 0.3}
    )


def test_an_episode_takes_over_less_of_the_lead_of_the_one_behind_its_neighbour():
    scores = {"one": 0.8, "two": 0.3, "three": 0.3, "four": 0.3}
    in_a_row = {
        "one": fusion.Neighbours(None, "two"),
        "two": fusion.Neighbours("one", "three"),
        "three": fusion.Neighbours("two", "four"),
        "four": fusion.Neighbours("three", None),
    }
    raised = fusion.add_context(scores, in_a_row)
    assert raised["two"] > raised["three"] > raised["four"] == 0.3


def test_without_episodes_context_changes_nothing():
    assert fusion.add_context({"a": 0.5, "b": 0.1}, {}) == {"a": 0.5, "b": 0.1}
    assert fusion.add_context({}, {}) == {}


neighbours = st.builds(fusion.Neighbours, st.none() | ids, st.none() | ids)


@given(st.dictionaries(ids, st.floats(0, 1)), st.dictionaries(ids, neighbours))
def test_context_only_raises_and_never_beyond_one(
    scores: dict[str, float], around: dict[str, fusion.Neighbours]
):
    known = {memory_id: beside for memory_id, beside in around.items() if memory_id in scores}
    raised = fusion.add_context(scores, known)
    assert raised.keys() == scores.keys()
    assert all(scores[memory_id] <= raised[memory_id] <= 1 for memory_id in scores)


@given(st.dictionaries(ids, st.floats(0, 1), min_size=2), st.dictionaries(ids, st.floats(0, 9)))
def test_better_in_both_legs_is_better_combined(
    similarities: dict[str, float], text_scores: dict[str, float]
):
    scores = fusion.combine_legs(similarities, text_scores)
    for left in similarities:
        for right in similarities:
            if similarities[left] >= similarities[right] and text_scores.get(
                left, 0
            ) >= text_scores.get(right, 0):
                assert scores[left] >= scores[right]
