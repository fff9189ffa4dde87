"""The members of a workspace and what each may do."""

from dataclasses import dataclass

from governance import members
from governance.models import Membership, Role

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
    is_viewer: bool
    is_active: bool

    @property
    def has_none(self) -> bool:
        return not any(role.is_held for role in self.roles)


def listed(viewer: Membership) -> list[MemberRow]:
    """Every person in the viewer's workspace; one query."""
    return [
        MemberRow(
            user_id=member.user_id,
            name=member.user.label,
            email=member.user.email,
            roles=tuple(_choice(role, member) for role in Role),
            is_viewer=member.user_id == viewer.user_id,
            is_active=member.user.is_active,
        )
        for member in members.of_workspace(viewer.workspace_id)
    ]


def _choice(role: Role, member: Membership) -> RoleChoice:
    return RoleChoice(
        value=role.value, label=role.label, meaning=_MEANINGS[role], is_held=member.has(role)
    )
