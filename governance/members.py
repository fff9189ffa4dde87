"""The members of a workspace and their roles: the only mutator, inside the caller's transaction.

The command ``member`` and the page /members both come here.
"""

from collections.abc import Iterable, Sequence

from governance import audit, walls
from governance.audit import Cause
from governance.errors import Conflict, FieldError, Invalid, NotFound
from governance.models import Membership, Role, User


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


def add(workspace_id: str, user: User, roles: Sequence[str], *, cause: Cause) -> None:
    """Make a person a member.

    Raises: Invalid (a role there is not).
    """
    walls.enter(workspace_id)
    known = _check_roles(roles)
    Membership.objects.create(workspace_id=workspace_id, user=user, roles=known)
    _note(workspace_id, "member.added", user, cause, roles=known)


def change_roles(workspace_id: str, user_id: int, roles: Sequence[str], *, cause: Cause) -> None:
    """Give a member these roles and no others; none: they keep their account and see nothing.

    Raises: NotFound, Invalid (a role there is not), Conflict (the last admin).
    """
    walls.enter(workspace_id)
    member = access_member(workspace_id, user_id)
    known, before = _check_roles(roles), member.roles
    if Role.ADMIN not in known:
        _check_not_the_last_admin(member)
    if known == before:
        return
    member.roles = known
    member.save(update_fields=["roles"])
    _note(workspace_id, "member.changed", member.user, cause, roles=known, before=before)


def remove(workspace_id: str, user_id: int, *, cause: Cause) -> None:
    """Take a person out of a workspace. Keys they own stay good until they are revoked.

    Raises: NotFound, Conflict (the last admin).
    """
    walls.enter(workspace_id)
    member = access_member(workspace_id, user_id)
    _check_not_the_last_admin(member)
    _note(workspace_id, "member.removed", member.user, cause, before=member.roles)
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


def _note(workspace_id: str, action: str, user: User, cause: Cause, **facts: list[str]) -> None:
    audit.note(workspace_id, action, {"member": user.email, **facts}, cause=cause)
