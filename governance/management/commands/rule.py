"""``manage.py rule add|list|on|off``: which writes stop. The page /rules does the same."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance import audit, execution, rules
from governance.clock import now_ms
from governance.errors import Invalid
from governance.management.commands.apikey import find_workspace
from governance.models import Effect, OperationKind, Rule, Workspace
from governance.screening import FlagCode
from stores.wire import MemoryType

_TEXTS = ("effect", "operation", "type", "agent_id", "user_id", "source", "flag")


class Command(BaseCommand):
    help = "Add, list and switch policy rules. The strictest rule that matches wins; none: allow."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--workspace", help="slug; may be left out while there is only one")
        actions = parser.add_subparsers(dest="action", required=True)
        add = actions.add_parser("add", help="add a rule, or change the one of that name")
        add.add_argument("name")
        add.add_argument("--effect", required=True, choices=Effect.values)
        add.add_argument("--operation", default="", choices=OperationKind.values)
        add.add_argument("--type", default="", choices=[kind.value for kind in MemoryType])
        add.add_argument("--agent", dest="agent_id", default="", help="this agent only")
        add.add_argument("--user", dest="user_id", default="", help="memories about this user")
        add.add_argument("--source", default="", help="matches this source exactly")
        add.add_argument("--metadata", default="{}", help="a filter as recall takes it, JSON")
        add.add_argument("--confidence-below", type=float)
        add.add_argument("--flag", default="", choices=[code.value for code in FlagCode])
        actions.add_parser("list", help="all rules")
        for action, effect in (("on", "put a rule in force again"), ("off", "switch a rule off")):
            actions.add_parser(action, help=effect).add_argument("name")

    def handle(self, *, action: str, **options: Any) -> None:
        workspace = find_workspace(options["workspace"])
        if action == "add":
            self._add(workspace, options)
        elif action == "list":
            self._list(workspace)
        else:
            self._switch(workspace, options["name"], on=action == "on")

    def _add(self, workspace: Workspace, options: dict[str, Any]) -> None:
        try:
            metadata = json.loads(options["metadata"])
            terms = rules.Terms(
                **{name: options[name] for name in _TEXTS},
                metadata=metadata,
                confidence_below=options["confidence_below"],
            )
            rule = execution.write_sync(
                rules.put, workspace.pk, options["name"], terms, cause=_cause()
            )
        except json.JSONDecodeError as error:
            raise CommandError(f"--metadata is not JSON: {error}") from error
        except Invalid as error:
            raise CommandError(error.detail) from error
        self.stdout.write(f"Rule {rule} is in force: {rules.sentence(terms)}")

    def _list(self, workspace: Workspace) -> None:
        for rule in Rule.objects.filter(workspace=workspace).order_by("name"):
            state = "" if rule.enabled else " (off)"
            self.stdout.write(f"{rule}{state}: {rules.sentence(rules.Terms.of(rule))}")

    def _switch(self, workspace: Workspace, name: str, *, on: bool) -> None:
        rule = Rule.objects.filter(workspace=workspace, name=name).first()
        if rule is None:
            raise CommandError(f"No rule named {name}; 'rule list' shows them.")
        if rule.enabled is not on:
            rule = execution.write_sync(
                rules.switch, workspace.pk, rule.pk, on=on, seen=rule.version, cause=_cause()
            )
        self.stdout.write(f"Rule {rule} is {'on' if on else 'off'}.")


def _cause() -> audit.Cause:
    return audit.Cause(actor=audit.Actor.system("command-line"), now_ms=now_ms())
