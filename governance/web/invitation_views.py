"""Inviting people, for admins; and the page that an invitation's link leads to, for anybody."""

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import get_text_list
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from governance import accounts, execution, invitations
from governance.clock import now_ms
from governance.errors import Conflict, GovernanceError, Invalid
from governance.models import Membership, Role, User
from governance.web.member_views import part_of
from governance.web.members import admin, cause, changes_only, form, refusal, refused, request_id
from governance.web.presenters import members as present
from governance.web.presenters.people import shell


def _show_form(request: HttpRequest, membership: Membership) -> HttpResponse:
    admin(membership)
    refusal_ = refused(request)
    roles = request.POST.getlist("roles") if refusal_ else [Role.REVIEWER.value]
    problems = {each.field: each.message for each in refusal_.errors} if refusal_ else {}
    context = shell(membership, "members") | {
        "form": present.invitation_form(request.POST, roles),
        "problems": problems,
        "refusal": refusal_,
        "sends_mail": bool(settings.ENVIRONMENT.email_url),
    }
    return render(request, "members/invite.html", context)


def _invite(request: HttpRequest, membership: Membership) -> HttpResponse:
    admin(membership)
    invitation, token = invitations.invite(
        membership.workspace_id,
        membership.user,
        request.POST.get("email", "").strip(),
        part_of(request),
        cause=cause(request, membership),
    )
    link = f"{settings.ENVIRONMENT.address}{reverse('invitation', args=[token])}"
    context = shell(membership, "members") | {
        "email": invitation.email,
        "link": link,
        "was_sent": bool(settings.ENVIRONMENT.email_url),
    }
    request.to_send = accounts.InvitationMail(  # type: ignore[attr-defined]
        email=invitation.email,
        link=link,
        inviter=membership.user.label,
        workspace=membership.workspace.name,
    )
    return render(request, "members/invited.html", context)


_invite_form = form(_show_form, _invite)


async def invite(request: HttpRequest) -> HttpResponse:
    """The form that invites; the link is shown once, and mailed where mail is sent."""
    answer = await _invite_form(request)
    to_send: accounts.InvitationMail | None = getattr(request, "to_send", None)
    if to_send is not None:
        # After the commit: no transaction is open while a mail server is talked to.
        await sync_to_async(accounts.send_invitation, thread_sensitive=False)(to_send)
    return answer


@changes_only
def withdraw(request: HttpRequest, membership: Membership, invitation_id: str) -> HttpResponse:
    """Stop an invitation at once."""
    admin(membership)
    why = cause(request, membership)
    invitations.withdraw(membership.workspace_id, invitation_id, cause=why)
    return HttpResponseRedirect(f"{reverse('members')}?saved=1", status=303)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
async def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """What an invitation's link leads to: a new account, or the one that has the address."""
    problem: GovernanceError | None = None
    try:
        if request.method == "POST":
            return await _accept(request, token)
    except (Invalid, Conflict) as error:
        problem = error
    except GovernanceError as error:
        return await execution.read(refusal, request, error)
    user = await request.auser()
    return await execution.read(_shown, request, token, user, problem)


async def _accept(request: HttpRequest, token: str) -> HttpResponse:
    user = await request.auser()
    at_ms, asked_as = now_ms(), request_id(request)
    if isinstance(user, User):
        await execution.write(invitations.accept_as, token, user, now_ms=at_ms, request_id=asked_as)
    else:
        made = await execution.write(
            invitations.accept_anew,
            token,
            name=request.POST.get("name", "").strip(),
            password=request.POST.get("password", ""),
            now_ms=at_ms,
            request_id=asked_as,
        )
        await sync_to_async(login)(request, made)
    return HttpResponseRedirect(reverse("queue"), status=303)


def _shown(
    request: HttpRequest, token: str, user: object, problem: GovernanceError | None
) -> HttpResponse:
    try:
        found = invitations.access_invitation(token, now_ms=now_ms())
    except GovernanceError as error:
        return refusal(request, error)
    context = {
        "invitation": found,
        "roles": get_text_list(found.roles, "and"),
        "has_account": invitations.account_of(found) is not None,
        "user_email": user.email if isinstance(user, User) else "",
        "is_theirs": isinstance(user, User) and user.email.casefold() == found.email.casefold(),
        "name": request.POST.get("name", ""),
        "problems": {each.field: each.message for each in problem.errors} if problem else {},
        "refusal": problem,
    }
    return render(request, "invitation.html", context, status=problem.status if problem else 200)
