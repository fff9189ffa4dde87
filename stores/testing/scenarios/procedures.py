"""Procedural memories."""

import json
from typing import Final

from stores.protocol import Capability
from stores.testing.session import Session, refuses, scenario

_PROCEDURE: Final = {
    "name": "book-flight",
    "initial": "searching",
    "states": ["searching", "paying"],
    "transitions": [{"trigger": "picked", "source": "searching", "dest": "paying"}],
    "current": "searching",
}


@scenario
async def a_procedure_is_answered_as_the_object_it_describes(s: Session) -> None:
    s.needs(Capability.PROCEDURAL)
    content = json.dumps(_PROCEDURE, indent=3)
    await s.remember(content, type="procedural")
    assert await s.recall("book flight") == [_PROCEDURE]


@scenario
async def a_procedure_that_names_code_is_refused_at_every_door(s: Session) -> None:
    s.needs(Capability.PROCEDURAL)
    transition = {"trigger": "t", "source": "*", "dest": "paying", "after": "os.system"}
    bad = json.dumps(_PROCEDURE | {"transitions": [transition]})
    await refuses(s.write(bad, type="procedural"))
    await refuses(s.write(bad, type="procedural", approval_required=True))
    good = await s.remember(json.dumps(_PROCEDURE), type="procedural")
    other = await s.remember("after os.system")
    await refuses(s.merge(good, other, strategy="merge_content"))
    assert len(await s.recall("book flight", k=10)) == 2
