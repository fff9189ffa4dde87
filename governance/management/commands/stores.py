"""``manage.py stores verify|repair|reindex``: hold a store against the ledger."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from governance import reconciliation, stores_runtime
from governance.reconciliation import Progress
from stores.errors import StoreError

_ACTIONS: dict[str, tuple[Callable[[str], Iterator[Progress]], str]] = {
    "verify": (reconciliation.verify, "say what differs; exit 1 if anything does"),
    "repair": (reconciliation.repair, "send anew what differs, and take out what should be gone"),
    "reindex": (reconciliation.reindex, "send everything anew"),
}
_SHOWN = 50


class Command(BaseCommand):
    help = "Hold what stores have against the ledger, both ways. The server may go on serving."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        for name, (_, text) in _ACTIONS.items():
            action = actions.add_parser(name, help=text)
            action.add_argument("store", nargs="?", help="its name; all of them if left out")

    def handle(self, *, action: str, store: str | None, **options: Any) -> None:
        names = stores_runtime.store_names()
        if store is not None and store not in names:
            raise CommandError(f"No store is named {store}. There are: {', '.join(names)}.")
        differ = 0
        for name in [store] if store else names:
            try:
                differ += self._run(action, name)
            except StoreError as error:
                raise CommandError(
                    f"{name} does not answer ({type(error).__name__}: {error})."
                    " What was done so far stays done: run this again."
                ) from error
        stores_runtime.close()
        if differ and action == "verify":
            raise CommandError(f"{differ} differences. 'stores repair' mends them.")

    def _run(self, action: str, name: str) -> int:
        run, _ = _ACTIONS[action]
        counts: Counter[str] = Counter()
        done = -1
        for progress in run(name):
            for finding in progress.findings:
                counts[finding.difference] += 1
                if counts.total() <= _SHOWN:
                    self.stdout.write(f"{name}: {finding.memory_id} is {finding.difference}")
            if progress.done != done:
                done = progress.done
                self.stdout.write(f"{name}: {done} of {progress.total}")
        differences = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
        outcome = {"verify": "differ", "repair": "mended", "reindex": "sent anew"}[action]
        if action == "reindex":
            self.stdout.write(f"{name}: everything was sent anew.")
        else:
            self.stdout.write(f"{name}: {differences or 'nothing'} {outcome}.")
        return counts.total()
