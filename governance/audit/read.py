"""Reading the log: rows by sequence, and the words of one row."""

from typing import Any

from governance import sealing
from governance.errors import NotFound
from governance.models import AuditHead, AuditRow


def head(workspace_id: str) -> int:
    """The last row's sequence; 0 while there is none. It rises with every change."""
    return AuditHead.objects.values_list("sequence", flat=True).get(pk=workspace_id)


def rows_before(workspace_id: str, sequence: int, *, limit: int) -> list[AuditRow]:
    """The ``limit`` rows below a sequence, newest first; one query.

    Sequences have no gaps and rows never change: pages neither skip nor repeat a row, however
    many are added meanwhile.
    """
    return list(
        AuditRow.objects.filter(
            workspace_id=workspace_id, sequence__lt=sequence, sequence__gte=sequence - limit
        ).order_by("-sequence")
    )


def access_row(workspace_id: str, sequence: int) -> AuditRow:
    """One row of a workspace, with the key of its words.

    Raises: NotFound, whether it is missing or another's.
    """
    row = (
        AuditRow.objects.filter(workspace_id=workspace_id, sequence=sequence)
        .select_related("seal_key")
        .first()
    )
    if row is None:
        raise NotFound("There is no such row.")
    return row


def words(row: AuditRow) -> Any | None:
    """What a row says in words, opened; None where it has none or they were erased."""
    if row.seal_key is None or row.sealed is None:
        return None
    key = sealing.data_key(row.seal_key)
    return None if key is None else key.open(bytes(row.sealed), row.commitment)
