"""``manage.py setup``: everything a first start needs; a second finds all in place."""

import asyncio
import json
import os
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser

from governance import access, audit, execution, samples, stores_runtime, walls
from governance.clock import now_ms
from governance.models import Membership, Role, Scope, User, Workspace

ADMIN_EMAIL = "admin@localhost"
SERVICE_ACCOUNT = "agents"


class Command(BaseCommand):
    help = "Migrate, and on the first run make an admin, a workspace, a key and sample proposals."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-samples", action="store_true", help="start with an empty queue")

    def handle(self, *, no_samples: bool, **options: Any) -> None:
        call_command("migrate", verbosity=0)
        if not Workspace.objects.exists():
            key = execution.write_sync(_first_workspace)
            if not no_samples:
                principal = access.authenticate(key, now_ms=now_ms())
                count = asyncio.run(samples.add(principal))
                self.stdout.write(f"Made {count} sample proposals.")
                stores_runtime.close()
        call_command("check", databases=["default"])


def first_login_path() -> Path:
    """Where the first start's login and key are noted, readable by the owner only."""
    return Path(settings.HOME) / "secrets" / "first-login.json"


def _first_workspace() -> str:
    """An admin, a workspace and a service account with a key, noted in the data folder.

    The note is written inside the transaction: if it cannot be, nothing is made.
    """
    now = now_ms()
    workspace = access.create_workspace(slug="main", name="Main", now_ms=now)
    walls.enter(workspace.pk)
    password = secrets.token_urlsafe(12)
    admin = User.objects.create_superuser(ADMIN_EMAIL, password, name="Admin")
    Membership.objects.create(workspace=workspace, user=admin, roles=list(Role.values))
    service = access.create_service_account(workspace, SERVICE_ACCOUNT)
    key, token = access.create_key(
        workspace.pk, service, scopes=list(Scope), agents=None, now_ms=now, name="first key"
    )
    facts = {"member": ADMIN_EMAIL, "key": str(key), "owner": SERVICE_ACCOUNT}
    entry = audit.Entry(action="workspace.created", actor=audit.Actor.system("setup"), facts=facts)
    audit.append(workspace.pk, [entry], now_ms=now)
    note = json.dumps({"email": ADMIN_EMAIL, "password": password, "key": token})
    with open(os.open(first_login_path(), os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write(note)
    return token
