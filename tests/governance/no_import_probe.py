"""Send procedures that name code to a server and watch what the process imports or runs.

    python -m tests.governance.no_import_probe

Also where the tests of C49 take such procedures from.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

#: Modules of these names lie on the path, are imported by nobody, and leave a mark if they are.
BAIT = ("bait_one", "bait_two")
CALLBACKS: list[dict[str, Any]] = [
    {"before": "os.system"},
    {"after": ["subprocess.run"]},
    {"prepare": "bait_one.run"},
    {"conditions": "os.getpid"},
    {"unless": ["builtins.eval"]},
    {"conditions": ["bait_two.run"]},
]
"""Parts of a transition."""
STATES_WITH_CALLBACKS: list[dict[str, Any]] = [
    {"machine": {"before_state_change": "os.system"}},
    {"machine": {"after_state_change": ["bait_one.run"]}},
    {"state": {"name": "s", "on_enter": "os.abort"}},
    {"state": {"name": "s", "on_exit": ["bait_two.run"]}},
]
"""Parts of a state, or of the machine as a whole."""


def procedure(part: dict[str, Any] | None = None) -> str:
    """A state machine as text, with one part of it replaced."""
    part = dict(part or {})
    machine, state = part.pop("machine", {}), part.pop("state", "searching")
    name = state["name"] if isinstance(state, dict) else state
    transition = {"trigger": "pay", "source": name, "dest": "paying"} | part
    whole = {
        "name": "book-flight",
        "initial": name,
        "states": [state, "paying"],
        "transitions": [transition],
        "current": name,
    }
    return json.dumps(whole | machine)


def main() -> int:
    import tests.environment  # noqa: F401  a data folder of this process's own

    folder = Path(tempfile.mkdtemp(prefix="memorywire-bait-"))
    sys.path.insert(0, str(folder))
    try:
        return _probe(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _probe(folder: Path) -> int:
    import os

    os.environ["DJANGO_SETTINGS_MODULE"] = "memorywire_site.settings"
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    from governance import embedding
    from stores.testing import HashEmbedder
    from tests.world import World

    for name in BAIT:
        (folder / f"{name}.py").write_text("def run(*_): pass\n")
    settings.ALLOWED_HOSTS.append("testserver")
    settings.STORE_URLS = ["memory://probe"]
    embedding.open_embedder = lambda name: HashEmbedder()
    call_command("migrate", verbosity=0)
    world = World.create("probe")
    world.remembered("so that everything lazy is imported")
    good = world.remembered(procedure(), type="procedural")

    seen: list[str] = []
    watched = {"os.system", "os.exec", "os.fork", "os.posix_spawn", "subprocess.Popen"}

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if event in watched or (event == "import" and arguments[0] in BAIT):
            seen.append(f"{event} {arguments[0]!r}"[:200])

    sys.addaudithook(watch)
    answers = []
    for part in [*CALLBACKS, *STATES_WITH_CALLBACKS]:
        bad = procedure(part)
        for extra in ({}, {"approval_required": True}, {"id": "moved-in"}):
            answer = world.remember(bad, type="procedural", **extra)
            answers.append(answer.status_code)
        text = world.remembered(bad)
        body = {"agent_id": "concierge", "canonical": good, "duplicates": [text]}
        answers.append(world.post("/v0/merge", body | {"strategy": "merge_content"}).status_code)
    world.recall_hits("book flight", k=100)
    print(f"{len(answers)} requests answered {set(answers)}, {len(seen)} imported or run: {seen}")
    return 0 if set(answers) == {422} and not seen else 1


if __name__ == "__main__":
    sys.exit(main())
