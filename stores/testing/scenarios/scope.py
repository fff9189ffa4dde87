"""Whose memories a recall sees."""

from stores.testing.session import Session, scenario


@scenario
async def names_are_compared_whole(s: Session) -> None:
    names = ["acme", "acme-corp", "ac_e", "a%", "ACME", "acme ", "acme/x", "acme*"]
    for name in names:
        await s.remember(f"secret of [{name}]", agent_id=name)
        await s.remember("shared topic", user_id=name)
    for name in names:
        assert await s.recall("secret", agent_id=name, k=100) == [f"secret of [{name}]"]
        assert len(await s.hits("shared topic", user_id=name, k=100)) == 1


@scenario
async def noisy_neighbours_do_not_starve_a_small_agent(s: Session) -> None:
    for number in range(300):
        await s.remember("apple pie", agent_id="noisy", metadata={"number": number})
    mine = [await s.remember(f"apple pie of mine {number}") for number in range(5)]
    assert {hit.id for hit in await s.hits("apple pie", k=5)} == set(mine)


@scenario
async def forgotten_neighbours_do_not_starve_a_recall(s: Session) -> None:
    gone = [await s.remember("apple pie") for _ in range(100)]
    kept = await s.remember("apple pie too")
    await s.forget(ids=gone)
    assert [hit.id for hit in await s.hits("apple pie", k=5)] == [kept]
