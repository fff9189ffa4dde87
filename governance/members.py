"""The members of a workspace and their roles: the only mutator, inside the caller's transaction.

The command ``member`` and the page /members both come here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from governance import audit, walls
from governance.audit import Cause
from governance.errors import Conflict, FieldError, Invalid, NotFound
from governance.models import Membership, Role, User
from stores.wire import limits


def of_workspace(workspace_id: str) -> list[Membership]:
    """Every person in a workspace, without its service accounts; one query."""
    people = Membership.objects.filter(workspace_id=workspace_id, user__is_service=False)
    return list(people.select_related("user").order_by("user__name", "user__email"))


def access_member(workspace_id: str, user_id: int) -> Membership:
    """One person in a workspace.

    Raises: NotFound, whether they are missing, another's or no person.
    """
    for member in of_workspace(workspace_id):
        if member.user_id == user_id:
            return member
    raise NotFound("There is no such member.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a person may do in a workspace. ``agents`` None: as to every agent."""

    roles: Sequence[str]
    agents: Sequence[str] | None = None

    def checked(self) -> "Part":
        """The same, its roles in their own order.

        Raises: Invalid (a role there is not, agents where more than reviewing is allowed).
        """
        part = Part(roles=_check_roles(self.roles), agents=self.agents)
        if part.agents is not None:
            _check_agents(part)
        return part

    def facts(self) -> dict[str, Any]:
        """For the audit log."""
        limited = {} if self.agents is None else {"agents": list(self.agents)}
        return {"roles": list(self.roles), **limited}


def add(workspace_id: str, user: User, part: Part, *, cause: Cause) -> None:
    """Make a person a member.

    Raises: Invalid (``Part.checked``), Conflict (they are one).
    """
    walls.enter(workspace_id)
    checked = part.checked()
    if Membership.objects.filter(workspace_id=workspace_id, user=user).exists():
        raise Conflict("They are a member already.", code="member_exists")
    Membership.objects.create(
        workspace_id=workspace_id, user=user, roles=checked.roles, agents=checked.agents
    )
    _note(workspace_id, "member.added", user, cause, **checked.facts())


def change(workspace_id: str, user_id: int, part: Part, *, cause: Cause) -> None:
    """Give a member this part and no other; no role: they keep their account and see nothing.

    Raises: NotFound, Invalid (``Part.checked``), Conflict (the last admin).
    """
    walls.enter(workspace_id)
    member = access_member(workspace_id, user_id)
    after, before = part.checked(), Part(roles=member.roles, agents=member.agents)
    if Role.ADMIN not in after.roles:
        _check_not_the_last_admin(member)
    if after == before:
        return
    member.roles, member.agents = after.roles, after.agents
    member.save(update_fields=["roles", "agents"])
    told = {**after.facts(), "before": before.facts()}
    _note(workspace_id, "member.changed", member.user, cause, **told)


def remove(workspace_id: str, user_id: int, *, cause: Cause) -> None:
    """Take a person out of a workspace. Keys they own stay good until they are revoked.

    Raises: NotFound, Conflict (the last admin).
    """
    walls.enter(workspace_id)
    member = access_member(workspace_id, user_id)
    _check_not_the_last_admin(member)
    before = Part(roles=member.roles, agents=member.agents).facts()
    _note(workspace_id, "member.removed", member.user, cause, before=before)
    member.delete()


def workspaces_of(user: User) -> list[str]:
    """The ids of the workspaces a person is in."""
    return list(Membership.objects.filter(user=user).values_list("workspace_id", flat=True))


def note_account(workspace_id: str, user: User, action: str, *, cause: Cause) -> None:
    """Note what a member changed about their account."""
    walls.enter(workspace_id)
    _note(workspace_id, action, user, cause)


def _check_roles(roles: Iterable[str]) -> list[str]:
    """The roles in their own order, each once."""
    asked = set(roles)
    if unknown := asked - set(Role.values):
        message = f"Unknown: {', '.join(sorted(unknown))}. The roles are {', '.join(Role.values)}."
        problem = FieldError(field="roles", code="role_unknown", message=message)
        raise Invalid(message, errors=(problem,))
    return [role.value for role in Role if role.value in asked]


def _check_agents(part: Part) -> None:
    agents = part.agents or ()
    message = ""
    if list(part.roles) != [Role.REVIEWER]:
        message = "Only who reviews, and nothing more, can be kept to some agents."
    elif not agents or max(map(len, agents)) > limits.AGENT_ID_MAX:
        message = f"Name at least one agent, each of up to {limits.AGENT_ID_MAX} characters."
    if message:
        problem = FieldError(field="agents", code="agents_invalid", message=message)
        raise Invalid(message, errors=(problem,))


def _check_not_the_last_admin(member: Membership) -> None:
    # On a database with many writers the rows are locked, so that two admins cannot both leave.
    everybody = Membership.objects.select_for_update().filter(
        workspace_id=member.workspace_id, user__is_active=True, user__is_service=False
    )
    admins = [each.pk for each in everybody if each.has(Role.ADMIN)]
    if admins == [member.pk]:
        raise Conflict(
            "The last admin of a workspace stays one: make somebody else admin first.",
            code="last_admin",
        )


def _note(workspace_id: str, action: str, user: User, cause: Cause, **facts: Any) -> None:
    audit.note(workspace_id, action, {"member": user.email, **facts}, cause=cause)
