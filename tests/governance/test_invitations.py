"""Inviting people: the link works once, for seven days, and for one address."""

import re
from typing import Any

import pytest
from django.core import mail
from django.http import HttpResponse
from django.test import Client
from pytest_django.fixtures import Settings

from governance.models import Invitation, Membership, Role, User
from tests.permissions import ADMINS_ONLY, EVERYBODY, as_whom, browser
from tests.world import PASSWORD, World, add_person

NEW = "new@example.com"
FORM = {"name": "Noor", "password": "a new and longer phrase"}


@pytest.fixture
def admin(world: World) -> Client:
    return browser(add_person(world.workspace, Role.ADMIN))


def invite(admin: Client, email: str = NEW, **said: Any) -> HttpResponse:
    form = {"email": email, "roles": ["reviewer"], **said}
    return admin.post("/members/invite", form)  # type: ignore[return-value]


def link_on(answer: HttpResponse) -> str:
    found = re.search(
        r'id="link"[^>]* value="http://127\.0\.0\.1:8000([^"]+)"', answer.content.decode()
    )
    assert found, answer.content
    return found[1]


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize(
    ("method", "path", "differs"),
    [
        ("get", "/members/invite", {"admin elsewhere": 200}),
        ("post", "/members/invite", {"admin elsewhere": 200}),
        ("post", "/members/invitations/{invitation}/withdraw", {"admin": 303}),
        ("get", "/members/invitations/{invitation}/withdraw", dict.fromkeys(EVERYBODY, 405)),
    ],
)
def test_who_may(
    world: World, admin: Client, method: str, path: str, differs: dict[str, int], who: str
) -> None:
    invite(admin, "first@example.com")
    address = path.format(invitation=Invitation.objects.get().pk)
    answer = getattr(as_whom(world, who), method)(address, {"email": NEW, "roles": "auditor"})
    assert answer.status_code == {**ADMINS_ONLY, **differs}[who]


def test_a_link_makes_the_account_and_lets_it_in_once(world: World, admin: Client) -> None:
    link = link_on(invite(admin, roles=["reviewer", "auditor"]))
    theirs = Client()
    page = theirs.get(link)
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    assert "as reviewer and auditor" in page.content.decode()
    assert theirs.post(link, FORM)["Location"] == "/queue"
    assert theirs.get("/queue").status_code == 200
    person = User.objects.get(email=NEW)
    assert (person.name, person.check_password(FORM["password"])) == ("Noor", True)
    assert Membership.objects.get(user=person).roles == ["reviewer", "auditor"]
    assert Client().get(link).status_code == 404
    assert Client().post(link, FORM).status_code == 404
    assert world.actions() == ["invitation.made", "member.added", "invitation.accepted"]
    assert world.findings() == []


def test_the_link_itself_is_kept_nowhere(world: World, admin: Client) -> None:
    token = link_on(invite(admin)).rsplit("/", 1)[1]
    row = Invitation.objects.get()
    assert token not in str(vars(row))
    assert token not in admin.get("/members").content.decode()


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"name": "Noor", "password": "short"}, "too short"),
        ({"name": "Noor", "password": "password1"}, "too common"),
        ({"name": " ", "password": FORM["password"]}, "A name has"),
        ({"name": "x" * 151, "password": FORM["password"]}, "A name has"),
    ],
)
def test_a_form_that_is_wrong_makes_no_account(
    world: World, admin: Client, form: dict[str, str], said: str
) -> None:
    link = link_on(invite(admin))
    answer = Client().post(link, form)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not User.objects.filter(email=NEW).exists()
    assert Client().post(link, FORM).status_code == 303, "the link is not used up"


def test_an_account_that_exists_logs_in_and_goes_over(world: World, admin: Client) -> None:
    elsewhere = World.create("elsewhere")
    person = elsewhere.reviewer
    link = link_on(invite(admin, person.email.upper()))
    assert "This address has an account" in Client().get(link).content.decode()
    assert Client().post(link, FORM).status_code == 409, (
        "no second account, no password overwritten"
    )
    theirs = Client()
    theirs.post("/login", {"login": person.email, "password": PASSWORD})
    assert theirs.post(link)["Location"] == "/queue"
    assert world.workspace.name in theirs.get("/queue").content.decode()
    theirs.post("/account/workspace", {"workspace": elsewhere.workspace.pk})
    assert elsewhere.workspace.name in theirs.get("/queue").content.decode()


def test_nobody_goes_over_to_a_workspace_they_are_not_in(world: World) -> None:
    elsewhere = World.create("elsewhere")
    theirs = browser(world.reviewer)
    answer = theirs.post("/account/workspace", {"workspace": elsewhere.workspace.pk})
    assert answer.status_code == 404
    assert world.workspace.name in theirs.get("/queue").content.decode()
    assert Client().post("/account/workspace").status_code == 302


def test_another_account_cannot_take_it(world: World, admin: Client) -> None:
    link = link_on(invite(admin))
    theirs = browser(World.create("elsewhere").reviewer)
    assert "You are logged in as" in theirs.get(link).content.decode()
    assert theirs.post(link, FORM).status_code == 403
    assert Client().get(link).status_code == 200, "and it is not used up"


def test_a_newer_invitation_ends_the_older(world: World, admin: Client) -> None:
    first, second = (link_on(invite(admin, address)) for address in (NEW, NEW.upper()))
    assert [Client().get(link).status_code for link in (first, second)] == [404, 200]


def test_one_that_is_withdrawn_or_a_week_old_lets_nobody_in(world: World, admin: Client) -> None:
    links = [link_on(invite(admin, f"{number}@example.com")) for number in range(2)]
    withdrawn, expired = Invitation.objects.order_by("created_at_ms", "pk")
    admin.post(f"/members/invitations/{withdrawn.pk}/withdraw")
    Invitation.objects.filter(pk=expired.pk).update(expires_at_ms=1)
    for link in [*links, "/invitations/nothing", "/invitations/%F0%9F%92%A9"]:
        assert Client().get(link).status_code == 404
        assert Client().post(link, FORM).status_code == 404
    assert "0@example.com" not in admin.get("/members").content.decode()
    assert invite(admin, "1@example.com").status_code == 200, "who is late is invited again"


@pytest.mark.parametrize(
    ("said", "field"),
    [
        ({"email": "nobody"}, "This is no e-mail address"),
        ({"roles": []}, "Choose at least one role"),
        ({"roles": ["king"]}, "Unknown: king"),
        ({"roles": ["admin"], "agents": "mail"}, "kept to some agents"),
        ({"agents": "x" * 257}, "up to 256"),
    ],
)
def test_an_invitation_that_makes_no_sense_is_shown_again(
    world: World, admin: Client, said: dict[str, Any], field: str
) -> None:
    answer = invite(admin, **said)
    assert answer.status_code == 422
    assert field in answer.content.decode()
    assert not Invitation.objects.exists()


def test_a_member_is_not_invited(world: World, admin: Client) -> None:
    answer = invite(admin, world.reviewer.email.upper())
    assert answer.status_code == 409
    assert "a member already" in answer.content.decode()


def test_where_mail_is_sent_the_link_goes_by_mail(
    world: World, admin: Client, settings: Settings
) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(
        update={"email_url": "smtp://mail.example.org"}
    )
    link = link_on(invite(admin))
    (message,) = mail.outbox
    assert message.to == [NEW]
    assert link in message.body


def test_a_mail_server_that_is_away_costs_nothing_but_the_mail(
    world: World, admin: Client, settings: Settings
) -> None:
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(
        update={"email_url": "smtp+plain://127.0.0.1:1"}
    )
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    assert Client().get(link_on(invite(admin))).status_code == 200
