"""The pages of the memories: search and browse, and one memory with its history."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from governance import memory_search
from governance.clock import now_ms
from governance.models import Membership
from governance.web.members import members_only
from governance.web.presenters import memories as present
from governance.web.presenters.people import shell

_ASKED = ("words", "agent", "user", "type", "state")


@members_only
def memory_list(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The newest memories that meet the search, or those on one side of a cursor."""
    said = {name: text for name in _ASKED if (text := request.GET.get(name, "").strip())}
    search = memory_search.Search(
        agent_id=said.get("agent", ""),
        user_id=said.get("user", ""),
        type=said.get("type", ""),
        state=said.get("state", ""),
        words=said.get("words", ""),
        agents=membership.agents,
    )
    found = present.listed(
        membership.workspace_id,
        search,
        older_than=request.GET.get("cursor", ""),
        newer_than=request.GET.get("newer", ""),
        now_ms=now_ms(),
    )
    context = shell(membership, "memories") | {
        "found": found,
        "fields": present.fields(said),
        "said": said,
        "query": urlencode(said),
    }
    return render(request, "memories/list.html", context)


@members_only
def memory(request: HttpRequest, membership: Membership, memory_id: str) -> HttpResponse:
    """One memory, whatever became of it."""
    found = memory_search.access_memory(membership, memory_id)
    shown = present.memory_page(found, now_ms=now_ms())
    return render(
        request, "memories/memory.html", shell(membership, "memories") | {"memory": shown}
    )
