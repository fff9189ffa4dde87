"""The app's entry in Django's registry."""

from django.apps import AppConfig
from django.db.models.signals import post_migrate


class GovernanceConfig(AppConfig):
    name = "governance"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # One registers the system checks, the other hears what people change.
        from governance import accounts, checks  # noqa: F401
        from governance.models import triggers

        # SQLite rebuilds a table to alter it and drops its triggers without a word.
        post_migrate.connect(triggers.reinstall, sender=self)
