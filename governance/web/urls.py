"""Addresses of the pages."""

from django.urls import URLPattern, path
from django.views.generic import RedirectView

from governance.web import (
    account_urls,
    audit_views,
    invitation_views,
    key_views,
    member_views,
    memory_views,
    rule_views,
    settings_views,
    views,
)

urlpatterns: list[URLPattern] = [
    path("", RedirectView.as_view(pattern_name="queue")),
    *account_urls.urlpatterns,
    path("queue", views.queue, name="queue"),
    path("queue/changes", views.queue_changes, name="queue_changes"),
    path("proposals/<str:review_id>", views.proposal, name="proposal"),
    path("proposals/<str:review_id>/decision", views.decide, name="decide"),
    path("memories", memory_views.memory_list, name="memories"),
    path("memories/<path:memory_id>", memory_views.memory, name="memory"),
    path("rules", rule_views.rule_list, name="rules"),
    path("rules/new", rule_views.new_rule, name="new_rule"),
    path("rules/<int:rule_id>", rule_views.rule, name="rule"),
    path("rules/<int:rule_id>/switch", rule_views.switch, name="switch_rule"),
    path("keys", key_views.key_list, name="keys"),
    path("keys/new", key_views.new_key, name="new_key"),
    path("keys/<str:key_id>/rotate", key_views.rotate, name="rotate_key"),
    path("keys/<str:key_id>/revoke", key_views.revoke, name="revoke_key"),
    path("keys/<str:key_id>/limit", key_views.limit, name="limit_key"),
    path("members", member_views.member_list, name="members"),
    path("members/invite", invitation_views.invite, name="invite"),
    path(
        "members/invitations/<str:invitation_id>/withdraw",
        invitation_views.withdraw,
        name="withdraw_invitation",
    ),
    path("invitations/<str:token>", invitation_views.invitation, name="invitation"),
    path("members/<int:user_id>", member_views.change_roles, name="change_member"),
    path("members/<int:user_id>/remove", member_views.remove, name="remove_member"),
    path("settings", settings_views.settings, name="settings"),
    path("audit", audit_views.audit_log, name="audit"),
    path("audit/export", audit_views.export, name="audit_export"),
    path("audit/<int:sequence>", audit_views.audit_row, name="audit_row"),
]
