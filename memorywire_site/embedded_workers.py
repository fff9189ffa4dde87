"""Celery's worker and beat inside the serving process: the embedded default, no broker server.

Started by ``serve`` after any fork. The queue dies with the process; the outbox in the ledger is
what lasts, and beat looks at it again at once after the next start.
"""

import logging
import shutil
import threading
import warnings
from pathlib import Path
from tempfile import mkdtemp

from celery.beat import EmbeddedService
from celery.platforms import EX_OK, SecurityWarning
from celery.worker import state

from memorywire_site.celery import app

log = logging.getLogger(__name__)

STOP_SECONDS = 5.0


class Workers:
    """One worker for both queues, and beat, in daemon threads."""

    def __init__(self) -> None:
        # Celery warns of running as root with a broker that others could write to: ours is in
        # memory.
        warnings.simplefilter("ignore", SecurityWarning)
        # Only this process's own timetable: it need not outlive it.
        self._folder = Path(mkdtemp(prefix="memorywire-beat-"))
        self._beat = EmbeddedService(
            app, thread=True, schedule_filename=str(self._folder / "schedule")
        )
        self._worker = threading.Thread(target=_work, name="celery-worker", daemon=True)

    def start(self) -> None:
        self._worker.start()
        self._beat.start()
        for name in ("fill_stores", "deliver_due"):  # beat begins with a pause
            app.send_task(f"governance.tasks.{name}")

    def stop(self) -> None:
        """Let the task that runs finish, and begin no other."""
        state.should_stop = EX_OK  # read by the worker between two tasks
        self._beat.stop()
        self._worker.join(STOP_SECONDS)
        if self._worker.is_alive():
            log.warning("the worker did not stop within %s seconds", STOP_SECONDS)
        shutil.rmtree(self._folder, ignore_errors=True)


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
