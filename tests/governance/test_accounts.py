"""Logging in and one's own account: lock-out, a new password, the second factor, no sign-up."""

import re
from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from django.core import mail
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import NoReverseMatch, reverse
from pytest_django.fixtures import Settings

from governance.models import AuditRow, Role, User
from tests.browser.chromium import code_now
from tests.permissions import browser
from tests.world import PASSWORD, World, add_person

NEW = "a new and longer phrase"


@pytest.fixture
def _mail(settings: Settings) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(
        update={"email_url": "smtp://mail.example.org", "public_url": "https://m.example.org"}
    )


def log_in(client: Client, person: User, password: str = PASSWORD) -> HttpResponse:
    return client.post("/login", {"login": person.email, "password": password})  # type: ignore[return-value]


def is_in(client: Client) -> bool:
    return client.get("/account").status_code == 200


def second_factor_on(client: Client, person: User) -> list[str]:
    """Turns it on as a person would; the recovery codes."""
    page = client.get("/account/second-factor/add")
    if page.status_code == 302:  # confirm first
        client.post(page["Location"], {"password": PASSWORD})
        page = client.get("/account/second-factor/add")
    secret = re.search(r'id="secret" readonly value="(\w+)"', page.content.decode())
    assert secret, page.content
    code = code_now(secret[1])
    answer = client.post("/account/second-factor/add", {"code": code}, follow=True)
    listed = re.search(r'aria-label="Codes">(.*?)</pre>', answer.content.decode(), re.DOTALL)
    assert listed, answer.content
    return listed[1].split()


def test_five_wrong_passwords_lock_that_address_out_and_no_other(world: World) -> None:
    other = add_person(world.workspace, Role.AUDITOR)
    client = Client()
    answers = [log_in(client, world.reviewer, "wrong") for _ in range(5)]
    assert {answer.status_code for answer in answers} == {200}
    locked = log_in(client, world.reviewer)
    assert "You are not logged in" in locked.content.decode()
    assert "Too many failed login attempts" in locked.content.decode()
    assert not is_in(client)
    assert log_in(Client(REMOTE_ADDR="192.0.2.9"), other).status_code == 302


def test_an_unknown_address_is_answered_like_a_wrong_password(world: World) -> None:
    wrong = log_in(Client(), world.reviewer, "wrong").content.decode()
    unknown = Client().post("/login", {"login": "no@example.com", "password": "wrong"})
    said = re.compile(r'role="alert".*?</div></div>', re.DOTALL)
    assert said.findall(wrong) == said.findall(unknown.content.decode()) != []


def test_a_service_account_never_logs_in(world: World) -> None:
    world.owner.set_password(PASSWORD)
    world.owner.save()
    client = Client()
    assert log_in(client, world.owner)["Location"] == "/login/inactive"
    assert not is_in(client)


def test_an_account_that_is_switched_off_is_told_so(world: World) -> None:
    User.objects.filter(pk=world.reviewer.pk).update(is_active=False)
    client = Client()
    log_in(client, world.reviewer)
    assert not is_in(client)


@pytest.mark.parametrize(
    "elsewhere", ["//evil.example", "https://evil.example/queue", "javascript:1"]
)
def test_the_log_in_leads_to_pages_of_ours_only(world: World, elsewhere: str) -> None:
    form = {"login": world.reviewer.email, "password": PASSWORD, "next": elsewhere}
    assert Client().post("/login", form)["Location"] == "/queue"
    assert Client().post("/login", {**form, "next": "/audit"})["Location"] == "/audit"


def test_nobody_signs_up(world: World) -> None:
    with pytest.raises(NoReverseMatch):
        reverse("account_signup")
    for address in ("/signup", "/accounts/signup/", "/login/signup"):
        assert Client().get(address).status_code == 404


def test_without_a_mail_server_the_page_says_whom_to_ask(world: World) -> None:
    for answer in (
        Client().get("/password/reset"),
        Client().post("/password/reset", {"email": world.reviewer.email}),
    ):
        assert "This server sends no mail" in answer.content.decode()
    assert mail.outbox == []


@pytest.mark.usefixtures("_mail")
def test_a_link_by_mail_sets_a_new_password_once(world: World) -> None:
    client = Client(HTTP_HOST="localhost")
    sent = client.post("/password/reset", {"email": world.reviewer.email.upper()})
    assert sent["Location"] == "/password/reset/sent"
    link = re.search(r"https://m\.example\.org(/password/reset/\S+)", mail.outbox[0].body)
    assert link, "the link leads to the public address, whatever host the request named"
    form = client.get(link[1], follow=True)
    address = form.redirect_chain[-1][0]
    weak = client.post(address, {"password1": "12345678", "password2": "12345678"})
    assert "too common" in weak.content.decode()
    client.post(address, {"password1": NEW, "password2": NEW})
    assert log_in(Client(), world.reviewer, NEW).status_code == 302
    assert log_in(Client(), world.reviewer).status_code == 200
    assert "This link does not work" in Client().get(link[1]).content.decode()
    assert world.actions() == ["account.password_reset"]


@pytest.mark.usefixtures("_mail")
def test_who_asks_for_an_unknown_address_learns_nothing_and_nobody_gets_mail(world: World) -> None:
    for address in ("nobody@example.com", world.owner.email):
        answer = Client().post("/password/reset", {"email": address})
        assert answer["Location"] == "/password/reset/sent"
    assert [message.to for message in mail.outbox] in ([], [[world.owner.email]])


def test_the_command_makes_the_link_where_no_mail_is_sent(world: World) -> None:
    out = StringIO()
    call_command("member", "reset-link", world.reviewer.email, stdout=out, stderr=StringIO())
    path = out.getvalue().strip().removeprefix("http://127.0.0.1:8000")
    client = Client()
    address = client.get(path, follow=True).redirect_chain[-1][0]
    client.post(address, {"password1": NEW, "password2": NEW})
    assert log_in(Client(), world.reviewer, NEW).status_code == 302
    assert world.actions() == ["account.reset_link_made", "account.password_reset"]
    with pytest.raises(CommandError, match="no member"):
        call_command("member", "reset-link", world.owner.email, stdout=StringIO())


def test_a_changed_password_logs_out_everywhere_else(world: World) -> None:
    here, there = Client(), Client()
    for client in (here, there):
        log_in(client, world.reviewer)
    form = {"oldpassword": PASSWORD, "password1": NEW, "password2": NEW}
    assert here.post("/account/password", {**form, "oldpassword": "no"}).status_code == 200
    assert here.post("/account/password", form)["Location"] == "/account"
    assert is_in(here)
    assert not is_in(there)
    row = AuditRow.objects.get()
    assert (row.action, row.actor_id) == ("account.password_changed", str(world.reviewer.pk))


def test_with_the_app_on_a_password_alone_opens_nothing(world: World) -> None:
    client = Client()
    log_in(client, world.reviewer)
    codes = second_factor_on(client, world.reviewer)
    stored = Authenticator.objects.get(user=world.reviewer, type="totp").data["secret"]
    assert len(stored) > 40, "what the app shares is kept sealed"

    again = Client()
    assert log_in(again, world.reviewer)["Location"].startswith("/login/code")
    assert again.get("/queue").status_code == 302
    wrong = again.post("/login/code", {"code": "000000"})
    assert "Incorrect code" in wrong.content.decode()
    assert not is_in(again)
    assert again.post("/login/code", {"code": codes[0]})["Location"] == "/queue"
    assert again.get("/queue").status_code == 200

    third = Client()
    log_in(third, world.reviewer)
    assert third.post("/login/code", {"code": codes[0]}).status_code == 200, "a code works once"
    assert set(world.actions()) == {"account.second_factor_added", "account.recovery_codes_made"}


def test_turning_the_app_off_is_audited(world: World) -> None:
    client = Client()
    log_in(client, world.reviewer)
    second_factor_on(client, world.reviewer)
    client.post("/account/second-factor/remove")
    assert not Authenticator.objects.filter(user=world.reviewer).exists()
    assert world.actions()[-1] == "account.second_factor_removed"


def test_the_command_takes_a_lost_second_factor_off(world: World) -> None:
    client = Client()
    log_in(client, world.reviewer)
    second_factor_on(client, world.reviewer)
    call_command("member", "drop-second-factor", world.reviewer.email, stdout=StringIO())
    assert log_in(Client(), world.reviewer)["Location"] == "/queue"
    assert world.actions()[-1] == "account.second_factor_removed"


@pytest.mark.parametrize(
    "address",
    [
        "/account",
        "/account/password",
        "/account/password/first",
        "/account/confirm",
        "/account/confirm/code",
        "/account/second-factor/add",
        "/account/second-factor/remove",
        "/account/recovery-codes",
        "/account/recovery-codes/new",
        "/account/recovery-codes/file",
    ],
)
def test_ones_own_account_is_for_who_is_logged_in(world: World, address: str) -> None:
    for method in ("get", "post"):
        answer = getattr(Client(), method)(address)
        assert answer.status_code == 302
        assert answer["Location"].startswith("/login?next=")


def test_who_is_in_no_workspace_still_reaches_their_account(world: World) -> None:
    outsider = User.objects.create_user("outsider@example.com", PASSWORD)
    client = browser(outsider)
    assert client.get("/queue").status_code == 403
    assert client.get("/account").status_code == 200
