"""How a page is answered: who asks, on which thread, and what a refusal looks like."""

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django_htmx.http import HttpResponseClientRedirect

from governance import access, execution
from governance.errors import GovernanceError, NotAuthenticated
from governance.models import Membership, Role, User

P = ParamSpec("P")
Show = Callable[Concatenate[HttpRequest, Membership, P], HttpResponse]
View = Callable[Concatenate[HttpRequest, P], Coroutine[Any, Any, HttpResponse]]


def members_only(show: Show[P]) -> View[P]:
    """A view that shows something to members only, read and rendered on a reading thread."""

    @never_cache
    async def view(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        return await execution.read(_show, show, request, *args, **kwargs)

    return view


def _show(
    show: Callable[..., HttpResponse], request: HttpRequest, *args: Any, **kwargs: Any
) -> HttpResponse:
    try:
        return show(request, member(request), *args, **kwargs)
    except GovernanceError as error:
        return refusal(request, error)


def member(request: HttpRequest) -> Membership:
    """The member who asks. Reads the session, so only on a ledger thread.

    Raises: NotAuthenticated, NotAllowed (no workspace, or no role in it).
    """
    if not request.user.is_authenticated:
        raise NotAuthenticated("Log in first.")
    request.member_id = request.user.pk  # type: ignore[attr-defined]  # for the log
    return member_with_a_role(request.user)


def member_with_a_role(user: User) -> Membership:
    """A person's membership, if it lets them see pages; a service account's does not.

    Raises: NotAllowed.
    """
    membership = access.membership_of(user)
    access.check_role(membership, *Role)
    return membership


def refusal(request: HttpRequest, error: GovernanceError) -> HttpResponse:
    """An error as a page; whoever is not logged in is sent to do that and back."""
    if isinstance(error, NotAuthenticated):
        return _to_login(request)
    context = {
        "status": f"{error.status} {HTTPStatus(error.status).phrase}",
        "title": error.title,
        "detail": error.detail,
        "next_step": error.next_step,
        "request_id": request_id(request),
    }
    return render(request, "error.html", context, status=error.status)


def _to_login(request: HttpRequest) -> HttpResponse:
    if request.headers.get("X-Requested-With") == "XMLHttpRequest":
        return HttpResponse(status=401)  # live.js knows where it is and goes to log in itself
    htmx = is_htmx(request)
    back = request.htmx.current_url_abs_path if htmx else request.get_full_path()  # type: ignore[attr-defined]
    address = f"{reverse('login')}?{urlencode({'next': back or reverse('queue')})}"
    return HttpResponseClientRedirect(address) if htmx else HttpResponseRedirect(address)


def is_htmx(request: HttpRequest) -> bool:
    """Whether a fragment is asked for rather than a page."""
    return bool(request.htmx)  # type: ignore[attr-defined]


def request_id(request: HttpRequest) -> str:
    """The id that the middleware gave the request."""
    return str(getattr(request, "request_id", ""))
