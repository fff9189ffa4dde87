"""The pages that are for deciding: the queue, a proposal, the decision.

Functions named after an address run on a reading thread (``members_only``) and end in a
response; deciding goes through ``governance.decision`` and so is a coroutine of its own.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from governance import access, audit, decision, execution
from governance.errors import (
    BadRequest,
    Conflict,
    GovernanceError,
    Invalid,
    LedgerBusy,
    NotFound,
    SelfApproval,
)
from governance.models import Membership, Review, ReviewStatus, Verdict
from governance.web import page
from governance.web.members import is_htmx, member, members_only, refusal, request_id
from governance.web.presenters.people import viewer
from governance.web.presenters.proposal import proposal as present_proposal
from governance.web.presenters.proposal import toast, verdicts
from governance.web.presenters.queue import next_after
from governance.web.presenters.queue import queue as present_queue
from stores.wire.limits import REASON_MAX

QUICK_REASONS = (
    "Not true",
    "Source not trusted",
    "Already known",
    "Too private to keep",
    "Misleading text",
)
#: Refusals after which the proposal is shown again, as it is now, instead of an error page.
_SHOWN_AGAIN = (Conflict, Invalid, SelfApproval, LedgerBusy)


@members_only
def queue(request: HttpRequest, membership: Membership) -> HttpResponse:
    """The list, and the first proposal beside it."""
    listed = present_queue(membership)
    first = access.access_review(membership, listed.rows[0].review_id) if listed.rows else None
    return _queue_page(request, membership, listed, first, view="list")


@members_only
def proposal(request: HttpRequest, membership: Membership, review_id: str) -> HttpResponse:
    """One proposal, whatever became of it: the page, or only its pane for htmx."""
    item = access.access_review(membership, review_id)
    if is_htmx(request):
        context = _pane_context(request, membership, item)
        return render(request, "queue/_proposal.html", context)
    return _queue_page(request, membership, present_queue(membership), item)


@members_only
def queue_changes(request: HttpRequest, membership: Membership) -> HttpResponse:
    """204 while nothing happened since ``cursor``; else the list, and the end of ``open``."""
    if request.GET.get("cursor") == str(audit.head(membership.workspace_id)):
        return HttpResponse(status=204)
    context = {
        "queue": present_queue(membership),
        "closed": _closing(membership, request.GET.get("open", "")),
    }
    return render(request, "queue/_changes.html", context)


@never_cache
@require_POST
async def decide(request: HttpRequest, review_id: str) -> HttpResponse:
    """Approve or reject what the form shows; then the next proposal."""
    try:
        ballot = await execution.read(_ballot, request, review_id)
        await decision.decide(ballot)
    except GovernanceError as error:
        return await execution.read(_refused, request, review_id, error)
    return await execution.read(_decided, request, ballot)


def _ballot(request: HttpRequest, review_id: str) -> decision.Ballot:
    """What the form says. Raises: NotAuthenticated, NotAllowed, BadRequest, Invalid."""
    membership = member(request)
    verdict = request.POST.get("verdict", "")
    if verdict not in Verdict.values:
        raise BadRequest("The form says neither approve nor reject.")
    parts = (request.POST.get("quick", ""), request.POST.get("reason", "").strip())
    reason = ": ".join(part for part in parts if part)
    if len(reason) > REASON_MAX:
        raise Invalid(f"The reason is longer than {REASON_MAX} characters.")
    return decision.Ballot(
        user=membership.user,
        review_id=review_id,
        verdict=Verdict(verdict),
        shown=request.POST.get("shown", ""),
        reason=reason,
        request_id=request_id(request),
        content=_content(request),
        replaces={"replace": True, "add": False}.get(request.POST.get("beside", "")),
    )


def _content(request: HttpRequest) -> str | None:
    """The edited text, with the line ends that the agent's would have."""
    text = request.POST.get("content")
    return None if text is None else text.replace("\r\n", "\n")


def _draft(request: HttpRequest) -> page.Draft:
    return page.Draft(
        verdict=request.POST.get("verdict", ""),
        reason=request.POST.get("reason", ""),
        content=_content(request),
    )


def _decided(request: HttpRequest, ballot: decision.Ballot) -> HttpResponse:
    membership = member(request)
    done = access.access_review(membership, ballot.review_id)
    listed = present_queue(membership)
    following = next_after(listed, present_proposal(membership, done).order)
    address = reverse("proposal", args=[following]) if following else reverse("queue")
    if not is_htmx(request):
        return HttpResponseRedirect(f"{address}?decided={done.pk}", status=303)
    item = access.access_review(membership, following) if following else None
    context = _pane_context(request, membership, item, draft=page.Draft()) | {
        "toast": toast(done, ballot.verdict)
    }
    response = render(request, "queue/_decided.html", context)
    response["HX-Push-Url"] = address
    return response


def _refused(request: HttpRequest, review_id: str, error: GovernanceError) -> HttpResponse:
    """The proposal as it is now and why nothing was decided, or an error page."""
    if not isinstance(error, _SHOWN_AGAIN):
        return refusal(request, error)
    membership = member(request)
    item = access.access_review(membership, review_id)
    detail = error.detail if isinstance(error, Invalid) else error.next_step
    notice = page.Notice(title=error.title, detail=detail)
    if not is_htmx(request):
        listed = present_queue(membership)
        return _queue_page(request, membership, listed, item, notice=notice, status=error.status)
    context = _pane_context(request, membership, item) | {"notice": notice}
    response = render(request, "queue/_proposal.html", context, status=error.status)
    # Tells queue.js that this refusal is to be shown, and where.
    response["HX-Retarget"] = "#proposal"
    response["HX-Reswap"] = "outerHTML"
    return response


def _queue_page(
    request: HttpRequest,
    membership: Membership,
    listed: page.Queue,
    item: Review | None,
    *,
    view: str = "proposal",
    notice: page.Notice | None = None,
    status: int = 200,
) -> HttpResponse:
    """List and pane. ``view`` is the one that narrow screens begin with."""
    context = _pane_context(request, membership, item) | {
        "here": "queue",
        "viewer": viewer(membership, waiting=listed.waiting),
        "queue": listed,
        "view": view,
        "notice": notice,
        "toast": _toast_after_redirect(request, membership),
    }
    return render(request, "queue.html", context, status=status)


def _pane_context(
    request: HttpRequest,
    membership: Membership,
    item: Review | None,
    *,
    draft: page.Draft | None = None,
) -> dict[str, Any]:
    draft = _draft(request) if draft is None else draft
    return {
        "proposal": present_proposal(membership, item) if item else None,
        "draft": draft,
        "panel": draft.panel or request.GET.get("panel", ""),
        "quick_reasons": QUICK_REASONS,
    }


def _toast_after_redirect(request: HttpRequest, membership: Membership) -> page.Toast | None:
    """Without scripts a decision redirects, naming what was decided."""
    decided = request.GET.get("decided")
    if not decided:
        return None
    try:
        item = access.access_review(membership, decided)
    except NotFound:
        return None
    mine = item.decisions.filter(person=membership.user).order_by("-pk").first()
    return toast(item, Verdict(mine.verdict)) if mine else None


def _closing(membership: Membership, review_id: str) -> page.Verdict | None:
    """Who decided the proposal that a page has open, once somebody has."""
    try:
        item = access.access_review(membership, review_id)
    except NotFound:
        return None
    if item.status == ReviewStatus.PENDING:
        return None
    return next(reversed(verdicts(item)), None)
