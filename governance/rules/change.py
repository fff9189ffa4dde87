"""Changing rules, inside the caller's transaction."""

from dataclasses import asdict, replace

from governance import audit, walls
from governance.audit import Cause
from governance.errors import Conflict, NotFound
from governance.models import Rule, RuleVersion
from governance.rules.terms import Terms, check


def access_rule(workspace_id: str, rule_id: int) -> Rule:
    """A rule of a workspace.

    Raises: NotFound, whether it is missing or another's.
    """
    return _only(Rule.objects.filter(workspace_id=workspace_id, pk=rule_id).first())


def add(workspace_id: str, name: str, terms: Terms, *, cause: Cause) -> Rule:
    """Put a new rule in force.

    Raises: Invalid, Conflict (the name is taken, perhaps by a rule that is switched off).
    """
    walls.enter(workspace_id)
    check(name, terms)
    if Rule.objects.filter(workspace_id=workspace_id, name=name).exists():
        raise Conflict("There is a rule of this name already.", code="rule_exists")
    rule = Rule(workspace_id=workspace_id, name=name, version=0, created_at_ms=cause.now_ms)
    return _next_version(rule, terms, "rule.added", cause)


def change(workspace_id: str, rule_id: int, terms: Terms, *, seen: int, cause: Cause) -> Rule:
    """Make the rule's next version. ``seen`` is the version that whoever changes it looked at.

    Raises: NotFound, Invalid, Conflict (somebody changed it meanwhile).
    """
    walls.enter(workspace_id)
    rule = _as_seen(workspace_id, rule_id, seen)
    check(rule.name, terms)
    return _next_version(rule, terms, "rule.changed", cause)


def switch(workspace_id: str, rule_id: int, *, on: bool, seen: int, cause: Cause) -> Rule:
    """Switch a rule on or off, which is a version too. It is never deleted: reviews name it.

    Raises: NotFound, Conflict (somebody changed it meanwhile).
    """
    walls.enter(workspace_id)
    rule = _as_seen(workspace_id, rule_id, seen)
    terms = replace(Terms.of(rule), enabled=on)
    return _next_version(rule, terms, "rule.switched_on" if on else "rule.switched_off", cause)


def put(workspace_id: str, name: str, terms: Terms, *, cause: Cause) -> Rule:
    """Add the rule, or change the one of that name: for commands, which may run twice.

    Raises: Invalid.
    """
    walls.enter(workspace_id)
    rule = Rule.objects.filter(workspace_id=workspace_id, name=name).first()
    if rule is None:
        return add(workspace_id, name, terms, cause=cause)
    return change(workspace_id, rule.pk, terms, seen=rule.version, cause=cause)


def _as_seen(workspace_id: str, rule_id: int, seen: int) -> Rule:
    # Locks the row, so that of two who change it the second is told.
    rows = Rule.objects.select_for_update()
    rule = _only(rows.filter(workspace_id=workspace_id, pk=rule_id).first())
    if rule.version != seen:
        raise Conflict(
            f"Somebody changed this rule meanwhile: it is at version {rule.version}.",
            code="rule_changed",
        )
    return rule


def _only(rule: Rule | None) -> Rule:
    if rule is None:
        raise NotFound("There is no such rule.")
    return rule


def _next_version(rule: Rule, terms: Terms, action: str, cause: Cause) -> Rule:
    said = asdict(terms)
    for name, value in said.items():
        setattr(rule, name, value)
    rule.version += 1
    rule.save()
    RuleVersion.objects.create(
        rule=rule,
        number=rule.version,
        changed_at_ms=cause.now_ms,
        changed_by=cause.actor.label,
        **said,
    )
    facts = {"rule": rule.name, "version": rule.version, **said}
    audit.note(rule.workspace_id, action, facts, cause=cause)
    return rule
