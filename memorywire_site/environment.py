"""Every setting an operator can make, typed. ``docs/settings.md`` describes each; a test compares.

Values come from environment variables named ``MEMORYWIRE_<NAME>``. A wrong one stops the start
with the variable's name and what was expected.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from memorywire_site import databases, mail

_PACKAGE = Path(__file__).resolve().parent
PROJECT = _PACKAGE.parent
"""The folder the packages lie in: the source tree, or site-packages."""

ASSETS = _PACKAGE if (_PACKAGE / "templates").is_dir() else PROJECT
"""The folder of ``templates`` and ``static``: the wheel carries them inside this package."""


class Environment(BaseSettings):
    """The embedded default: one process, one data folder, no servers."""

    model_config = SettingsConfigDict(env_prefix="MEMORYWIRE_", extra="ignore", frozen=True)

    home: Path = Path("var")
    """The data folder: ledger, store and secrets."""

    host: str = "127.0.0.1"
    """The address to listen on. The default is reached from this machine only."""

    port: int = Field(default=8000, ge=1, le=65_535)
    """The port to listen on."""

    public_url: str = ""
    """Where people and agents reach the server; links and cookie security follow it.

    Empty: the loopback address with the port.
    """

    allowed_hosts: Annotated[list[str], NoDecode] = Field(default_factory=list)
    """Further host names to answer to, separated by commas."""

    trusted_proxies: Annotated[list[str], NoDecode] = Field(default=["127.0.0.1", "::1"])
    """Whose X-Forwarded-Proto and X-Forwarded-For are believed: addresses or networks."""

    debug: bool = False
    """Django's debug pages. Never on a server that others reach."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """The least severe log line that is written."""

    log_format: Literal["json", "line"] | None = None
    """How log lines are written. Unset: lines on a terminal, JSON elsewhere."""

    metrics: bool = False
    """Answer Prometheus at /metrics. Whoever reaches the port may read them."""

    embedder: str = "minilm"
    """minilm | static | sentence-transformers[:path]."""

    database_url: str = ""
    """The ledger: postgresql://user:password@host:port/database.

    Empty: SQLite in the data folder.
    """

    redis_url: str = ""
    """What processes share: redis://host:port/0 for live pages, Celery's messages and the cache.

    Empty: everything in one process.
    """

    email_url: str = ""
    """How mail is sent: smtp://user:password@host:587 (STARTTLS) or smtps://…:465.

    smtp+plain://host:25 for a relay on the same machine. Empty: none is sent.
    """

    email_from: str = "memorywire@localhost"
    """The sender of mail."""

    oidc_url: str = ""
    """The OpenID Connect provider: its address before /.well-known/. Empty: passwords only."""

    oidc_client_id: str = ""
    """What the provider calls this server."""

    oidc_client_secret: str = ""
    """What this server proves itself to the provider with."""

    oidc_name: str = "single sign-on"
    """What the log-in page calls it."""

    store_urls: Annotated[list[str], NoDecode] = Field(default_factory=list)
    """Stores, separated by commas, the primary first. Empty: sqlite-vec in the data folder."""

    within_limit: int = Field(default=2_000, ge=0, le=100_000)
    """Up to this many visible memories a recall names them all to the store."""

    delivery_budget_ms: int = Field(default=1_000, ge=10, le=60_000)
    """How long a write waits for the primary store before it answers without it."""

    recall_budget_ms: int = Field(default=2_000, ge=10, le=60_000)
    """How long a recall waits for a store before it answers without it."""

    reader_threads: int = Field(default=4, ge=1, le=64)
    """Threads, each with a connection of its own, that read the ledger."""

    writer_threads: int = Field(default=4, ge=1, le=64)
    """Threads that write to a ledger on PostgreSQL. SQLite has one writer, whatever this says."""

    calls_per_minute: int = Field(default=6_000, ge=0, le=1_000_000)
    """How many calls a key may make in a minute, unless it has a limit of its own. 0: any."""

    forget_review_above: int = Field(default=100, ge=0, le=1_000_000)
    """A forget by filter that would take more memories than this waits for a person."""

    demotion_factor: float = Field(default=0.25, ge=0, le=1)
    """What a demoted memory's score is multiplied by on recall."""

    embedded_workers: bool = True
    """Run the Celery worker and beat inside the serving process."""

    sweep_interval_seconds: float = Field(default=30.0, ge=0.1, le=86_400)
    """How often expired memories are swept and undelivered states are sent again."""

    @field_validator("allowed_hosts", "trusted_proxies", "store_urls", mode="before")
    @classmethod
    def _split_commas(cls, value: object) -> object:
        if isinstance(value, str):
            return [item.strip() for item in value.split(",") if item.strip()]
        return value

    @field_validator("home")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().resolve()

    @field_validator("public_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        if not value:
            return value
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            msg = "expected an address such as https://memory.example.org"
            raise ValueError(msg)
        return value.rstrip("/")

    @field_validator("database_url")
    @classmethod
    def _is_a_database(cls, value: str) -> str:
        if value and not value.startswith(("postgresql://", "postgres://")):
            msg = "expected postgresql://user:password@host:port/database"
            raise ValueError(msg)
        if value:
            databases.postgresql(value)
        return value

    @field_validator("email_url")
    @classmethod
    def _is_a_mail_server(cls, value: str) -> str:
        mail.server(value)
        return value

    @model_validator(mode="after")
    def _oidc_is_whole(self) -> Self:
        parts = (self.oidc_url, self.oidc_client_id, self.oidc_client_secret)
        if any(parts) and not all(parts):
            msg = "MEMORYWIRE_OIDC_URL, _CLIENT_ID and _CLIENT_SECRET go together"
            raise ValueError(msg)
        return self

    @field_validator("redis_url")
    @classmethod
    def _is_a_redis(cls, value: str) -> str:
        if not value:
            return value
        if urlsplit(value).scheme not in {"redis", "rediss"}:
            msg = "expected redis://host:port/0"
            raise ValueError(msg)
        if find_spec("channels_redis") is None:
            msg = "Redis needs the extra: pip install memorywire-governance[grown]"
            raise ValueError(msg)
        return value

    @property
    def address(self) -> str:
        """The public address, without a slash at its end."""
        return self.public_url or f"http://127.0.0.1:{self.port}"

    @property
    def public_host(self) -> str:
        return urlsplit(self.address).hostname or "localhost"

    @property
    def is_https(self) -> bool:
        return self.address.startswith("https://")


def _variable(where: tuple[int | str, ...]) -> str:
    return f"MEMORYWIRE_{'_'.join(map(str, where)).upper()}: " if where else ""


def load() -> Environment:
    """Read the environment, or stop the start with one line per wrong variable."""
    try:
        return Environment()
    except ValidationError as error:
        lines = [f"{_variable(item['loc'])}{item['msg']}" for item in error.errors()]
        sys.exit("The settings are wrong. See docs/settings.md.\n" + "\n".join(lines))
