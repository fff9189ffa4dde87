"""A small world for tests: one workspace, its people and keys, and calls as they make them."""

import itertools
import json
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.test import Client

from governance import access, audit
from governance.clock import now_ms
from governance.models import (
    AuditRow,
    Membership,
    Memory,
    Review,
    Role,
    Rule,
    Scope,
    User,
    Workspace,
)
from governance.review import case_of

_numbers = itertools.count(1)


@dataclass
class World:
    """``key`` belongs to the service account ``owner``; ``reviewer`` is a person who may decide."""

    workspace: Workspace
    owner: User
    key: str
    reviewer: User
    client: Client = field(default_factory=lambda: Client(raise_request_exception=False))

    @classmethod
    def create(cls, slug: str) -> "World":
        workspace = access.create_workspace(slug=slug, name=slug.title(), now_ms=now_ms())
        owner = access.create_service_account(workspace, f"{slug} agents")
        _, key = access.create_key(
            workspace.pk, owner, scopes=list(Scope), agents=None, now_ms=now_ms()
        )
        reviewer = add_person(workspace, Role.REVIEWER)
        return cls(workspace=workspace, owner=owner, key=key, reviewer=reviewer)

    def post(self, path: str, body: Any, *, key: str | None = None, **headers: str) -> HttpResponse:
        """POST a JSON value, or raw bytes, as an agent."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.post(  # type: ignore[return-value]
            path,
            data,
            content_type="application/json",
            headers={"Authorization": f"Bearer {key or self.key}", **headers},
        )

    def get(self, path: str, *, key: str | None = None) -> HttpResponse:
        return self.client.get(path, headers={"Authorization": f"Bearer {key or self.key}"})  # type: ignore[return-value]

    def remember(self, content: str, *, key: str | None = None, **extra: Any) -> HttpResponse:
        body = {"agent_id": "concierge", "type": "semantic", "content": content, **extra}
        return self.post("/v0/remember", body, key=key)

    def remembered(self, content: str, **extra: Any) -> str:
        """The id of a memory stored without a review."""
        response = self.remember(content, **extra)
        assert response.status_code == 200, response.content
        return str(response.json()["id"])

    def recall(self, query: str, *, key: str | None = None, **extra: Any) -> list[str]:
        """The recalled texts, best first."""
        return [hit["content"] for hit in self.recall_hits(query, key=key, **extra)]

    def recall_hits(
        self, query: str, *, key: str | None = None, **extra: Any
    ) -> list[dict[str, Any]]:
        body = {"agent_id": "concierge", "query": query, **extra}
        response = self.post("/v0/recall", body, key=key)
        assert response.status_code == 200, response.content
        return list(response.json()["results"])

    def forget(self, *, key: str | None = None, **extra: Any) -> HttpResponse:
        return self.post("/v0/forget", {"agent_id": "concierge", **extra}, key=key)

    def rule(self, effect: str, **conditions: Any) -> Rule:
        """A rule in force, made behind the log's back so that tests see their own rows only."""
        return Rule.objects.create(
            workspace=self.workspace,
            name=f"rule {next(_numbers)}",
            effect=effect,
            created_at_ms=now_ms(),
            **conditions,
        )

    def pending_review(self) -> Review:
        """The one review that waits."""
        return Review.objects.select_related("operation__seal_key").get(
            workspace=self.workspace, status="pending"
        )

    def shown(self, review: Review) -> str:
        """What a page showing the review would carry."""
        return case_of(review, now_ms=now_ms()).digest

    def actions(self) -> list[str]:
        """The audit log's actions, oldest first."""
        rows = AuditRow.objects.filter(workspace=self.workspace).order_by("sequence")
        return list(rows.values_list("action", flat=True))

    def findings(self) -> list[audit.Finding]:
        return list(audit.verify())

    def memory(self, memory_id: str) -> Memory:
        return Memory.objects.get(pk=memory_id)


PASSWORD = "correct horse battery"


def add_person(workspace: Workspace, *roles: Role) -> User:
    """A person with these roles, an invented address and ``PASSWORD``."""
    number = next(_numbers)
    person = User.objects.create_user(
        f"person{number}@example.com", PASSWORD, name=f"Person {number}"
    )
    Membership.objects.create(
        workspace=workspace, user=person, roles=[role.value for role in roles]
    )
    return person
