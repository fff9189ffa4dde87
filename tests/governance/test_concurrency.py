"""Many at once: the right actor on every row, no lock error, one decision per proposal."""

import asyncio
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from governance import access, memory
from governance.clock import now_ms
from governance.decision import Ballot, decide
from governance.errors import AlreadyDecided
from governance.gate import Call
from governance.models import AuditRow, Decision, Role, Scope, Verdict
from governance.sealing import data_key
from stores.wire import RememberRequest
from tests.world import World, add_person

USERS = 40
CHANGES = 50


def test_c47_every_row_carries_the_actor_who_did_it(fast_world: World) -> None:
    """40 users x 50 changes through threads and coroutines, each tagging its own key."""
    world = fast_world
    principals = []
    for _ in range(USERS):
        _, token = access.create_key(
            world.workspace.pk, world.owner, scopes=list(Scope), agents=None, now_ms=now_ms()
        )
        principals.append(access.authenticate(token, now_ms=now_ms()))

    async def changes(principal: access.Principal) -> None:
        async def change(number: int) -> None:
            tag = f"{principal.key_label} {number}"
            call = Call(principal=principal, request_id=tag, now_ms=now_ms())
            request = RememberRequest.model_validate(
                {"agent_id": "a", "type": "semantic", "content": tag}
            )
            await memory.remember(call, request)

        await asyncio.gather(*(change(number) for number in range(CHANGES)))

    with ThreadPoolExecutor(USERS) as pool:
        list(pool.map(lambda principal: asyncio.run(changes(principal)), principals))

    rows = AuditRow.objects.filter(action="memory.remembered").select_related("seal_key")
    assert len(rows) == USERS * CHANGES
    for row in rows:
        assert row.seal_key is not None
        key = data_key(row.seal_key)
        assert key is not None
        tag = key.open(bytes(row.sealed or b""))["content"]
        assert tag == row.request_id
        assert tag.startswith(row.actor_label + " ")
        assert row.workspace_id == world.workspace.pk
    assert world.findings() == []


def test_of_many_reviewers_at_once_one_decides_and_the_others_learn_it(fast_world: World) -> None:
    world = fast_world
    world.remember("Alice moved to Oslo", approval_required=True)
    review = world.pending_review()
    shown = world.shown(review)
    reviewers = [add_person(world.workspace, Role.REVIEWER) for _ in range(10)]

    def vote(number: int) -> str:
        ballot = Ballot(
            user=reviewers[number],
            review_id=review.pk,
            verdict=Verdict.APPROVE if number % 2 else Verdict.REJECT,
            shown=shown,
        )
        try:
            asyncio.run(decide(ballot))
        except AlreadyDecided as late:
            return late.detail
        return "won"

    with ThreadPoolExecutor(len(reviewers)) as pool:
        outcomes = Counter(pool.map(vote, range(len(reviewers))))
    winner = Decision.objects.get().person
    assert outcomes.pop("won") == 1
    assert all(winner.label in told for told in outcomes)
    assert world.findings() == []
