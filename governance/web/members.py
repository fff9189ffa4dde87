"""How a page is answered: who asks, on which thread, and what a refusal looks like."""

from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from governance import access, audit, execution
from governance.clock import now_ms
from governance.errors import Conflict, GovernanceError, Invalid, NotAuthenticated
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


def changes_only(change: Show[P]) -> View[P]:
    """A view that takes a form and changes something, in one transaction.

    The member is read inside it: a role withdrawn a moment ago no longer counts.
    """

    @never_cache
    @require_POST
    async def view(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        try:
            return await execution.write(_change, change, request, *args, **kwargs)
        except GovernanceError as error:
            return await execution.read(refusal, request, error)

    return view


def form(show: Show[P], change: Show[P]) -> View[P]:
    """A view that shows a form, and takes it: one transaction as in ``changes_only``.

    What is wrong with it or overtaken is shown with it, as ``request.refused``.
    """
    shown = members_only(show)

    @never_cache
    @require_http_methods(["GET", "HEAD", "POST"])
    async def view(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if request.method != "POST":
            return await shown(request, *args, **kwargs)
        try:
            return await execution.write(_change, change, request, *args, **kwargs)
        except (Invalid, Conflict) as error:
            request.refused = error  # type: ignore[attr-defined]
            answer = await shown(request, *args, **kwargs)
            answer.status_code = error.status
            return answer
        except GovernanceError as error:
            return await execution.read(refusal, request, error)

    return view


def refused(request: HttpRequest) -> GovernanceError | None:
    """Why the form that was just sent was not taken, if it was not."""
    return getattr(request, "refused", None)


def admin(membership: Membership) -> Membership:
    """The member, if they may change the workspace itself.

    Raises: NotAllowed.
    """
    access.check_role(membership, Role.ADMIN)
    return membership


def cause(request: HttpRequest, membership: Membership) -> audit.Cause:
    """What the audit row of a change that this request makes says of who, when and why."""
    actor = audit.Actor.person(membership.user)
    return audit.Cause(actor=actor, now_ms=now_ms(), request_id=request_id(request))


def _change(
    change: Callable[..., HttpResponse], request: HttpRequest, *args: Any, **kwargs: Any
) -> HttpResponse:
    return change(request, member(request), *args, **kwargs)


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

    From here on the work at hand sees this workspace only.

    Raises: NotAllowed.
    """
    membership = access.enter(user)
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
    address = f"{reverse('account_login')}?{urlencode({'next': back or reverse('queue')})}"
    return HttpResponseClientRedirect(address) if htmx else HttpResponseRedirect(address)


def is_htmx(request: HttpRequest) -> bool:
    """Whether a fragment is asked for rather than a page."""
    return bool(request.htmx)  # type: ignore[attr-defined]


def request_id(request: HttpRequest) -> str:
    """The id that the middleware gave the request."""
    return str(getattr(request, "request_id", ""))
