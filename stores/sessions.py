"""Which session an episode belongs to."""

import json

from stores.wire import MemoryRecord, MemoryType


def session_of(record: MemoryRecord) -> str | None:
    """``metadata.session`` as JSON text, which tells ``1`` from ``"1"``.

    None for what is no episode, and for a session that is neither a string nor an integer.
    """
    session = record.metadata.get("session")
    is_name = isinstance(session, str | int) and not isinstance(session, bool)
    if record.type is not MemoryType.EPISODIC or not is_name:
        return None
    return json.dumps(session, ensure_ascii=False)
