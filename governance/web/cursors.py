"""Places in the audit log that a page hands out: signed, so good for one workspace only."""

from django.core import signing

from governance.errors import BadRequest

_SALT = "governance.audit.cursor"


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
