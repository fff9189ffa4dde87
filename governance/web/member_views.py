"""The page of the members: for admins, who give roles, take them, and take people out."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from governance import keys, members
from governance.clock import now_ms
from governance.models import Membership
from governance.web.members import admin, cause, form, members_only, refused
from governance.web.presenters import members as present
from governance.web.presenters.people import shell


@members_only
def member_list(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Every person in the workspace."""
    return _page(request, membership)


def _show(request: HttpRequest, membership: Membership, user_id: int) -> HttpResponse:
    """The list; after a refusal with the reason."""
    admin(membership)
    members.access_member(membership.workspace_id, user_id)
    return _page(request, membership, refused_id=user_id)


def _change_roles(request: HttpRequest, membership: Membership, user_id: int) -> HttpResponse:
    admin(membership)
    part = part_of(request)
    members.change(membership.workspace_id, user_id, part, cause=cause(request, membership))
    return _saved(user_id)


def _remove(request: HttpRequest, membership: Membership, user_id: int) -> HttpResponse:
    admin(membership)
    why = cause(request, membership)
    members.remove(membership.workspace_id, user_id, cause=why)
    if request.POST.get("keys") == "revoke":
        keys.revoke_all_of(membership.workspace_id, user_id, cause=why)
    return _saved(user_id)


def part_of(request: HttpRequest) -> members.Part:
    """Roles and agents as a form says them; no agent named means every agent."""
    lines = [line.strip() for line in request.POST.get("agents", "").splitlines()]
    agents = [line for line in lines if line] or None
    return members.Part(roles=request.POST.getlist("roles"), agents=agents)


change_roles = form(_show, _change_roles)
remove = form(_show, _remove)


def _page(
    request: HttpRequest, membership: Membership, *, refused_id: int | None = None
) -> HttpResponse:
    admin(membership)
    context = shell(membership, "members") | {
        "members": present.listed(membership),
        "refusal": refused(request),
        "refused_id": refused_id,
        "typed_agents": request.POST.get("agents", ""),
        "invitations": present.invited(membership.workspace_id, now_ms=now_ms()),
        "saved": request.GET.get("saved", ""),
    }
    return render(request, "members/list.html", context)


def _saved(user_id: int) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('members')}?saved={user_id}", status=303)
