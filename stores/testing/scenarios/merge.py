"""Merging."""

from stores.testing.session import Session, refuses, scenario


@scenario
async def keep_canonical_drops_the_duplicates_only(s: Session) -> None:
    kept = await s.remember("Alice likes tea")
    dropped = [await s.remember("Alice enjoys tea"), await s.remember("tea is what Alice likes")]
    response = await s.merge(kept, *dropped)
    assert (response.canonical, response.merged_count) == (kept, 2)
    assert await s.recall("Alice tea") == ["Alice likes tea"]


@scenario
async def merge_content_is_found_by_the_text_it_took_in(s: Session) -> None:
    kept = await s.remember("likes tea", metadata={"a": 1, "k": "old"}, confidence=0.4)
    other = await s.remember("owns a zeppelin", metadata={"b": 2, "k": "new"}, confidence=0.8)
    await s.remember("an unrelated remark")
    await s.merge(kept, other, strategy="merge_content")
    first = (await s.hits("owns a zeppelin"))[0]
    assert (first.id, first.content) == (kept, "likes tea\nowns a zeppelin")
    assert first.metadata == {"a": 1, "b": 2, "k": "new"}


@scenario
async def keep_highest_confidence_takes_the_trusted_content(s: Session) -> None:
    kept = await s.remember("maybe tea", confidence=0.2)
    trusted = await s.remember("surely coffee", confidence=0.9)
    await s.merge(kept, trusted, strategy="keep_highest_confidence")
    assert [(hit.id, hit.content) for hit in await s.hits("coffee")] == [(kept, "surely coffee")]


@scenario
async def entities_are_merged_by_name(s: Session) -> None:
    await s.remember("Alice Smith", metadata={"entity_name": "Alice Smith"})
    await s.remember("alice", metadata={"entity": "alice"})
    response = await s.merge("Alice Smith", "alice")
    assert (response.canonical, response.merged_count) == ("Alice Smith", 1)
    assert await s.recall("alice") == ["Alice Smith"]


@scenario
async def a_merge_is_refused_whole(s: Session) -> None:
    one = await s.remember("one", metadata={"entity": "twin"})
    two = await s.remember("two", metadata={"entity": "twin"})
    gone = await s.remember("three")
    await s.forget(ids=[gone])
    foreign = await s.remember("foreign", agent_id="other")
    users = await s.remember("a user's", user_id="ann")
    staged = (await s.write("staged", approval_required=True)).id
    attempts: list[list[str]] = [
        ["missing", one, two],
        [one, "missing"],
        [one, two, gone],
        [one, foreign],
        [one, users],
        [one, staged],
        [one, one],
        [one, two, two],
        [one, "twin"],
    ]
    for canonical, *duplicates in attempts:
        await refuses(s.merge(canonical, *duplicates))
    assert sorted(await s.recall("one two", filter={"entity": "twin"})) == ["one", "two"]
