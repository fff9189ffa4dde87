"""Hops through the server: what lies near another hit scores more, and says who helped."""

from tests.world import World


def hits_by_content(world: World, query: str, **extra: object) -> dict[str, dict[str, object]]:
    return {str(hit["content"]): hit for hit in world.recall_hits(query, **extra)}


def test_a_hit_that_shares_an_entity_is_raised_and_names_its_helper(fast_world: World) -> None:
    one = fast_world.remembered("The harbour ferry leaves at nine", metadata={"entity": "ferry"})
    two = fast_world.remembered("Tickets for it cost four euros", metadata={"entity": "ferry"})
    alone = fast_world.remembered("The harbour has a lighthouse")
    flat = hits_by_content(fast_world, "harbour ferry tickets", k=3)
    raised = hits_by_content(fast_world, "harbour ferry tickets", k=3, hops=1)
    by_id = {hit["id"]: hit for hit in raised.values()}
    assert by_id[one]["supporting"] == [two]
    assert by_id[two]["supporting"] == [one]
    assert by_id[alone]["supporting"] == []
    for content, hit in raised.items():
        boost = 1.0 if hit["id"] == alone else 1.05
        assert hit["score"] == flat[content]["score"] * boost  # type: ignore[operator]


def test_without_hops_nobody_helps(fast_world: World) -> None:
    for content in ("The ferry leaves at nine", "The ferry is full"):
        fast_world.remembered(content, metadata={"entity": "ferry"})
    assert [hit["supporting"] for hit in fast_world.recall_hits("ferry")] == [[], []]


def test_two_hops_lead_over_a_memory_that_is_no_hit_itself(fast_world: World) -> None:
    """A and C share nothing but their links to B; with k = 2 B is not answered."""
    middle = fast_world.remembered("An unrelated remark about tides")
    ends = {
        fast_world.remembered(f"The ferry {what}", metadata={"links": [middle]})
        for what in ("leaves at nine", "is painted red")
    }
    near = fast_world.recall_hits("the ferry", k=2, hops=2)
    assert {hit["id"] for hit in near} == ends
    assert all(set(hit["supporting"]) <= ends | {middle} and hit["supporting"] for hit in near)


def test_no_hop_leads_over_a_memory_of_another_user_or_one_that_is_gone(
    fast_world: World,
) -> None:
    bridges = [
        fast_world.remembered("A bridge that is gone", user_id="ana"),
        fast_world.remembered("A bridge of another", user_id="bo"),
    ]
    fast_world.forget(ids=[bridges[0]])
    for number in range(2):
        fast_world.remembered(
            f"Ferry fact number {number}", user_id="ana", metadata={"links": bridges}
        )
    hits = fast_world.recall_hits("ferry fact", user_id="ana", k=5, hops=3)
    assert [hit["supporting"] for hit in hits] == [[], []]
