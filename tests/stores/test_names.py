"""Names that pass for another are refused; all others are taken as they are."""

import pytest
from pydantic import ValidationError

from stores.wire import RememberRequest, names


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("b\u0456lling-bot", "mix Latin and Cyrillic"),
        ("\u03bfmega", "mix Latin and Greek"),
        ("\uff42illing-bot", "U+FF42"),
        ("billing\u2011bot", "U+2011"),
        ("bille\u0301", "NFKC"),
        ("billing\u200bbot", "U+200B"),
        ("billing-bot\u202e", "U+202E"),
        ("billing\u00a0bot", "U+00A0"),
        ("billing\tbot", "U+0009"),
    ],
)
def test_a_name_that_passes_for_another_is_refused_and_says_why(name: str, says: str) -> None:
    assert says in (names.fault(name) or "")
    for field in ("agent_id", "user_id"):
        request = {"agent_id": "a", "type": "semantic", "content": "x", field: name}
        with pytest.raises(ValidationError, match="look_alike"):
            RememberRequest.model_validate(request)


ORDINARY = [
    "billing-bot",
    "BILLING-BOT",
    "billing bot ",
    "a%",
    "ac_e",
    "acme/x",
    "zo\u00eb@example.com",
]
FOREIGN = ["Иван", "Иван-bot", "αβγ", "東京ボット", "서울", "ผู้ช่วย", "مساعد", "🤖"]


@pytest.mark.parametrize("name", ORDINARY + FOREIGN)
def test_other_names_are_taken_as_they_are(name: str) -> None:
    assert names.fault(name) is None
