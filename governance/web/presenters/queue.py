"""The queue: the same few queries however long it is."""

from itertools import groupby

from governance import audit, review
from governance.models import Membership, Memory
from governance.screening import FlagCode
from governance.web import page
from governance.web.page import Order
from governance.web.presenters.reading import Reading, moment

_LISTED_MAX = 200


def queue(membership: Membership) -> page.Queue:
    """What waits, by risk and then by age."""
    # Read first: what changes meanwhile is then announced once too often rather than never.
    cursor = audit.head(membership.workspace_id)
    reviews = review.queue(membership, limit=_LISTED_MAX)
    firsts = Memory.objects.in_bulk([item.targets[0]["id"] for item in reviews if item.targets])
    readings = [
        Reading(item, firsts.get(item.targets[0]["id"]) if item.targets else None)
        for item in reviews
    ]
    rows = map(_row, readings)
    return page.Queue(
        cursor=cursor,
        waiting=review.waiting(membership),
        groups=tuple(
            page.QueueGroup(risk=risk, rows=tuple(group))
            for risk, group in groupby(rows, key=lambda row: row.risk)
        ),
    )


def next_after(listed: page.Queue, place: Order) -> str | None:
    """The review that follows a place in the queue; after its end the first one."""
    later = [row for row in listed.rows if row.order > place]
    return next((row.review_id for row in later or listed.rows), None)


def _row(reading: Reading) -> page.QueueRow:
    return page.QueueRow(
        review_id=reading.review.pk,
        title=reading.short_title,
        excerpt=reading.first.content if reading.first else "",
        agent_id=reading.review.operation.agent_id,
        why=_why(reading),
        proposed_at=moment(reading.review.created_at_ms),
        risk=reading.risk,
    )


_REASONS = {
    "rule": "stopped by a rule",
    "agent": "asked by the agent",
    "many": "takes many memories",
}

_FLAGS = {
    FlagCode.HIDDEN_TEXT: "hidden text",
    FlagCode.LOOK_ALIKE: "look-alike letters",
    FlagCode.SECRET: "a password or key",
    FlagCode.OVERSIZE: "very long",
}


def _why(reading: Reading) -> str:
    """The first reason in a few words, and how many more there are."""
    reasons = [
        *(["erases for good"] if reading.is_for_good else []),
        *(words for code, words in _FLAGS.items() if code in reading.review.flags),
        *(_REASONS.get(reason["kind"], "waits for a person") for reason in reading.review.reasons),
    ]
    more = f" and {len(reasons) - 1} more" if len(reasons) > 1 else ""
    return reasons[0] + more if reasons else "waits for a person"
