"""A reviewer at work without a browser: what other people do while a test watches a page."""

import re
from types import TracebackType
from typing import Any, Self

import httpx

from tests.browser.chromium import code_now

_FIELD = re.compile(r'name="(csrfmiddlewaretoken|shown)" value="([^"]+)"')

_SECRET = re.compile(r'id="secret" readonly value="(\w+)"')
_ADD = "/account/second-factor/add"


class Person:
    """Logged in for as long as the block lasts; decides on what the page shows, as forms do."""

    def __init__(self, address: str, *, email: str, password: str) -> None:
        self._client = httpx.Client(
            base_url=address, headers={"Origin": address, "Referer": f"{address}/"}, timeout=30
        )
        form = {**self._hidden("/login"), "login": email, "password": password}
        self._client.post("/login", data=form)
        assert self._client.get("/queue").status_code == 200, "the log-in was refused"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    @property
    def cookies(self) -> str:
        """What a browser would send with every request."""
        return "; ".join(f"{name}={value}" for name, value in self._client.cookies.items())

    def decide(self, path: str, verdict: str, **fields: Any) -> None:
        """Approve or reject the proposal at ``path`` as it is now."""
        form = {**self._hidden(path), "verdict": verdict, **fields}
        answer = self._client.post(f"{path}/decision", data=form)
        assert answer.status_code == 303, answer.text

    def approve(self, path: str, **fields: Any) -> None:
        self.decide(path, "approve", **fields)

    def reject(self, path: str, **fields: Any) -> None:
        self.decide(path, "reject", **fields)

    def turn_on_the_app(self, password: str) -> None:
        """Ask for a code at every log-in from now on."""
        self.post("/account/confirm", "/account/confirm", password=password)
        shown = self._client.get(_ADD).text  # once: each time it is another secret
        found = _SECRET.search(shown)
        assert found, "no secret was shown"
        form = {**dict(_FIELD.findall(shown)), "code": code_now(found.group(1))}
        assert self._client.post(_ADD, data=form).status_code == 302

    def post(self, path: str, shown_at: str, **fields: Any) -> httpx.Response:
        """Send a form of the page at ``shown_at`` to ``path``."""
        return self._client.post(path, data={**self._hidden(shown_at), **fields})

    def _hidden(self, path: str) -> dict[str, str]:
        answer = self._client.get(path)
        answer.raise_for_status()
        return dict(_FIELD.findall(answer.text))
