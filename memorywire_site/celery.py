"""The Celery application. The outbox in the ledger is what lasts; messages only wake."""

import os
from typing import Any

from celery import Celery
from celery.signals import setup_logging

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memorywire_site.settings")

app = Celery("memorywire")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["governance"])


@setup_logging.connect  # type: ignore[untyped-decorator]
def leave_logging_alone(**_: Any) -> None:
    """While anybody listens here, a worker does not set the root logger's level to its own."""
