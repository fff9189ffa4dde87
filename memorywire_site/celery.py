"""The Celery application. The outbox in the ledger is what lasts; messages only wake."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memorywire_site.settings")

app = Celery("memorywire")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["governance"])
