"""The pages of the audit log: filter it, follow a memory or an actor, take it along."""

from datetime import UTC, date, datetime, timedelta
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from governance import access, audit, execution
from governance.errors import BadRequest, GovernanceError
from governance.models import Membership, Role
from governance.web import page
from governance.web.members import cause, is_htmx, member, members_only, refusal
from governance.web.presenters import audit as present
from governance.web.presenters.people import shell

#: The filter as the address says it; times are days, UTC, both ends within.
_ASKED = ("action", "actor", "agent", "memory", "review", "from", "to")
_FORMATS = {
    "jsonl": (audit.as_jsonl, "application/jsonl"),
    "csv": (audit.as_csv, "text/csv; charset=utf-8"),
}
_LABELS = {"action": "Event", "actor": "Actor", "agent": "Agent", "memory": "Memory"}
_LABELS |= {"review": "Proposal", "from": "From", "to": "To"}


@members_only
def audit_log(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The newest rows that meet the filter, or those on one side of a cursor."""
    said = _said(request.GET.dict())
    log = present.log(
        membership.workspace_id,
        asked=_filter(said, membership),
        older_than=request.GET.get("cursor", ""),
        newer_than=request.GET.get("newer", ""),
    )
    return _page(request, membership, log, said)


@members_only
def audit_row(request: HttpRequest, membership: Membership, sequence: int) -> HttpResponse:
    """The log from one row on, with that row opened; only what it says for htmx."""
    row = audit.access_row(membership, sequence)
    if is_htmx(request):
        return render(request, "audit/_detail.html", {"detail": present.detail(row)})
    everything = _filter({}, membership)
    log = present.log(membership.workspace_id, asked=everything, opened=row)
    return _page(request, membership, log, {})


@never_cache
@require_POST
async def export(request: HttpRequest) -> HttpResponseBase:
    """Every row that meets the filter, as a file. Who took it is in the log, as its last row."""
    try:
        asked, workspace_id, until = await execution.write(_note_export, request)
    except GovernanceError as error:
        return await execution.read(refusal, request, error)
    name = request.POST["format"]
    lines, content_type = _FORMATS[name]
    return StreamingHttpResponse(
        lines(workspace_id, asked, until=until),
        content_type=content_type,
        headers={"Content-Disposition": f'attachment; filename="audit-{until}.{name}"'},
    )


def _note_export(request: HttpRequest) -> tuple[audit.Filter, str, int]:
    """The filter, and the last row that the export holds.

    Raises: NotAuthenticated, NotAllowed, BadRequest.
    """
    membership = member(request)
    access.check_role(membership, Role.AUDITOR, Role.ADMIN)
    said = _said(request.POST.dict())
    name = request.POST.get("format", "")
    if name not in _FORMATS:
        raise BadRequest(f"The format is one of {', '.join(_FORMATS)}.")
    asked = _filter(said, membership)
    until = audit.head(membership.workspace_id)
    facts = {"format": name, "filter": said, "until": until}
    audit.note(membership.workspace_id, "audit.exported", facts, cause=cause(request, membership))
    return asked, membership.workspace_id, until


def _said(query: dict[str, str]) -> dict[str, str]:
    return {name: text for name in _ASKED if (text := query.get(name, "").strip())}


def _filter(said: dict[str, str], membership: Membership) -> audit.Filter:
    """Raises: BadRequest if a day is none."""
    return audit.Filter(
        action=said.get("action", ""),
        actor=said.get("actor", ""),
        agent_id=said.get("agent", ""),
        memory_id=said.get("memory", ""),
        review_id=said.get("review", ""),
        from_ms=_day_ms(said.get("from", ""), plus_days=0),
        before_ms=_day_ms(said.get("to", ""), plus_days=1),
        agents=membership.agents,
    )


def _day_ms(text: str, *, plus_days: int) -> int | None:
    """Midnight UTC of a day, or of one after it."""
    if not text:
        return None
    try:
        day = date.fromisoformat(text) + timedelta(days=plus_days)
    except (ValueError, OverflowError) as error:
        raise BadRequest("A day is written like 2026-05-26.") from error
    midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return int(midnight.timestamp()) * 1000


def _page(
    request: HttpRequest, membership: Membership, log: page.AuditPage, said: dict[str, str]
) -> HttpResponse:
    context = shell(membership, "audit") | {
        "log": log,
        "said": said,
        "chips": [_chip(name, said, log) for name in said],
        "query": urlencode(said),
        "events": present.EVENTS.items(),
        "may_export": membership.has(Role.AUDITOR, Role.ADMIN),
    }
    return render(request, "audit.html", context)


def _chip(name: str, said: dict[str, str], log: page.AuditPage) -> dict[str, str]:
    """One part of the filter in words, and the query without it."""
    text = said[name]
    if name == "action":
        text = present.event(text)
    if name == "actor":
        text = next((row.actor for row in log.rows if row.actor_key == text), text)
    rest = {other: value for other, value in said.items() if other != name}
    return {"label": _LABELS[name], "text": text, "without": urlencode(rest)}
