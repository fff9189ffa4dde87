"""How people log in: what of django-allauth is ours to say.

Nobody signs up. Service accounts never log in, whatever a provider says of their address. What a
person changes about their own account is in the audit log of every workspace they are in.
"""

import logging
from dataclasses import dataclass
from smtplib import SMTPException
from typing import Any

from allauth.account import app_settings
from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.signals import password_changed, password_reset, password_set
from allauth.account.utils import user_pk_to_url_str
from allauth.core.exceptions import ImmediateHttpResponse, SignupClosedException
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed, authenticator_reset
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.core.mail import send_mail
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.urls import reverse

from governance import execution, members, sealing
from governance.audit import Actor, Cause
from governance.clock import now_ms
from governance.models import User

log = logging.getLogger(__name__)

#: What everybody sees for themselves is not said again.
_UNSAID = frozenset({"account/messages/logged_in.txt", "account/messages/logged_out.txt"})


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth ships no types
    """Log-in and passwords."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def pre_login(self, request: HttpRequest, user: User, **options: Any) -> HttpResponse | None:
        if user.is_service:
            raise ImmediateHttpResponse(self.respond_user_inactive(request, user))
        answer: HttpResponse | None = super().pre_login(request, user, **options)
        return answer

    def add_message(
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        *said: Any,
        **more: Any,
    ) -> None:
        if message_template not in _UNSAID:
            super().add_message(request, level, message_template, *said, **more)

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("account")

    def get_reset_password_from_key_url(self, key: str) -> str:
        uid, _, token = key.partition("-")
        return _address("account_reset_password_from_key", uidb36=uid, key=token)

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """A mail that cannot be sent fails no request: it is in the log."""
        if not settings.ENVIRONMENT.email_url:
            return
        try:
            super().send_mail(template_prefix, email, context)
        except (OSError, SMTPException):
            log.exception("a mail could not be sent: %s", template_prefix)


class SecondFactorAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """What authenticator apps share with us is kept sealed under the master key."""

    def encrypt(self, text: str) -> str:
        return sealing.seal_secret(text)

    def decrypt(self, encrypted_text: str) -> str:
        return sealing.open_secret(encrypted_text)


class ProviderAdapter(DefaultSocialAccountAdapter):  # type: ignore[misc]
    """Log-in by OpenID Connect: for accounts that exist, found by a verified address."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        """Bind the provider's person to ours the first time they come.

        Raises: SignupClosedException if nobody here has that address, or it is not verified.
        """
        if sociallogin.is_existing:
            return
        vouched = [each.email for each in sociallogin.email_addresses if each.verified]
        person = (
            User.objects.filter(email__iexact=vouched[0], is_active=True, is_service=False).first()
            if vouched
            else None
        )
        if person is None:
            raise SignupClosedException
        sociallogin.connect(request, person)

    def on_authentication_error(self, request: HttpRequest, provider: Any, **problem: Any) -> None:
        """Back to the log-in page, which says so.

        Raises: ImmediateHttpResponse.
        """
        log.warning("log-in by OpenID Connect failed: %s", problem.get("exception"))
        raise ImmediateHttpResponse(redirect("socialaccount_login_error"))


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationMail:
    """What the mail to an invited person says."""

    email: str
    link: str
    inviter: str
    workspace: str


def send_invitation(mail: InvitationMail) -> None:
    """Send it, where mail is sent; what cannot be sent is in the log, and the link on the page."""
    if not settings.ENVIRONMENT.email_url:
        return
    try:
        send_mail(
            f"memorywire: {mail.inviter} invites you".replace("\n", " ").replace("\r", " "),
            render_to_string("email/invitation.txt", {"mail": mail}),
            settings.DEFAULT_FROM_EMAIL,
            [mail.email],
        )
    except (OSError, SMTPException):
        log.exception("an invitation could not be mailed")


def reset_link(user: User) -> str:
    """An address at which this person can choose a new password, once, for three days."""
    token = app_settings.PASSWORD_RESET_TOKEN_GENERATOR().make_token(user)
    uid = user_pk_to_url_str(user)
    return _address("account_reset_password_from_key", uidb36=uid, key=token)


def switch(user: User, *, on: bool, cause: Cause) -> None:
    """Let an account log in, or no longer; every workspace it is in is told."""
    if user.is_active is on:
        return
    execution.write_sync(User.objects.filter(pk=user.pk).update, is_active=on)
    action = f"account.switched_{'on' if on else 'off'}"
    for workspace_id in members.workspaces_of(user):
        execution.write_sync(members.note_account, workspace_id, user, action, cause=cause)


def drop_second_factor(user: User) -> None:
    """Take app and recovery codes off an account."""
    Authenticator.objects.filter(user=user).delete()


def _address(name: str, **parts: str) -> str:
    # Never the host a request came to: whoever sends it could choose where links lead.
    return f"{settings.ENVIRONMENT.address}{reverse(name, kwargs=parts)}"


_CHANGES = {
    password_changed: "account.password_changed",
    password_set: "account.password_changed",
    password_reset: "account.password_reset",
    authenticator_added: "account.second_factor_added",
    authenticator_removed: "account.second_factor_removed",
    authenticator_reset: "account.recovery_codes_made",
}


@receiver(list(_CHANGES), dispatch_uid="governance.accounts")
def _note(signal: Any, request: HttpRequest, user: User, **about: Any) -> None:
    """Tell every workspace the person is in."""
    action = _CHANGES[signal]
    changed: Authenticator | None = about.get("authenticator")
    if changed is not None and changed.type == Authenticator.Type.RECOVERY_CODES:
        if signal is authenticator_removed:
            return  # they go with the app, which is noted
        action = "account.recovery_codes_made"
    cause = Cause(
        actor=Actor.person(user),
        now_ms=now_ms(),
        request_id=str(getattr(request, "request_id", "")),
    )
    for workspace_id in members.workspaces_of(user):
        execution.write_sync(members.note_account, workspace_id, user, action, cause=cause)
