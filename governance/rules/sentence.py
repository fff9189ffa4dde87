"""A rule in one plain sentence: pure."""

import json
from collections.abc import Iterator

from governance.models import Effect, OperationKind
from governance.rules.terms import Terms
from governance.screening import EXPLANATIONS, FlagCode

_SUBJECTS = {
    "": "Any write of",
    OperationKind.REMEMBER: "Remembering",
    OperationKind.FORGET: "Forgetting",
    OperationKind.MERGE: "Merging",
    OperationKind.EXPIRE: "Expiring",
}
_PREDICATES = {
    Effect.ALLOW: "is allowed",
    Effect.REVIEW: "needs a person",
    Effect.DENY: "is denied",
}


def sentence(terms: Terms) -> str:
    """What happens to which writes. Quotes what admins typed: show it as text from outside."""
    article = "an" if terms.type[:1] == "e" else "a"
    thing = f"{article} {terms.type} memory" if terms.type else "any memory"
    conditions = "".join(f" {condition}" for condition in _conditions(terms))
    predicate = _PREDICATES[Effect(terms.effect)]
    # Screening looks at what is remembered only.
    subject = _SUBJECTS[OperationKind.REMEMBER if terms.flag else terms.operation]
    return f"{subject} {thing}{conditions} {predicate}.{_aside(terms)}"


def _conditions(terms: Terms) -> Iterator[str]:
    if terms.user_id:
        yield f"about the user “{terms.user_id}”"
    if terms.source:
        yield f"from the source “{terms.source}”"
    if terms.confidence_below is not None:
        yield f"with a confidence below {terms.confidence_below:g}"
    if terms.metadata:
        yield f"that meets {json.dumps(terms.metadata, ensure_ascii=False)}"
    if terms.flag:
        yield EXPLANATIONS[FlagCode(terms.flag)]
    if terms.agent_id:
        yield f"by the agent “{terms.agent_id}”"


def _aside(terms: Terms) -> str:
    # The protocol gives expire no answer that says "a person decides".
    waits = terms.effect == Effect.REVIEW and not terms.flag
    if waits and terms.operation == OperationKind.EXPIRE:
        return " An expire cannot wait for one, so it is denied."
    if waits and not terms.operation:
        return " An expire cannot wait for one and is denied."
    return ""
