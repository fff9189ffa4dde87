"""Inviting people: the only mutator of invitations, inside the caller's transaction.

Whoever opens the link proves that they get what is sent to the address. A link is good for seven
days and once; its text is returned by whoever makes it and kept nowhere.
"""

import hashlib
import secrets

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from governance import access, audit, members, walls
from governance.audit import Actor, Cause
from governance.errors import Conflict, FieldError, Invalid, NotAllowed, NotFound
from governance.members import Part
from governance.models import Invitation, Membership, User

LIFE_MS = 7 * 86_400_000
_TOKEN_BYTES = 32
_NAME_MAX = 150


def invite(
    workspace_id: str, inviter: User, email: str, part: Part, *, cause: Cause
) -> tuple[Invitation, str]:
    """A new invitation and the secret part of its link; an older one for the address ends.

    Raises: Invalid (no address, no role, ``Part.checked``), Conflict (they are a member).
    """
    walls.enter(workspace_id)
    checked = _checked(email, part)
    if Membership.objects.filter(workspace_id=workspace_id, user__email__iexact=email).exists():
        raise Conflict(f"{email} is a member already.", code="member_exists")
    for older in _open(workspace_id, now_ms=cause.now_ms, expired_too=True):
        if older.email.casefold() == email.casefold():
            _end(older, "invitation.withdrawn", cause)
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    invitation = Invitation.objects.create(
        workspace_id=workspace_id,
        email=email,
        roles=checked.roles,
        agents=checked.agents,
        digest=_digest(token),
        inviter=inviter,
        created_at_ms=cause.now_ms,
        expires_at_ms=cause.now_ms + LIFE_MS,
    )
    facts = {"member": email, **checked.facts()}
    audit.note(workspace_id, "invitation.made", facts, cause=cause)
    return invitation, token


def open_in(workspace_id: str, *, now_ms: int) -> list[Invitation]:
    """Those that can still be accepted, newest first; one query."""
    return _open(workspace_id, now_ms=now_ms)


def withdraw(workspace_id: str, invitation_id: str, *, cause: Cause) -> None:
    """Stop a link at once. One that has ended stays as it is.

    Raises: NotFound, whether it is missing or another's.
    """
    walls.enter(workspace_id)
    invitation = Invitation.objects.filter(workspace_id=workspace_id, pk=invitation_id).first()
    if invitation is None:
        raise NotFound("There is no such invitation.")
    if invitation.ended_at_ms is None:
        _end(invitation, "invitation.withdrawn", cause)


def access_invitation(token: str, *, now_ms: int) -> Invitation:
    """The invitation behind a link; one query.

    Raises: NotFound, the same for every reason.
    """
    found = Invitation.objects.filter(
        digest=_digest(token), ended_at_ms__isnull=True, expires_at_ms__gt=now_ms
    )
    invitation = found.select_related("workspace", "inviter").first()
    if invitation is None:
        raise NotFound("This invitation is over, was withdrawn, or the link was cut short.")
    return invitation


def account_of(invitation: Invitation) -> User | None:
    """The account that has the address already."""
    return User.objects.filter(email__iexact=invitation.email).first()


def accept_as(token: str, user: User, *, now_ms: int, request_id: str) -> None:
    """Let in the account that has the address and is logged in.

    Raises: NotFound, NotAllowed (another account), Conflict (they are a member).
    """
    invitation = _entered(token, now_ms=now_ms)
    if user.email.casefold() != invitation.email.casefold():
        raise NotAllowed("This invitation is for another address.", code="other_address")
    _let_in(invitation, user, _by(user, now_ms, request_id))


def accept_anew(token: str, *, name: str, password: str, now_ms: int, request_id: str) -> User:
    """Make the account that the invitation is for, and let it in.

    Raises: NotFound, Conflict (there is one), Invalid (name or password).
    """
    invitation = _entered(token, now_ms=now_ms)
    if account_of(invitation) is not None:
        raise Conflict("There is an account with this address: log in with it.")
    user = User(email=User.objects.normalize_email(invitation.email), name=name)
    _check_account(user, password)
    user.set_password(password)
    user.save()
    _let_in(invitation, user, _by(user, now_ms, request_id))
    return user


def _by(user: User, now_ms: int, request_id: str) -> Cause:
    return Cause(actor=Actor.person(user), now_ms=now_ms, request_id=request_id)


def _entered(token: str, *, now_ms: int) -> Invitation:
    """The invitation, with its workspace's wall around what follows."""
    walls.enter(access_invitation(token, now_ms=now_ms).workspace_id)
    return access_invitation(token, now_ms=now_ms)  # again: entering may have waited


def _let_in(invitation: Invitation, user: User, cause: Cause) -> None:
    part = Part(roles=invitation.roles, agents=invitation.agents)
    members.add(invitation.workspace_id, user, part, cause=cause)
    access.work_in(user, invitation.workspace_id)
    _end(invitation, "invitation.accepted", cause)


def _end(invitation: Invitation, action: str, cause: Cause) -> None:
    invitation.ended_at_ms = cause.now_ms
    invitation.save(update_fields=["ended_at_ms"])
    audit.note(invitation.workspace_id, action, {"member": invitation.email}, cause=cause)


def _open(workspace_id: str, *, now_ms: int, expired_too: bool = False) -> list[Invitation]:
    found = Invitation.objects.filter(workspace_id=workspace_id, ended_at_ms__isnull=True)
    if not expired_too:
        found = found.filter(expires_at_ms__gt=now_ms)
    return list(found.select_related("inviter").order_by("-created_at_ms", "-pk"))


def _checked(email: str, part: Part) -> Part:
    problems = []
    try:
        validate_email(email)
    except ValidationError:
        problems.append(_problem("email", "This is no e-mail address."))
    if not part.roles:
        problems.append(_problem("roles", "Choose at least one role."))
    if problems:
        raise Invalid(" ".join(each.message for each in problems), errors=tuple(problems))
    return part.checked()


def _check_account(user: User, password: str) -> None:
    problems = []
    if not user.name.strip() or len(user.name) > _NAME_MAX:
        problems.append(_problem("name", f"A name has 1 to {_NAME_MAX} characters."))
    try:
        validate_password(password, user)
    except ValidationError as error:
        problems.append(_problem("password", " ".join(error.messages)))
    if problems:
        raise Invalid(" ".join(each.message for each in problems), errors=tuple(problems))


def _problem(field: str, message: str) -> FieldError:
    return FieldError(field=field, code="invitation_invalid", message=message)


def _digest(token: str) -> str:
    # A plain hash is enough: the token is random, there is nothing to guess.
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
