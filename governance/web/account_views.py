"""One's own account, and what stands in for allauth's pages where no mail can be sent."""

import logging
from typing import cast

from allauth.account import views as allauth_views
from allauth.mfa.models import Authenticator
from allauth.socialaccount.providers.openid_connect import views as oidc
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST
from requests import RequestException

from governance import access
from governance.errors import GovernanceError
from governance.models import User
from governance.web.members import refusal

log = logging.getLogger(__name__)


@never_cache
@login_required
def own_account(request: HttpRequest) -> HttpResponse:
    """Who is logged in, and the ways to their password and second factor."""
    person = cast(User, request.user)
    kinds = Authenticator.objects.filter(user=person)
    has_app = kinds.filter(type=Authenticator.Type.TOTP).exists()
    codes = kinds.filter(type=Authenticator.Type.RECOVERY_CODES).first()
    context = {
        "person": person,
        "has_app": has_app,
        "memberships": access.memberships_of(person),
        "codes_left": len(codes.wrap().get_unused_codes()) if codes else 0,
    }
    return render(request, "account/account.html", context)


@never_cache
@require_POST
@login_required
def work_in(request: HttpRequest) -> HttpResponse:
    """Go over to another of one's workspaces."""
    try:
        access.work_in(cast(User, request.user), request.POST.get("workspace", ""))
    except GovernanceError as error:
        return refusal(request, error)
    return HttpResponseRedirect(reverse("queue"), status=303)


def second_factor(request: HttpRequest) -> HttpResponse:
    """Where allauth goes once the second factor changed: one's account says how it stands."""
    return HttpResponseRedirect(reverse("account"))


def oidc_login(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Go to the provider; back to the log-in where it does not answer."""
    try:
        answer: HttpResponse = oidc.login(request, provider_id)
    except RequestException:
        log.exception("the OpenID Connect provider does not answer")
        return HttpResponseRedirect(reverse("socialaccount_login_error"))
    return answer


def password_reset(request: HttpRequest) -> HttpResponse:
    """Ask for a mail with a link, where mail can be sent."""
    if not settings.ENVIRONMENT.email_url:
        return render(request, "account/no_mail.html")
    answer: HttpResponse = allauth_views.password_reset(request)
    return answer
