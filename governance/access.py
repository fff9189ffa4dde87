"""Who may see and do what: the only way to a workspace's rows.

``check_*`` may refuse, ``access_*`` returns only what the caller may see.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.text import slugify

from governance import walls
from governance.errors import NotAllowed, NotAuthenticated, NotFound
from governance.models import (
    ApiKey,
    AuditHead,
    Membership,
    Operation,
    Review,
    Role,
    Scope,
    User,
    Workspace,
)
from governance.sealing import new_workspace_key

_PREFIX_BYTES = 5
_SECRET_BYTES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """What a valid key stands for."""

    key_id: str
    key_label: str
    workspace_id: str
    owner_id: int
    agents: frozenset[str] | None
    """Agents the key is good for; None: every agent of the workspace."""
    scopes: frozenset[str]
    calls_per_minute: int | None
    """How often it may call; None: as often as the setting says. 0: as often as it likes."""

    def is_good_for(self, agent_id: str) -> bool:
        return self.agents is None or agent_id in self.agents


def authenticate(token: str, *, now_ms: int) -> Principal:
    """The principal of a bearer token; one query.

    Raises: NotAuthenticated, the same for every reason, so that keys cannot be probed.
    """
    marker, _, rest = token.partition("_")
    prefix, _, _ = rest.partition("_")
    key = (
        ApiKey.objects.filter(prefix=prefix, owner__is_active=True).first()
        if marker == "mw" and prefix
        else None
    )
    # Compared even when there is no such key, so that both take the same time.
    matches = hmac.compare_digest(key.digest if key else "-", _digest(token))
    if key is None or not matches or not key.is_valid(now_ms=now_ms):
        raise NotAuthenticated
    return Principal(
        key_id=key.pk,
        key_label=str(key),
        workspace_id=key.workspace_id,
        owner_id=key.owner_id,
        agents=None if key.agents is None else frozenset(key.agents),
        scopes=frozenset(key.scopes),
        calls_per_minute=key.calls_per_minute,
    )


def check_may(principal: Principal, scope: Scope, agent_id: str) -> None:
    """Raises: NotAllowed, naming what is missing, if the key is not good for this."""
    if scope.value not in principal.scopes:
        raise NotAllowed(
            f"This key may not {scope.value}, only {', '.join(sorted(principal.scopes))}.",
            code="scope_missing",
        )
    if not principal.is_good_for(agent_id):
        raise NotAllowed("This key is not good for this agent.", code="agent_not_allowed")


def access_operation(principal: Principal, operation_id: str) -> Operation:
    """An operation of the key's workspace and agents.

    Raises: NotFound, whether it is missing or another's.
    """
    operation = (
        Operation.objects.filter(workspace_id=principal.workspace_id, pk=operation_id)
        .select_related("review")
        .first()
    )
    if operation is None or not principal.is_good_for(operation.agent_id):
        raise NotFound("There is no such operation.")
    return operation


def membership_of(user: User) -> Membership:
    """The workspace a person works in, with their roles.

    Raises: NotAllowed if they are a member of none.
    """
    theirs = memberships_of(user)
    if not theirs:
        raise NotAllowed("You are not a member of any workspace.", code="no_workspace")
    current = (each for each in theirs if each.workspace_id == each.user.current_workspace_id)
    return next(current, theirs[0])


def memberships_of(user: User) -> list[Membership]:
    """Every workspace a person is in, the first they came into first; one query."""
    found = Membership.objects.filter(user=user, user__is_active=True)
    return list(found.select_related("workspace", "user").order_by("pk"))


def work_in(user: User, workspace_id: str) -> None:
    """Let a person see the pages of another of their workspaces from now on.

    Raises: NotFound if they are no member of it.
    """
    if workspace_id not in {each.workspace_id for each in memberships_of(user)}:
        raise NotFound("There is no such workspace.")
    User.objects.filter(pk=user.pk).update(current_workspace=workspace_id)


def enter(user: User) -> Membership:
    """``membership_of``, with its workspace's wall around what is done from here on.

    Raises: NotAllowed.
    """
    membership = membership_of(user)
    walls.enter(membership.workspace_id)
    if walls.may_have_waited():
        membership = membership_of(user)  # a role withdrawn meanwhile no longer counts
    return membership


def check_role(membership: Membership, *roles: Role) -> None:
    """Raises: NotAllowed unless the member has one of the roles."""
    if not membership.has(*roles):
        wanted = " or ".join(role.value for role in roles)
        raise NotAllowed(f"This needs the role {wanted}.", code="role_missing")


def access_review(membership: Membership, review_id: str) -> Review:
    """A review of the member's workspace and agents, with its operation.

    Raises: NotFound, whether it is missing or another's.
    """
    review = (
        Review.objects.filter(workspace_id=membership.workspace_id, pk=review_id)
        .select_related("operation__api_key", "operation__proposer", "operation__seal_key")
        .first()
    )
    if review is None or not membership.sees(review.operation.agent_id):
        raise NotFound("There is no such proposal.")
    return review


def create_workspace(*, slug: str, name: str, now_ms: int) -> Workspace:
    """A new, empty workspace with a key of its own and an empty audit log."""
    workspace = Workspace.objects.create(
        slug=slug, name=name, wrapped_key=new_workspace_key(), created_at_ms=now_ms
    )
    AuditHead.objects.create(workspace=workspace)
    return workspace


def create_service_account(workspace: Workspace, name: str) -> User:
    """An account that owns keys in a workspace and can never log in."""
    # .invalid is reserved: the address can belong to nobody.
    address = f"{slugify(name) or 'service'}.{secrets.token_hex(4)}@service.invalid"
    account = User.objects.create_user(address, None, name=name, is_service=True)
    Membership.objects.create(workspace=workspace, user=account, roles=[])
    return account


def create_key(
    workspace_id: str,
    owner: User,
    *,
    scopes: Sequence[Scope],
    agents: Sequence[str] | None,
    now_ms: int,
    name: str = "",
    expires_at_ms: int | None = None,
    calls_per_minute: int | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its text, which is kept nowhere and so can be shown only now."""
    prefix = secrets.token_hex(_PREFIX_BYTES)
    token = f"mw_{prefix}_{secrets.token_hex(_SECRET_BYTES)}"
    key = ApiKey.objects.create(
        workspace_id=workspace_id,
        owner=owner,
        name=name,
        prefix=prefix,
        digest=_digest(token),
        agents=None if agents is None else list(agents),
        scopes=[scope.value for scope in scopes],
        created_at_ms=now_ms,
        expires_at_ms=expires_at_ms,
        calls_per_minute=calls_per_minute,
    )
    return key, token


def _digest(token: str) -> str:
    # A plain hash is enough: the token is random, there is nothing to guess.
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
