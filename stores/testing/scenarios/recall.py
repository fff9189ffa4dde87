"""Remembering and recalling."""

from stores.protocol import Capability
from stores.testing.session import Session, refuses, scenario


@scenario
async def what_is_remembered_is_recalled_byte_for_byte(s: Session) -> None:
    content = "  Zoë's café ☕ costs 3€\r\n\ttabs, “quotes” and e\u0301 stay  "
    await s.remember(content, metadata={"big": 12345678901234567890123, "nested": {"a": [1, None]}})
    (hit,) = await s.hits("café")
    assert hit.content == content
    assert hit.metadata == {"big": 12345678901234567890123, "nested": {"a": [1, None]}}


@scenario
async def a_direct_write_names_the_store_and_is_not_pending(s: Session) -> None:
    response = await s.write("Alice is allergic to peanuts")
    assert response.stores
    assert not response.pending_approval


@scenario
async def the_same_words_come_first_and_scores_fall(s: Session) -> None:
    for content in ("the cat sleeps", "a red bicycle leans there", "trains leave at noon"):
        await s.remember(content)
    for fusion in ("rrf", "max", "weighted"):
        hits = await s.hits("a red bicycle leans there", fusion=fusion)
        assert hits[0].content == "a red bicycle leans there"
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)


@scenario
async def recall_returns_k_whenever_k_exist(s: Session) -> None:
    for number in range(12):
        await s.remember(f"note number {number}")
    for k in (1, 5, 12):
        assert len(await s.recall("entirely unrelated", k=k)) == k
    assert len(await s.recall("entirely unrelated", k=1000)) == 12


@scenario
async def a_memory_is_returned_once(s: Session) -> None:
    for _ in range(3):
        await s.remember("twins twins twins")
    hits = await s.hits("twins", k=10)
    assert len({hit.id for hit in hits}) == len(hits) == 3


@scenario
async def types_narrow_a_recall(s: Session) -> None:
    await s.remember("a fact about tea")
    await s.remember("an evening with tea", type="episodic")
    await s.remember("a fear of tea", type="emotional")
    assert await s.recall("tea", types=["episodic"]) == ["an evening with tea"]
    assert len(await s.recall("tea", types=["episodic", "emotional"])) == 2


@scenario
async def a_filter_narrows_a_recall_without_starving_it(s: Session) -> None:
    for number in range(60):
        await s.remember("apple pie", metadata={"number": number})
    await s.remember("something else", metadata={"number": 99})
    assert await s.recall("apple pie", filter={"number": {"$gte": 99}}) == ["something else"]


@scenario
async def an_unknown_operator_is_refused_by_name(s: Session) -> None:
    await s.remember("x")
    assert "$regex" in await refuses(s.recall("x", filter={"a": {"$regex": "b"}}))
    assert "$regex" in await refuses(s.forget(filter={"a": {"$regex": "b"}}))
    assert await s.recall("x") == ["x"]


@scenario
async def query_punctuation_is_inert(s: Session) -> None:
    await s.remember("ticket POL-358 for O'Hare")
    for query in ("POL-358", "O'Hare"):
        assert await s.recall(query) == ["ticket POL-358 for O'Hare"]
    for query in (
        '"unbalanced',
        "a AND (",
        "title:x",
        "*",
        "NEAR(a b)",
        "-ohare",
        "^x",
        '"' * 5000,
    ):
        assert len(await s.recall(query)) == 1


@scenario
async def words_inside_unspaced_scripts_are_found(s: Session) -> None:
    s.needs(Capability.FTS)
    texts = {
        "東京タワー": "会議は東京タワーの近くで行う",
        "서울역": "내일은 서울역에서 만나자",
        "รถไฟ": "พรุ่งนี้เราจะนั่งรถไฟไปเชียงใหม่",
        "build-77": "重跑build-77后再看结果",
        "水": "少喝水",
    }
    for text in texts.values():
        await s.remember(text)
    for query, text in texts.items():
        assert (await s.recall(query, k=1)) == [text], query


@scenario
async def long_content_is_found_by_its_last_word(s: Session) -> None:
    s.needs(Capability.FTS)
    await s.remember("filler words go on " * 4_000 + "xylophone")
    for number in range(5):
        await s.remember(f"short note {number}")
    assert (await s.recall("xylophone", k=1))[0].endswith("xylophone")
