"""``manage.py reembed``: move an installation to the configured embedder."""

from typing import Any

from django.core.management.base import BaseCommand

from governance import reembedding, stores_runtime


class Command(BaseCommand):
    help = (
        "Make every vector anew by MEMORYWIRE_EMBEDDER and fill the stores with them. "
        "Stop the server first. May be interrupted and run again."
    )

    def handle(self, **options: Any) -> None:
        for progress in reembedding.run():
            self.stdout.write(f"{progress.stage} {progress.done} of {progress.total}")
        stores_runtime.close()
        self.stdout.write("Done: every memory is ranked by the configured embedder.")
