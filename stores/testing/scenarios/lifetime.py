"""What time does to a recall."""

from stores.expiry import DAY_MS
from stores.testing.session import Session, scenario


@scenario
async def an_expired_memory_is_not_recalled(s: Session) -> None:
    await s.remember("stays")
    stored_at = (await s.write("lasts a day")).stored_at
    await s.remember("goes soon", expires_at=stored_at + DAY_MS)
    assert len(await s.recall("goes soon")) == 3
    await s.pass_time(DAY_MS + 1_000)
    assert sorted(await s.recall("goes soon")) == ["lasts a day", "stays"]


@scenario
async def fresher_than_days_leaves_old_memories_out(s: Session) -> None:
    await s.remember("old note")
    await s.pass_time(3 * DAY_MS)
    await s.remember("new note")
    assert await s.recall("note", fresher_than_days=2) == ["new note"]
    assert len(await s.recall("note", fresher_than_days=4)) == 2
