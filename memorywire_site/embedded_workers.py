"""Celery's worker and beat inside the serving process: the embedded default, no broker server.

Started by ``serve`` after any fork. The queue dies with the process; the outbox in the ledger is
what lasts, and beat looks at it again at once after the next start.
"""

import threading
import warnings
from pathlib import Path
from tempfile import mkdtemp

from celery.beat import EmbeddedService
from celery.platforms import SecurityWarning

from memorywire_site.celery import app


def start() -> None:
    """Run one worker for both queues, and beat, in daemon threads."""
    # Celery warns of running as root with a broker that others could write to: ours is in memory.
    warnings.simplefilter("ignore", SecurityWarning)
    threading.Thread(target=_work, name="celery-worker", daemon=True).start()
    # Only this process's own timetable: it need not outlive it.
    schedule = Path(mkdtemp(prefix="memorywire-beat-")) / "schedule"
    EmbeddedService(app, thread=True, schedule_filename=str(schedule)).start()


def _work() -> None:
    app.Worker(
        pool="solo",
        queues=["delivery", "maintenance"],
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        loglevel="WARNING",
        quiet=True,
    ).start()
