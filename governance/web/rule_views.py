"""The pages of the rules: for admins, who see what each does in a plain sentence."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from governance import rules
from governance.errors import BadRequest, FieldError, Invalid
from governance.models import Membership, Rule
from governance.web.members import admin, cause, changes_only, form, members_only, refused
from governance.web.presenters import rules as present
from governance.web.presenters.people import shell


@members_only
def rule_list(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Every rule, those in force first."""
    admin(membership)
    rows = present.listed(membership.workspace_id)
    saved = next((row for row in rows if str(row.rule_id) == request.GET.get("saved")), None)
    context = shell(membership, "rules") | {"rules": rows, "saved": saved}
    return render(request, "rules/list.html", context)


def _show_new(request: HttpRequest, membership: Membership) -> HttpResponse:
    admin(membership)
    return _form_page(request, membership, None)


def _add(request: HttpRequest, membership: Membership) -> HttpResponse:
    admin(membership)
    rule = rules.add(
        membership.workspace_id,
        request.POST.get("name", "").strip(),
        _terms(request),
        cause=cause(request, membership),
    )
    return _saved(rule)


def _show(request: HttpRequest, membership: Membership, rule_id: int) -> HttpResponse:
    admin(membership)
    rule = rules.access_rule(membership.workspace_id, rule_id)
    return _form_page(request, membership, rule)


def _edit(request: HttpRequest, membership: Membership, rule_id: int) -> HttpResponse:
    admin(membership)
    rule = rules.change(
        membership.workspace_id,
        rule_id,
        _terms(request),
        seen=_seen(request),
        cause=cause(request, membership),
    )
    return _saved(rule)


new_rule = form(_show_new, _add)
rule = form(_show, _edit)


@changes_only
def switch(request: HttpRequest, membership: Membership, rule_id: int) -> HttpResponse:
    """Put a rule in force, or out of it."""
    admin(membership)
    rule = rules.switch(
        membership.workspace_id,
        rule_id,
        on=request.POST.get("on") == "yes",
        seen=_seen(request),
        cause=cause(request, membership),
    )
    return _saved(rule)


def _form_page(request: HttpRequest, membership: Membership, rule: Rule | None) -> HttpResponse:
    refusal = refused(request)
    values: dict[str, Any] = present.values_of(rule) if rule else {"effect": "review"}
    if request.method == "POST":  # what was typed, not what is stored
        values = {name: str(value) for name, value in request.POST.items()}
    context = shell(membership, "rules") | {
        "rule": rule,
        "versions": present.versions(rule) if rule else (),
        "name": values.get("name", ""),
        "effect": values.get("effect", ""),
        "effects": present.EFFECTS,
        "fields": present.fields(values, refusal),
        "refusal": refusal,
    }
    return render(request, "rules/form.html", context)


def _saved(rule: Rule) -> HttpResponse:
    return HttpResponseRedirect(f"{reverse('rules')}?saved={rule.pk}", status=303)


def _terms(request: HttpRequest) -> rules.Terms:
    """What the form says. Raises: Invalid."""
    said = {name: str(value).strip() for name, value in request.POST.items()}
    return rules.Terms(
        effect=said.get("effect", ""),
        operation=said.get("operation", ""),
        type=said.get("type", ""),
        agent_id=said.get("agent_id", ""),
        user_id=said.get("user_id", ""),
        source=said.get("source", ""),
        flag=said.get("flag", ""),
        confidence_below=_number(said.get("confidence_below", "")),
        metadata=_json(said.get("metadata", "")),
    )


def _number(text: str) -> float | None:
    try:
        return float(text) if text else None
    except ValueError as error:
        raise _wrong("confidence_below", "This is not a number.") from error


def _json(text: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except (ValueError, RecursionError) as error:
        raise _wrong("metadata", "This is not JSON.") from error


def _wrong(field: str, message: str) -> Invalid:
    problem = FieldError(field=field, code="rule_invalid", message=message)
    return Invalid(message, errors=(problem,))


def _seen(request: HttpRequest) -> int:
    seen = request.POST.get("seen", "")
    if not seen.isdecimal():
        raise BadRequest("The form does not say which version it shows.")
    return int(seen)
