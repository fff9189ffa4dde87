"""``manage.py rule add|list|remove``: which writes stop, until rules have a page."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance import audit, execution
from governance.clock import now_ms
from governance.management.commands.apikey import find_workspace
from governance.models import Effect, OperationKind, Rule, Workspace
from stores.wire import MemoryType


class Command(BaseCommand):
    help = "Add, list and remove policy rules. The strictest rule that matches wins; none: allow."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", help="slug; may be left out while there is only one")
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="add a rule, or replace the one of that name")
        add.add_argument("name")
        add.add_argument("--effect", required=True, choices=Effect.values)
        add.add_argument("--operation", default="", choices=OperationKind.values)
        add.add_argument("--type", default="", choices=[kind.value for kind in MemoryType])
        add.add_argument("--source", default="", help="matches this source exactly")
        actions.add_parser("list", help="all rules")
        remove = actions.add_parser("remove", help="take a rule away")
        remove.add_argument("name")

    def handle(self, *, action: str, **options: Any) -> None:
        workspace = find_workspace(options["workspace"])
        handler = {"add": self._add, "list": self._list, "remove": self._remove}[action]
        handler(workspace, options)

    def _add(self, workspace: Workspace, options: dict[str, Any]) -> None:
        conditions = {name: options[name] for name in ("effect", "operation", "type", "source")}
        rule = execution.write_sync(add_rule, workspace, options["name"], conditions)
        self.stdout.write(f"Rule {rule} is in force.")

    def _list(self, workspace: Workspace, options: dict[str, Any]) -> None:
        for rule in Rule.objects.filter(workspace=workspace).order_by("name"):
            conditions = [
                f"{name}={value}"
                for name in ("operation", "type", "source")
                if (value := getattr(rule, name))
            ]
            self.stdout.write(f"{rule}: {rule.effect} {' '.join(conditions) or 'everything'}")

    def _remove(self, workspace: Workspace, options: dict[str, Any]) -> None:
        def remove() -> bool:
            rule = Rule.objects.filter(workspace=workspace, name=options["name"]).first()
            if rule is None:
                return False
            _audit(workspace, rule, "rule.removed")
            rule.delete()
            return True

        if not execution.write_sync(remove):
            raise CommandError(f"No rule named {options['name']}; 'rule list' shows them.")
        self.stdout.write(f"Rule {options['name']} is removed.")


def add_rule(workspace: Workspace, name: str, conditions: dict[str, str]) -> Rule:
    """Put a rule in force, as the next version where one of that name exists. In a transaction."""
    rule = Rule.objects.filter(workspace=workspace, name=name).first()
    if rule is None:
        rule = Rule(workspace=workspace, name=name, version=0, created_at_ms=now_ms())
    rule.version += 1
    for field, value in conditions.items():
        setattr(rule, field, value)
    rule.save()
    _audit(workspace, rule, "rule.changed")
    return rule


def _audit(workspace: Workspace, rule: Rule, action: str) -> None:
    facts = {
        "rule": rule.name,
        "version": rule.version,
        "effect": rule.effect,
        "operation": rule.operation,
        "type": rule.type,
        "source": rule.source,
    }
    entry = audit.Entry(action=action, actor=audit.Actor.system("command-line"), facts=facts)
    audit.append(workspace.pk, [entry], now_ms=now_ms())
