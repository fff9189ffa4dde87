"""Django's admin for who runs the server: superusers, who look; nothing is changed but accounts.

What changes a workspace goes through its pages, so that its log has it. Memories are not here:
their texts are shown where hidden characters are. For everybody else there is no such address.
"""

from functools import wraps
from typing import Any

from django.contrib import admin, messages
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse

from governance import accounts, models
from governance.audit import Actor, Cause
from governance.clock import now_ms
from governance.web.members import request_id


class Site(admin.AdminSite):
    """At /admin/. Logging in and out is done where everybody does."""

    site_header = site_title = "memorywire server"
    index_title = "What there is, to look at"

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and getattr(request.user, "is_superuser", False))

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        inner = super().admin_view(view, cacheable)

        @wraps(view)
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not self.has_permission(request):
                raise Http404
            return inner(request, *args, **kwargs)  # type: ignore[no-any-return]

        return checked

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        raise Http404

    logout = password_change = password_change_done = login


site = Site(name="admin")


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # no subscript at run time
    """Rows to look at."""

    show_full_result_count = False  # counting millions of audit rows is slow
    list_per_page = 50

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(models.User, site=site)
class People(ReadOnly):
    list_display = ("email", "name", "is_active", "is_superuser", "is_service")
    list_filter = ("is_active", "is_superuser", "is_service")
    search_fields = ("email", "name")
    exclude = ("password", "groups", "user_permissions")
    actions = ("switch_off", "switch_on")

    @admin.action(description="Switch the accounts off")
    def switch_off(self, request: HttpRequest, people: QuerySet[models.User]) -> None:
        self._switch(request, people.exclude(pk=request.user.pk or 0), on=False)

    @admin.action(description="Switch the accounts on")
    def switch_on(self, request: HttpRequest, people: QuerySet[models.User]) -> None:
        self._switch(request, people.filter(is_service=False), on=True)

    def _switch(self, request: HttpRequest, people: QuerySet[models.User], *, on: bool) -> None:
        by: models.User = request.user  # type: ignore[assignment]
        cause = Cause(actor=Actor.person(by), now_ms=now_ms(), request_id=request_id(request))
        for person in people:
            accounts.switch(person, on=on, cause=cause)
        word = "on" if on else "off"
        self.message_user(request, f"Switched {word}: {len(people)}.", messages.SUCCESS)


@admin.register(models.Workspace, site=site)
class Workspaces(ReadOnly):
    list_display = ("slug", "name")
    exclude = ("wrapped_key",)


@admin.register(models.Membership, site=site)
class Members(ReadOnly):
    list_display = ("workspace", "user", "roles", "agents")
    list_select_related = ("workspace", "user")


@admin.register(models.Invitation, site=site)
class Invitations(ReadOnly):
    list_display = ("workspace", "email", "roles", "inviter", "ended_at_ms")
    list_select_related = ("workspace", "inviter")
    exclude = ("digest",)


@admin.register(models.ApiKey, site=site)
class Keys(ReadOnly):
    list_display = ("__str__", "workspace", "owner", "scopes", "revoked_at_ms", "last_used_at_ms")
    list_select_related = ("workspace", "owner")
    exclude = ("digest",)


@admin.register(models.AuditRow, site=site)
class AuditRows(ReadOnly):
    list_display = ("sequence", "workspace", "action", "actor_label", "at_ms")
    list_select_related = ("workspace",)
    list_filter = ("workspace",)
    exclude = ("sealed", "seal_key")
