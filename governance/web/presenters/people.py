"""Who looks at a page."""

from typing import Any

from django.utils.text import get_text_list

from governance import review
from governance.models import Membership, Role
from governance.web import page


def viewer(membership: Membership, *, waiting: int) -> page.Viewer:
    roles = [role.label.lower() for role in Role if membership.has(role)]
    return page.Viewer(
        name=membership.user.label,
        workspace=membership.workspace.name,
        roles=get_text_list(roles, "and").capitalize(),
        waiting=waiting,
        is_admin=membership.has(Role.ADMIN),
    )


def shell(membership: Membership, here: str) -> dict[str, Any]:
    """What the frame around every page but the queue needs; one query."""
    waiting = review.waiting(membership)
    return {"here": here, "viewer": viewer(membership, waiting=waiting)}


def may_decide(membership: Membership) -> bool:
    """Whether deciding is offered; ``decision.decide`` checks it again."""
    return membership.has(Role.REVIEWER, Role.ADMIN)
