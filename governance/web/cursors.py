"""Places in a list that a page hands out: signed, so good for one workspace and list only."""

from django.core import signing

from governance.errors import BadRequest

_SALT = "governance.audit.cursor"
_MEMORY_SALT = "governance.memories.cursor"


def sign(workspace_id: str, sequence: int) -> str:
    return signing.dumps([workspace_id, sequence], salt=_SALT)


def read(workspace_id: str, cursor: str) -> int:
    """The sequence a cursor stands for.

    Raises: BadRequest if it was altered or given to another workspace.
    """
    try:
        owner, sequence = signing.loads(cursor, salt=_SALT)
    except signing.BadSignature as error:
        raise BadRequest("This is not a place in the audit log.", code="bad_cursor") from error
    if owner != workspace_id:
        raise BadRequest("This is not a place in the audit log.", code="bad_cursor")
    return int(sequence)


def sign_place(workspace_id: str, created_at: int, memory_id: str) -> str:
    """A place among the memories."""
    return signing.dumps([workspace_id, created_at, memory_id], salt=_MEMORY_SALT)


def read_place(workspace_id: str, cursor: str) -> tuple[int, str]:
    """When the memory at a place was made, and its id.

    Raises: BadRequest if it was altered or given to another workspace.
    """
    try:
        owner, created_at, memory_id = signing.loads(cursor, salt=_MEMORY_SALT)
    except signing.BadSignature as error:
        raise BadRequest("This is no place among memories.", code="bad_cursor") from error
    if owner != workspace_id:
        raise BadRequest("This is no place among memories.", code="bad_cursor")
    return int(created_at), str(memory_id)
