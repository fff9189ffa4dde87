"""The settings page, for admins: the workspace's name, its stores, how the server is set."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from governance import execution, stores_runtime, workspaces
from governance.clock import now_ms
from governance.errors import GovernanceError
from governance.models import Membership
from governance.web.members import admin, cause, form, member, refused
from governance.web.presenters import settings as present
from governance.web.presenters.people import shell
from stores.errors import StoreError


def _show(request: HttpRequest, membership: Membership) -> HttpResponse:
    admin(membership)
    answers: dict[str, bool] = getattr(request, "store_answers", {})
    refusal = refused(request)
    context = shell(membership, "settings") | {
        "workspace": membership.workspace,
        "name": request.POST.get("name", "") if refusal else membership.workspace.name,
        "refusal": refusal,
        "saved": request.GET.get("saved", ""),
        "stores": present.stores(membership.workspace_id, answers, now_ms=now_ms()),
        "facts": present.facts(),
    }
    return render(request, "settings.html", context)


def _rename(request: HttpRequest, membership: Membership) -> HttpResponse:
    admin(membership)
    name = request.POST.get("name", "").strip()
    workspaces.rename(membership.workspace_id, name, cause=cause(request, membership))
    return HttpResponseRedirect(f"{reverse('settings')}?saved=1", status=303)


_page = form(_show, _rename)


async def settings(request: HttpRequest) -> HttpResponse:
    """The page. Its stores are asked before it is read: no transaction waits for one."""
    try:
        membership = await execution.read(lambda: admin(member(request)))
        asking = stores_runtime.health(membership.workspace_id)
        request.store_answers = await stores_runtime.on_loop(asking)  # type: ignore[attr-defined]
    except (GovernanceError, StoreError):
        pass  # the page itself says what is wrong, or that no store answers
    return await _page(request)
