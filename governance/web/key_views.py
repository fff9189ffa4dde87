"""The pages of the API keys: for admins. A key's text is on the page that made it only."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from governance import keys
from governance.clock import now_ms
from governance.errors import BadRequest, FieldError, Invalid
from governance.models import ApiKey, Membership, Scope, User
from governance.web.members import admin, cause, changes_only, form, members_only, refused
from governance.web.presenters import keys as present
from governance.web.presenters.people import shell

_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS


@members_only
def key_list(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Every key, without its secret."""
    admin(membership)
    rows = present.listed(membership.workspace_id, now_ms=now_ms())
    context = shell(membership, "keys") | {"keys": rows, "overlaps": present.OVERLAPS}
    return render(request, "keys/list.html", context)


def _show_new(request: HttpRequest, membership: Membership) -> HttpResponse:
    admin(membership)
    refusal = refused(request)
    values = {name: str(value) for name, value in request.POST.items()}
    chosen = request.POST.getlist("scopes") if refusal else ["remember", "recall"]
    context = shell(membership, "keys") | {
        "fields": present.fields(membership.workspace_id, values, refusal),
        "scopes": present.scopes(chosen),
        "every_agent": values.get("every_agent") == "yes" if refusal else False,
        "refusal": refusal,
    }
    return render(request, "keys/form.html", context)


def _create(request: HttpRequest, membership: Membership) -> HttpResponse:
    admin(membership)
    why = cause(request, membership)
    days = request.POST.get("expires", "")
    if days not in {choice.value for choice in present.LIVES}:
        raise BadRequest("The form offers no such time.")
    key, token = keys.create(
        membership.workspace_id,
        _owner(request, membership),
        _rights(request),
        cause=why,
        name=request.POST.get("name", "").strip(),
        expires_at_ms=why.now_ms + int(days) * _DAY_MS if days else None,
    )
    return _shown_once(request, membership, key, token)


new_key = form(_show_new, _create)


@changes_only
def rotate(request: HttpRequest, membership: Membership, key_id: str) -> HttpResponse:
    """A new key with the same rights, shown once; the old one ends after the overlap."""
    admin(membership)
    hours = request.POST.get("overlap", "")
    if hours not in {choice.value for choice in present.OVERLAPS}:
        raise BadRequest("The form offers no such overlap.")
    key, token = keys.rotate(
        membership.workspace_id,
        key_id,
        overlap_ms=int(hours) * _HOUR_MS,
        cause=cause(request, membership),
    )
    return _shown_once(request, membership, key, token)


@changes_only
def revoke(request: HttpRequest, membership: Membership, key_id: str) -> HttpResponse:
    """Stop a key at once."""
    admin(membership)
    keys.revoke(membership.workspace_id, key_id, cause=cause(request, membership))
    return HttpResponseRedirect(reverse("keys"), status=303)


def _show_limit(request: HttpRequest, membership: Membership, key_id: str) -> HttpResponse:
    admin(membership)
    key = keys.of_id(membership.workspace_id, key_id)
    refusal = refused(request)
    typed = request.POST.get("calls_per_minute", "") if refusal else None
    context = shell(membership, "keys") | {
        "prefix": str(key),
        "field": present.limit_field(key, typed, refusal),
        "refusal": refusal,
    }
    return render(request, "keys/limit.html", context)


def _limit(request: HttpRequest, membership: Membership, key_id: str) -> HttpResponse:
    """Say how often a key may call."""
    admin(membership)
    calls = _calls_per_minute(request)
    why = cause(request, membership)
    keys.limit(membership.workspace_id, key_id, calls_per_minute=calls, cause=why)
    return HttpResponseRedirect(reverse("keys"), status=303)


limit = form(_show_limit, _limit)


def _shown_once(
    request: HttpRequest, membership: Membership, key: ApiKey, token: str
) -> HttpResponse:
    context = shell(membership, "keys") | {"prefix": str(key), "token": token}
    return render(request, "keys/created.html", context)


def _owner(request: HttpRequest, membership: Membership) -> User:
    chosen = request.POST.get("owner", "")
    for owner in keys.owners(membership.workspace_id):
        if str(owner.pk) == chosen:
            return owner
    problem = FieldError(field="owner", code="key_invalid", message="Choose who answers for it.")
    raise Invalid(problem.message, errors=(problem,))


def _rights(request: HttpRequest) -> keys.Rights:
    scopes = [Scope(scope) for scope in request.POST.getlist("scopes") if scope in Scope.values]
    lines = [line.strip() for line in request.POST.get("agents", "").splitlines()]
    every_agent = request.POST.get("every_agent") == "yes"
    return keys.Rights(
        scopes=scopes,
        agents=None if every_agent else [line for line in lines if line],
        calls_per_minute=_calls_per_minute(request),
    )


def _calls_per_minute(request: HttpRequest) -> int | None:
    typed = request.POST.get("calls_per_minute", "").strip()
    if not typed:
        return None
    # What is no number becomes one that is refused.
    return int(typed) if typed.isascii() and typed.isdecimal() and len(typed) < 10 else -1
