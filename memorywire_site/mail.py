"""The mail server, read off one address."""

from typing import Any
from urllib.parse import unquote, urlsplit

_SMTP = "django.core.mail.backends.smtp.EmailBackend"
_NOWHERE = "django.core.mail.backends.dummy.EmailBackend"
_TIMEOUT_SECONDS = 10
#: Scheme -> usual port, STARTTLS, TLS from the start.
_KINDS = {
    "smtp": (587, True, False),
    "smtps": (465, False, True),
    "smtp+plain": (25, False, False),
}


def server(url: str) -> dict[str, Any]:
    """Django's settings for a mail server; for none, mail goes nowhere.

    Raises: ValueError.
    """
    if not url:
        return {"EMAIL_BACKEND": _NOWHERE}
    parts = urlsplit(url)
    if parts.scheme not in _KINDS or not parts.hostname:
        raise ValueError("expected smtp://user:password@host:587 or smtps://user:password@host:465")
    port, starts_tls, is_tls = _KINDS[parts.scheme]
    return {
        "EMAIL_BACKEND": _SMTP,
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or port,
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
        "EMAIL_USE_TLS": starts_tls,
        "EMAIL_USE_SSL": is_tls,
        "EMAIL_TIMEOUT": _TIMEOUT_SECONDS,
    }
