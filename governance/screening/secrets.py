"""Finding credentials in a text: pure, and never asks anybody whether one is valid.

The shapes of tokens are detect-secrets' where it has them and they take time in proportion to the
text; those it lacks, and a word such as *password* with what follows it, stand here.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

_DETECTORS: tuple[type[RegexBasedDetector], ...] = (
    AWSKeyDetector,
    AzureStorageKeyDetector,
    BasicAuthDetector,
    DiscordBotTokenDetector,
    GitHubTokenDetector,
    GitLabTokenDetector,
    MailchimpDetector,
    PrivateKeyDetector,
    PypiTokenDetector,
    SendGridDetector,
    SlackDetector,
    SquareOAuthDetector,
    StripeDetector,
    TelegramBotTokenDetector,
    TwilioKeyDetector,
)
#: Where a group is named ``value``, only that is the secret. Possessive and bounded throughout:
#: a text is a hundred thousand characters of anybody's choosing.
_FURTHER: Mapping[str, str] = {
    "memorywire key": r"\bmw_[0-9a-f]{10}_[0-9a-f]{48}\b",
    "JSON Web Token": r"\beyJ[\w-]{8,1000}+\.eyJ[\w-]{8,4000}+\.[\w-]{10,1000}+",
    "OpenAI or Anthropic key": r"\bsk-[A-Za-z0-9_-]{20,200}+",
    "GitHub token": r"\bgithub_pat_[A-Za-z0-9_]{50,100}+",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}\b",
    "Google key": r"\bAIza[A-Za-z0-9_-]{35}",
    "private key": r"-----BEGIN ENCRYPTED PRIVATE KEY-----",
    # What follows must hold a digit or a sign, or "the password is kept safe" would be one.
    "password or key": (
        r"(?i:\b(?:password|passwd|passphrase|passcode|pin|api[ _-]?key|secret(?:[ _-]key)?|"
        r"access[ _-]?token|auth[ _-]?token)[\"']?\s{0,3}(?:is|was|=|:=|:)\s{0,3})"
        r"[\"'“`]?(?P<value>(?=[^\s\d\W]{0,40}[\d!#$%&*+?@^~=/_-])[^\s\"'”`]{4,200}+)"
    ),
}


@dataclass(frozen=True, slots=True)
class Secret:
    """What looks like a credential: where, and what kind in words."""

    start: int
    end: int
    kind: str


def _patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for kind, pattern in _FURTHER.items():
        yield kind, re.compile(pattern)
    for detector in _DETECTORS:
        for compiled in detector().denylist:
            yield str(detector.secret_type), compiled


_PATTERNS = tuple(_patterns())


def find(text: str) -> tuple[Secret, ...]:
    """Every credential in a text, in its order; of those that overlap, the first."""
    found = [
        Secret(*match.span("value" if "value" in pattern.groupindex else 0), kind)
        for kind, pattern in _PATTERNS
        for match in pattern.finditer(text)
    ]
    apart: list[Secret] = []
    for secret in sorted(found, key=lambda secret: secret.start):
        if not apart or secret.start >= apart[-1].end:
            apart.append(secret)
    return tuple(apart)
