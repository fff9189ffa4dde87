"""A workspace's own settings: the only mutator of them, inside the caller's transaction."""

from governance import audit, walls
from governance.audit import Cause
from governance.errors import FieldError, Invalid
from governance.models import Workspace

NAME_MAX = 150


def rename(workspace_id: str, name: str, *, cause: Cause) -> None:
    """Give a workspace another name; its slug, which commands use, stays.

    Raises: Invalid.
    """
    walls.enter(workspace_id)
    if not name or len(name) > NAME_MAX:
        message = f"A name has 1 to {NAME_MAX} characters."
        problem = FieldError(field="name", code="workspace_invalid", message=message)
        raise Invalid(message, errors=(problem,))
    workspace = Workspace.objects.get(pk=workspace_id)
    if name == workspace.name:
        return
    facts = {"name": name, "before": workspace.name}
    workspace.name = name
    workspace.save(update_fields=["name"])
    audit.note(workspace_id, "workspace.renamed", facts, cause=cause)
