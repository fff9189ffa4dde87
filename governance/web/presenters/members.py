"""The members of a workspace and what each may do."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.text import get_text_list

from governance import invitations, keys, members
from governance.clock import now_ms
from governance.models import Membership, Role
from governance.web.presenters.reading import moment

#: What each role lets a person do, to follow on its name.
_MEANINGS = {
    Role.REVIEWER: "decides proposals",
    Role.ADMIN: "decides, and keeps rules, keys and members",
    Role.AUDITOR: "takes the audit log along",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleChoice:
    """A role a member has, or could have."""

    value: str
    label: str
    meaning: str
    is_held: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRow:
    """One person as the list shows them."""

    user_id: int
    name: str
    email: str
    roles: tuple[RoleChoice, ...]
    agents: str
    """Those they are kept to, one a line; empty: every agent."""
    keys: int
    """Valid keys they answer for."""
    is_viewer: bool
    is_active: bool

    @property
    def has_none(self) -> bool:
        return not any(role.is_held for role in self.roles)


def listed(viewer: Membership) -> list[MemberRow]:
    """Every person in the viewer's workspace; two queries."""
    owned = Counter(key.owner_id for key in keys.valid(viewer.workspace_id, now_ms=now_ms()))
    return [
        MemberRow(
            user_id=member.user_id,
            name=member.user.label,
            email=member.user.email,
            roles=tuple(_choice(role, member) for role in Role),
            agents="\n".join(member.agents or ()),
            keys=owned[member.user_id],
            is_viewer=member.user_id == viewer.user_id,
            is_active=member.user.is_active,
        )
        for member in members.of_workspace(viewer.workspace_id)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationRow:
    """One invitation that can still be accepted."""

    invitation_id: str
    email: str
    roles: str
    agents: tuple[str, ...]
    inviter: str
    expires_at: datetime


def invited(workspace_id: str, *, now_ms: int) -> list[InvitationRow]:
    """Whom an answer is awaited from; one query."""
    return [
        InvitationRow(
            invitation_id=each.pk,
            email=each.email,
            roles=get_text_list(each.roles, "and"),
            agents=tuple(each.agents or ()),
            inviter=each.inviter.label,
            expires_at=moment(each.expires_at_ms),
        )
        for each in invitations.open_in(workspace_id, now_ms=now_ms)
    ]


def invitation_form(request_post: Mapping[str, str], roles: Sequence[str]) -> dict[str, Any]:
    """The form that invites, filled with what was typed."""
    return {
        "email": request_post.get("email", ""),
        "agents": request_post.get("agents", ""),
        "roles": tuple(
            RoleChoice(
                value=role.value,
                label=role.label,
                meaning=_MEANINGS[role],
                is_held=role.value in roles,
            )
            for role in Role
        ),
    }


def _choice(role: Role, member: Membership) -> RoleChoice:
    return RoleChoice(
        value=role.value, label=role.label, meaning=_MEANINGS[role], is_held=member.has(role)
    )
