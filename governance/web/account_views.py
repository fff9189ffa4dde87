"""One's own account, and what stands in for allauth's pages where no mail can be sent."""

from allauth.account import views as allauth_views
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache


@never_cache
@login_required
def own_account(request: HttpRequest) -> HttpResponse:
    """Who is logged in, and the ways to their password and second factor."""
    kinds = Authenticator.objects.filter(user=request.user)
    has_app = kinds.filter(type=Authenticator.Type.TOTP).exists()
    codes = kinds.filter(type=Authenticator.Type.RECOVERY_CODES).first()
    context = {
        "person": request.user,
        "has_app": has_app,
        "codes_left": len(codes.wrap().get_unused_codes()) if codes else 0,
    }
    return render(request, "account/account.html", context)


def second_factor(request: HttpRequest) -> HttpResponse:
    """Where allauth goes once the second factor changed: one's account says how it stands."""
    return HttpResponseRedirect(reverse("account"))


def password_reset(request: HttpRequest) -> HttpResponse:
    """Ask for a mail with a link, where mail can be sent."""
    if not settings.ENVIRONMENT.email_url:
        return render(request, "account/no_mail.html")
    answer: HttpResponse = allauth_views.password_reset(request)
    return answer
