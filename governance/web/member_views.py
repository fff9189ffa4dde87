"""The page of the members: for admins, who give roles, take them, and take people out."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from governance import members
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
    return _page(request, membership)


def _change_roles(request: HttpRequest, membership: Membership, user_id: int) -> HttpResponse:
    admin(membership)
    members.change_roles(
        membership.workspace_id,
        user_id,
        request.POST.getlist("roles"),
        cause=cause(request, membership),
    )
    return _saved(user_id)


def _remove(request: HttpRequest, membership: Membership, user_id: int) -> HttpResponse:
    admin(membership)
    members.remove(membership.workspace_id, user_id, cause=cause(request, membership))
    return _saved(user_id)


change_roles = form(_show, _change_roles)
remove = form(_show, _remove)


def _page(request: HttpRequest, membership: Membership) -> HttpResponse:
    admin(membership)
    context = shell(membership, "members") | {
        "members": present.listed(membership),
        "refusal": refused(request),
        "saved": request.GET.get("saved", ""),
    }
    return render(request, "members/list.html", context)


def _saved(user_id: int) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('members')}?saved={user_id}", status=303)
