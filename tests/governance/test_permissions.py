"""Who may do what, for every page, endpoint and socket: one table, and nothing left out of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from django.http import HttpResponse
from django.urls import URLPattern, URLResolver, get_resolver
from ninja import NinjaAPI

from governance import access
from governance.api.api import api
from governance.clock import now_ms
from governance.models import ApiKey, Invitation, Membership, Role, Scope
from governance.web import account_urls
from governance.web.routing import websocket_urlpatterns
from tests.governance.test_pages import staged
from tests.permissions import EVERYBODY, as_whom
from tests.world import World, add_person

Answers = dict[str, int]


def answers(
    nobody: int, no_role: int, reviewer: int, auditor: int, admin: int, elsewhere: int
) -> Answers:
    return dict(zip(EVERYBODY, (nobody, no_role, reviewer, auditor, admin, elsewhere), strict=True))


#: What is nobody's in particular; what every member sees; what admins see of their own workspace.
PUBLIC = answers(200, 200, 200, 200, 200, 200)
LIST = answers(302, 403, 200, 200, 200, 200)
ITEM = answers(302, 403, 200, 200, 200, 404)
ADMIN_LIST = answers(302, 403, 403, 403, 200, 200)
ADMIN_ITEM = answers(302, 403, 403, 403, 200, 404)
ADMIN_CHANGE = answers(302, 403, 403, 403, 303, 404)
ACCOUNT = answers(302, 200, 200, 200, 200, 200)
CONFIRM = answers(302, 302, 302, 302, 302, 302)
NONE_YET = answers(302, 404, 404, 404, 404, 404)
ENTRANCE = answers(200, 302, 302, 302, 302, 302)


@dataclass(frozen=True)
class Row:
    """One line of the table. ``path`` may name things of the world in braces."""

    name: str
    method: str
    path: str
    expected: Answers
    form: dict[str, str] = field(default_factory=dict)


PAGES = (
    Row("queue", "get", "/queue", LIST),
    Row("queue_changes", "get", "/queue/changes?cursor=x", LIST),
    Row("proposal", "get", "/proposals/{review}", ITEM),
    Row(
        "decide",
        "post",
        "/proposals/{review}/decision",
        answers(302, 403, 303, 403, 303, 404),
        {"verdict": "reject", "shown": "{shown}"},
    ),
    Row("memories", "get", "/memories", LIST),
    Row("memory", "get", "/memories/{memory}", ITEM),
    Row("audit", "get", "/audit", LIST),
    Row("audit_row", "get", "/audit/1", ITEM),
    Row(
        "audit_export",
        "post",
        "/audit/export",
        answers(302, 403, 403, 200, 200, 200),
        {"format": "csv"},
    ),
    Row("rules", "get", "/rules", ADMIN_LIST),
    Row("new_rule", "get", "/rules/new", ADMIN_LIST),
    Row("rule", "get", "/rules/{rule}", ADMIN_ITEM),
    Row("switch_rule", "post", "/rules/{rule}/switch", ADMIN_CHANGE, {"seen": "1", "on": "no"}),
    Row("keys", "get", "/keys", ADMIN_LIST),
    Row("new_key", "get", "/keys/new", ADMIN_LIST),
    Row("rotate_key", "post", "/keys/{key}/rotate", ADMIN_ITEM, {"overlap": "1"}),
    Row("revoke_key", "post", "/keys/{key}/revoke", ADMIN_CHANGE),
    Row("limit_key", "post", "/keys/{key}/limit", ADMIN_CHANGE, {"calls_per_minute": "5"}),
    Row("members", "get", "/members", ADMIN_LIST),
    Row("invite", "get", "/members/invite", ADMIN_LIST),
    Row("withdraw_invitation", "post", "/members/invitations/{invitation}/withdraw", ADMIN_CHANGE),
    Row("change_member", "post", "/members/{member}", ADMIN_CHANGE, {"roles": "auditor"}),
    Row("remove_member", "post", "/members/{member}/remove", ADMIN_CHANGE),
    Row("settings", "get", "/settings", ADMIN_LIST),
    Row("invitation", "get", "/invitations/{token}", PUBLIC),
    Row("account_login", "get", "/login", ENTRANCE),
    Row("account_logout", "get", "/logout", answers(302, 200, 200, 200, 200, 200)),
    Row("account_inactive", "get", "/login/inactive", PUBLIC),
    Row("mfa_authenticate", "get", "/login/code", CONFIRM),
    Row("socialaccount_login_error", "get", "/login/failed", dict.fromkeys(EVERYBODY, 401)),
    Row("socialaccount_login_cancelled", "get", "/login/cancelled", PUBLIC),
    Row("openid_connect_login", "get", "/oidc/sso/login", dict.fromkeys(EVERYBODY, 404)),
    Row("openid_connect_callback", "get", "/oidc/sso/callback", dict.fromkeys(EVERYBODY, 404)),
    Row("account_reset_password", "get", "/password/reset", PUBLIC),
    Row("account_reset_password_done", "get", "/password/reset/sent", PUBLIC),
    Row("account_reset_password_from_key", "get", "/password/reset/1-x-y", PUBLIC),
    Row("account_reset_password_from_key_done", "get", "/password/reset/done", PUBLIC),
    Row("account", "get", "/account", ACCOUNT),
    Row("work_in", "post", "/account/workspace", NONE_YET),
    Row("account_change_password", "get", "/account/password", ACCOUNT),
    Row("account_set_password", "get", "/account/password/first", CONFIRM),
    Row("account_reauthenticate", "get", "/account/confirm", ACCOUNT),
    Row("mfa_reauthenticate", "get", "/account/confirm/code", CONFIRM),
    Row("mfa_index", "get", "/account/second-factor", CONFIRM),
    Row("mfa_activate_totp", "get", "/account/second-factor/add", CONFIRM),
    Row(
        "mfa_deactivate_totp",
        "get",
        "/account/second-factor/remove",
        NONE_YET,
    ),
    Row("mfa_view_recovery_codes", "get", "/account/recovery-codes", NONE_YET),
    Row("mfa_generate_recovery_codes", "get", "/account/recovery-codes/new", CONFIRM),
    Row("mfa_download_recovery_codes", "get", "/account/recovery-codes/file", NONE_YET),
)


@pytest.mark.parametrize("row", PAGES, ids=lambda row: row.name)
def test_a_page(fast_world: World, row: Row) -> None:
    world = fast_world
    found = {}
    for number, who in enumerate(EVERYBODY):
        things = _things(world, number)
        client = as_whom(world, who)
        form = {name: text.format_map(things) for name, text in row.form.items()}
        answer: HttpResponse = getattr(client, row.method)(row.path.format_map(things), form)
        found[who] = answer.status_code
    assert found == row.expected


def _things(world: World, number: int) -> dict[str, str]:
    """New ones for everybody who comes: the one before may have changed theirs."""
    review = staged(world, f"waits {number}")
    rule = world.rule("review", source="web")
    rule.versions.create(number=1, effect="review", changed_at_ms=1, changed_by="test")
    token = f"{number}" * 40
    key, _ = access.create_key(
        world.workspace.pk, world.owner, scopes=[Scope.RECALL], agents=None, now_ms=now_ms()
    )
    invitation = Invitation.objects.create(
        workspace=world.workspace,
        email=f"new{number}@example.com",
        roles=["reviewer"],
        digest=_digest(token),
        inviter=world.reviewer,
        created_at_ms=1,
        expires_at_ms=now_ms() + 60_000,
    )
    return {
        "review": review.pk,
        "shown": world.shown(review),
        "memory": review.targets[0]["id"],
        "rule": str(rule.pk),
        "key": key.pk,
        "member": str(add_person(world.workspace, Role.REVIEWER).pk),
        "invitation": invitation.pk,
        "token": token,
    }


def _digest(token: str) -> str:
    from governance.invitations import _digest as digest

    return digest(token)


#: Pages and calls whose permissions have tests of their own.
ELSEWHERE = {
    "admin": "test_admin_site.py",
    "v0": "below",
}
PROBES = {"livez", "readyz", "metrics", "schemas/v0/", "schemas/v0/<path:name>"}


def test_every_address_is_in_a_table() -> None:
    named = {row.name for row in PAGES}
    missing = set()
    for pattern in _patterns(get_resolver().url_patterns):
        if pattern.name and pattern.name not in named:
            missing.add(pattern.name)
    assert missing == set()
    assert {each.name for each in account_urls.urlpatterns} <= named
    assert [str(each.pattern) for each in websocket_urlpatterns] == ["live"], "test_live.py has it"


def _patterns(found: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for each in found:
        if isinstance(each, URLPattern):
            yield each
        elif each.namespace not in ELSEWHERE:
            yield from _patterns(each.url_patterns)


CALLERS = ("no key", "wrong key", "revoked", "no scope", "other agent", "good")
CALLS = {
    "remember": {"type": "semantic", "content": "tea"},
    "recall": {"query": "tea"},
    "forget": {"ids": ["01ARZ3NDEKTSV4RRFFQ69G5FAV"]},
    "merge": {"canonical": "a", "duplicates": ["b"], "strategy": "keep_canonical"},
    "expire": {"policy": {"older_than_days": 1, "action": "archive"}},
}
#: What a good key is told of these bodies: the memories a merge names are not there.
GOOD = {"merge": 404}


@pytest.mark.parametrize("who", CALLERS)
@pytest.mark.parametrize("operation", CALLS)
def test_a_call(world: World, operation: str, who: str) -> None:
    expected = {
        "no key": 401,
        "wrong key": 401,
        "revoked": 401,
        "no scope": 403,
        "other agent": 403,
        "good": GOOD.get(operation, 200),
    }[who]
    headers = {} if who == "no key" else {"Authorization": f"Bearer {_key(world, who, operation)}"}
    body = {"agent_id": "mail", **CALLS[operation]}
    answer = world.client.post(
        f"/v0/{operation}", body, content_type="application/json", headers=headers
    )
    assert answer.status_code == expected, answer.content


@pytest.mark.parametrize(
    ("who", "expected"),
    [("no key", 401), ("wrong key", 401), ("revoked", 401), ("other agent", 404), ("good", 200)],
)
def test_asking_what_became_of_an_operation(world: World, who: str, expected: int) -> None:
    asked = world.remember("tea", agent_id="mail")["Memorywire-Operation"]
    headers = {} if who == "no key" else {"Authorization": f"Bearer {_key(world, who, 'recall')}"}
    assert world.client.get(f"/v0/operations/{asked}", headers=headers).status_code == expected
    stranger = World.create("elsewhere")
    assert stranger.get(f"/v0/operations/{asked}").status_code == 404


def _key(world: World, who: str, operation: str) -> str:
    if who == "wrong key":
        return "mw_0123456789_" + "0" * 48
    scopes = [each for each in Scope if (each.value == operation) is (who != "no scope")]
    key, token = access.create_key(
        world.workspace.pk,
        world.owner,
        scopes=scopes,
        agents=["chat"] if who == "other agent" else ["mail"],
        now_ms=now_ms(),
    )
    if who == "revoked":
        ApiKey.objects.filter(pk=key.pk).update(revoked_at_ms=1)
    return token


def test_every_call_is_in_a_table() -> None:
    paths = set(_paths(api))
    assert paths == {
        *(f"/v0/{name}" for name in CALLS),
        "/v0/health",
        "/v0/operations/{operation_id}",
    }


def _paths(of: NinjaAPI) -> Iterator[str]:
    yield from of.get_openapi_schema()["paths"]


def test_a_role_of_another_workspace_counts_for_nothing_here(world: World) -> None:
    """One person, admin there and auditor here: here they decide nothing."""
    person = add_person(world.workspace, Role.AUDITOR)
    there = World.create("elsewhere").workspace
    Membership.objects.create(workspace=there, user=person, roles=["admin"])
    from tests.permissions import browser

    assert browser(person).get("/keys").status_code == 403
