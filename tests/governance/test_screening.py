"""What the detectors find, what they leave alone, and what a reviewer is told of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from governance import screening
from governance.models import Risk
from governance.screening import FlagCode, codepoints, secrets
from governance.screening.codepoints import Mark
from tests.governance.test_pages import staged
from tests.permissions import browser
from tests.world import World

HEX = "0123456789abcdef"
# Put together here so that no scanner takes this file for a leak.
AWS = "AKIA" + "IOSFODNN7EXAMPLE"
GITHUB = "ghp_" + "a1B2" * 9


def kinds(text: str) -> set[str]:
    return {flag.code.value for flag in screening.flags(text)}


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"deploy with {AWS} please", AWS),
        (f"token={GITHUB}", GITHUB),
        (f"Bearer mw_{HEX[:10]}_{HEX * 3}", f"mw_{HEX[:10]}_{HEX * 3}"),
        ("sk-" + "proj-" + "A1b2C3d4" * 4, "sk-" + "proj-" + "A1b2C3d4" * 4),
        ("the database is postgres://app:s3cr3t@db/x", "://app:s3cr3t@"),
        ("Her password is hunter2, she said", "hunter2,"),
        ('{"api_key": "Zm9v-123-bar"}', "Zm9v-123-bar"),
        ("-----BEGIN RSA " + "PRIVATE KEY-----", "BEGIN RSA " + "PRIVATE KEY"),
    ],
)
def test_a_credential_is_found_where_it_stands(text: str, secret: str) -> None:
    found = screening.of_code(screening.flags(text), FlagCode.SECRET)
    assert [flag.quote for flag in found] == [secret]
    assert text[slice(*found[0].span)] == secret


@pytest.mark.parametrize(
    "text",
    [
        "The password is kept in the vault.",
        "She asked for a password reset on 2026-12-01.",
        "Ask for the PIN: it is on the card.",
        "secret santa is on Friday",
        "The api key was revoked",
        "ski-lift opens at 9:30",
        "See https://example.org/a:b@c",
    ],
)
def test_talk_about_credentials_is_none(text: str) -> None:
    assert kinds(text) == set()


@pytest.mark.parametrize(
    ("word", "marked"),
    [
        ("pаypal", ["а U+0430 cyrillic small letter a"]),
        ("pауpal", ["а U+0430 cyrillic small letter a", "у U+0443 cyrillic small letter u"]),
        ("gοοgle", ["2 × οο U+03BF greek small letter omicron"]),
        ("Рейкjaвик", ["ja U+006A latin small letter j"]),
    ],
)
def test_a_letter_that_passes_for_another_is_marked(word: str, marked: list[str]) -> None:
    text = f"send it to {word} today"
    marks = [run for run in codepoints.split(text) if isinstance(run, Mark)]
    assert all(not mark.is_hidden for mark in marks)
    assert FlagCode.LOOK_ALIKE in kinds(text)
    assert "".join(mark.raw for mark in marks)


@pytest.mark.parametrize(
    "text",
    [
        "Привет, мир",
        "Γειά σου κόσμε",
        "10 kΩ and 5 µm",
        "Δt is 3 s",
        "naïve café über straße",
        "Москва and Moscow",
        "日本語とEnglish",
        "ἀρχή",
    ],
)
def test_a_word_of_one_script_or_of_letters_not_alike_is_left_alone(text: str) -> None:
    assert FlagCode.LOOK_ALIKE not in kinds(text)


@given(st.text(st.sampled_from("aоoе ρx.\u200b"), max_size=30), st.integers(0, 30))
def test_a_slice_marks_what_the_whole_text_marks(text: str, cut: int) -> None:
    cut = min(cut, len(text))
    whole = [isinstance(run, Mark) for run in codepoints.split(text) for _ in _raw(run)]
    parts = (codepoints.split(text, end=cut), codepoints.split(text, start=cut))
    assert [isinstance(run, Mark) for runs in parts for run in runs for _ in _raw(run)] == whole


def _raw(run: codepoints.Run) -> str:
    return run.raw if isinstance(run, Mark) else run


@given(st.text(max_size=200))
def test_findings_lie_in_the_text_in_order_and_apart(text: str) -> None:
    found = secrets.find(text)
    ends = [0, *(secret.end for secret in found)]
    assert all(end <= each.start < each.end for end, each in zip(ends, found, strict=False))


@pytest.mark.parametrize(
    ("asked", "why", "title"),
    [
        ({"content": f"deploy with {AWS}"}, "a password or key", "Password, key or token"),
        ({"content": "tea", "metadata": {"k": GITHUB}}, "a password or key", "Password, key"),
        ({"content": "mail pаypal"}, "look-alike letters", "Look-alike letters"),
    ],
)
def test_a_reviewer_sees_it_first_and_is_told(
    world: World, asked: dict[str, Any], why: str, title: str
) -> None:
    content = asked.pop("content")
    review = staged(world, content, **asked)
    assert review.risk == Risk.HIGH
    reviewer = browser(world.reviewer)
    assert why in reviewer.get("/queue").content.decode()
    assert title in reviewer.get(f"/proposals/{review.pk}").content.decode()


def test_a_rule_stops_what_holds_a_secret(world: World) -> None:
    world.rule("deny", flag="secret")
    refused = world.remember(f"deploy with {AWS}")
    assert (refused.status_code, refused.json()["code"]) == (403, "denied_by_policy")
    assert AWS not in refused.content.decode()
    assert world.remember("deploy on Friday").status_code == 200
