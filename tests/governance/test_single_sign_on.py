"""Log-in by OpenID Connect: off until configured, and for accounts that exist here."""

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.http import HttpResponse
from django.test import Client
from pydantic import ValidationError
from pytest_django.fixtures import Settings

from governance import sealing
from governance.models import User
from memorywire_site import log_in
from memorywire_site.environment import Environment
from tests import oidc_provider
from tests.oidc_provider import Provider
from tests.world import World


def configure(settings: Settings, address: str) -> None:
    configured = Environment(
        oidc_url=address,
        oidc_client_id=oidc_provider.CLIENT_ID,
        oidc_client_secret=oidc_provider.CLIENT_SECRET,
        oidc_name="Acme",
    )
    named = "SOCIALACCOUNT_PROVIDERS"
    setattr(settings, named, log_in.settings_of(configured)[named])


@pytest.fixture
def provider(settings: Settings) -> Iterator[Provider]:
    with oidc_provider.running() as running:
        configure(settings, running.address)
        yield running


def come_back(client: Client, provider: Provider, **claims: object) -> HttpResponse:
    """Log in at the provider, who says this of the person, and come back."""
    provider.claims = {"sub": "p1", **claims}
    away = client.get("/oidc/sso/login")
    asked = parse_qs(urlsplit(away["Location"]).query)
    assert away["Location"].startswith(f"{provider.address}/authorize?")
    assert asked["code_challenge_method"] == ["S256"]
    back = {"code": "c", "state": asked["state"][0]}
    return client.get("/oidc/sso/callback", back)  # type: ignore[return-value]


def test_it_is_off_until_configured(world: World) -> None:
    assert "Log in with" not in Client().get("/login").content.decode()
    for path in ("/oidc/sso/login", "/oidc/sso/callback", "/oidc/other/login"):
        assert Client().get(path).status_code == 404


@pytest.mark.parametrize("missing", ["oidc_url", "oidc_client_id", "oidc_client_secret"])
def test_half_a_configuration_stops_the_start(missing: str) -> None:
    parts = {"oidc_url": "https://x.example", "oidc_client_id": "a", "oidc_client_secret": "b"}
    with pytest.raises(ValidationError, match="go together"):
        Environment(**{**parts, missing: ""})


def test_a_person_with_an_account_is_found_by_a_verified_address(
    world: World, provider: Provider
) -> None:
    assert "Log in with Acme" in Client().get("/login").content.decode()
    person, client = world.reviewer, Client()
    came = come_back(client, provider, email=person.email.upper(), email_verified=True)
    assert (came.status_code, came["Location"]) == (302, "/queue")
    assert client.get("/queue").status_code == 200
    assert provider.tokens[0]["code_verifier"]
    person.refresh_from_db()
    assert person.has_usable_password(), "the password they had still works"

    # From now on the provider's own number counts, whatever address it names.
    later = Client()
    assert come_back(later, provider, email="moved@example.com")["Location"] == "/queue"
    assert later.get("/account").content.decode().count(person.email) == 1


@pytest.mark.parametrize("verified", [False, None, "false", 0])
def test_an_address_the_provider_does_not_vouch_for_opens_nothing(
    world: World, provider: Provider, verified: object
) -> None:
    client = Client()
    came = come_back(client, provider, email=world.reviewer.email, email_verified=verified)
    assert "There is no account for you yet" in came.content.decode()
    assert client.get("/account").status_code == 302
    assert not SocialAccount.objects.exists()


def test_nobody_gets_an_account_by_logging_in(world: World, provider: Provider) -> None:
    people = User.objects.count()
    came = come_back(Client(), provider, email="new@example.com", email_verified=True)
    assert "an administrator of a workspace sends an invitation" in came.content.decode()
    assert User.objects.count() == people


def test_a_service_account_or_one_switched_off_is_not_found(
    world: World, provider: Provider
) -> None:
    User.objects.filter(pk=world.reviewer.pk).update(is_active=False)
    for person in (world.owner, world.reviewer):
        client = Client()
        come_back(client, provider, email=person.email, email_verified=True)
        assert client.get("/account").status_code == 302


def test_the_second_factor_is_asked_for_all_the_same(world: World, provider: Provider) -> None:
    secret = sealing.seal_secret("JBSWY3DPEHPK3PXP")
    Authenticator.objects.create(user=world.reviewer, type="totp", data={"secret": secret})
    came = come_back(Client(), provider, email=world.reviewer.email, email_verified=True)
    assert came["Location"].startswith("/login/code")


def test_a_made_up_answer_or_a_provider_that_fails_logs_nobody_in(
    world: World, provider: Provider
) -> None:
    client = Client()
    made_up = client.get("/oidc/sso/callback", {"code": "c", "state": "made up"})
    assert made_up["Location"] == "/login/failed"
    provider.fails = True
    came = come_back(client, provider, email=world.reviewer.email, email_verified=True)
    assert came["Location"] == "/login/failed"
    assert "did not work" in client.get("/login/failed").content.decode()
    assert client.get("/account").status_code == 302


def test_a_provider_that_is_away_is_no_error_of_ours(world: World, settings: Settings) -> None:
    configure(settings, "http://127.0.0.1:1")
    client = Client(raise_request_exception=False)
    assert client.get("/oidc/sso/login")["Location"] == "/login/failed"
