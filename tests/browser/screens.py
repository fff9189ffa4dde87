"""Every page, in every state worth looking at: one list, for the accessibility tests and the shots.

A new page is one line here; ``test_screens.py`` fails until it has one.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, BrowserContext, Page, expect

from benchmarks.local_server import LocalServer
from tests.browser.chromium import code_now, log_in
from tests.browser.stage import Login, Stage, admin_of, set_up

#: Leads from the page as it is loaded to the state to look at.
Then = Callable[[Page, Stage], object]

WIDE, NARROW = 1280, 320
WIDTHS = (WIDE, NARROW)
SCHEMES = ("light", "dark")
HEIGHT = 900


@dataclass(frozen=True, slots=True)
class Screen:
    """``route`` is the name of an address in ``governance/web/urls.py``, empty for an error.

    ``path`` may name ids of the stage in braces. ``who`` is empty for nobody.
    """

    name: str
    route: str
    path: str
    then: Then | None = None
    who: str = "admin"
    empty: bool = False
    """In the workspace in which nothing has happened yet."""


#: Addresses that answer with no page of their own: they act, redirect, or fill a part of a page.
NO_PAGES = frozenset(
    {
        *("queue_changes", "decide", "revoke_key", "audit_export", "remove_member"),
        *("withdraw_invitation", "work_in"),
        *("openid_connect_login", "openid_connect_callback", "mfa_index"),
        "mfa_download_recovery_codes",
    }
)


def press(*keys: str) -> Then:
    def then(page: Page, stage: Stage) -> None:
        for key in keys:
            page.keyboard.press(key)

    return then


def click(name: str) -> Then:
    """The first button or opener of that name; the page it leads to is waited for."""
    return lambda page, stage: page.locator("button, summary", has_text=name).first.click()


def click_link(name: str) -> Then:
    """The first link of that name."""
    return lambda page, stage: page.locator("a", has_text=name).first.click()


def send_elsewhere(path: str, **fields: str) -> Then:
    """Send a form of the page to another address, as an old page would."""

    def then(page: Page, stage: Stage) -> None:
        with page.expect_navigation():
            page.evaluate(_SEND, [path.format_map(stage.ids), fields])

    return then


_SEND = """([path, fields]) => {
  const form = document.querySelector(".page form[method=post]");
  form.action = path;
  for (const [name, value] of Object.entries(fields)) {
    form.querySelector(`[name=${name}]`)?.remove();
    form.append(Object.assign(document.createElement("input"), { name, value }));
  }
  HTMLFormElement.prototype.submit.call(form);
}"""


def _menu(page: Page, stage: Stage) -> None:
    page.locator(".menu--user summary").click()


def _help(page: Page, stage: Stage) -> None:
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()


def _approve(page: Page, stage: Stage) -> None:
    expect(page.locator("#live")).to_be_visible()
    page.keyboard.press("a")
    expect(page.locator("#toast")).to_contain_text("Approved")


def _overtake(page: Page, stage: Stage) -> None:
    """What the proposal is compared with changes after it was shown, and then it is approved."""
    thing = {"entity": "office.dubai"}
    stage.remembered("Dubai opens at nine.", metadata=thing)
    page.keyboard.press("a")
    expect(page.get_by_role("alert")).to_be_visible()


def _decided_first(page: Page, stage: Stage) -> None:
    page.route("**/queue/changes*", lambda route: route.fulfill(status=204))  # hears nothing
    page.keyboard.press("r")
    page.get_by_label("Or in your own words").fill("Typed before I knew.")
    with stage.person("reviewer") as reviewer:
        reviewer.reject(page.url.removeprefix(stage.server.address))
    page.keyboard.press("Enter")
    expect(page.get_by_label("You had typed this")).to_be_visible()


def _go_offline(page: Page, stage: Stage) -> None:
    expect(page.locator("#live")).to_be_visible()
    page.route("**/queue/changes*", lambda route: route.abort())
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator("#offline-note")).to_be_visible()


def _wrong_password(page: Page, stage: Stage) -> None:
    log_in(page, "nobody@example.com", "wrong")
    expect(page.get_by_role("alert")).to_be_visible()


def _weak(page: Page, stage: Stage) -> None:
    for field in page.locator("input[type=password]").all():
        field.fill("password")
    for field in page.get_by_label("Your name").all():
        field.fill("Noor")
    page.locator("form .btn--primary").click()
    expect(page.locator(".problem").first).to_be_visible()


_ADD = "/account/second-factor/add"
_REMOVE = "/account/second-factor/remove"
_NEW_CODES = "/account/recovery-codes/new"


def _confirm(page: Page, stage: Stage) -> None:
    """Who changes how they log in is asked for their password first."""
    if "/account/confirm" in page.url:
        page.get_by_label("Password").fill(stage.people["guarded"].password)
        page.get_by_role("button", name="Go on").click()
    expect(page.locator("#secret")).to_be_visible()


def _turn_on(page: Page, stage: Stage) -> None:
    _confirm(page, stage)
    page.get_by_label("Code from the app").fill(code_now(page.locator("#secret").input_value()))
    page.get_by_role("button", name="Turn it on").click()
    expect(page.get_by_label("Codes")).to_be_visible()


def _log_in_guarded(page: Page, stage: Stage) -> None:
    login = stage.people["coded"]
    log_in(page, login.email, login.password)
    expect(page.get_by_role("textbox", name="Code")).to_be_visible()


def _invite_nobody(page: Page, stage: Stage) -> None:
    page.get_by_label("E-mail").fill("mei@example.com")
    page.get_by_role("button", name="Invite").click()
    expect(page.get_by_role("alert")).to_be_visible()


def _invite_another(page: Page, stage: Stage) -> None:
    page.get_by_label("E-mail").fill("another@example.com")
    page.get_by_role("button", name="Invite").click()
    expect(page.get_by_label("Link")).to_be_visible()


def _make_a_key(page: Page, stage: Stage) -> None:
    page.get_by_label("Note").fill("made for a look")
    page.get_by_label("Every agent of the workspace").check()
    page.get_by_role("button", name="Make the key").click()
    expect(page.get_by_label("Key", exact=True)).to_be_visible()


def _refuse_a_limit(page: Page, stage: Stage) -> None:
    click_link("Limit")(page, stage)
    page.get_by_label("Calls a minute").fill("many")
    page.get_by_role("button", name="Set the limit").click()


def _rotate_a_key(page: Page, stage: Stage) -> None:
    page.locator("summary", has_text="Rotate").first.click()
    page.get_by_role("button", name="Rotate", exact=True).first.click()
    expect(page.get_by_label("Key", exact=True)).to_be_visible()


def _fill_wrongly(page: Page, stage: Stage) -> None:
    page.get_by_label("Name").fill("wrong")
    page.get_by_label("Confidence below").fill("much")
    page.get_by_role("button", name="Put in force").click()
    expect(page.get_by_role("alert")).to_be_visible()


def _take_my_own_role(page: Page, stage: Stage) -> None:
    page.get_by_role("group", name="Roles of Admin").get_by_label("Admin").uncheck()
    page.get_by_role("button", name="Save roles of Admin").click()
    expect(page.get_by_role("alert")).to_be_visible()


def _open_row(page: Page, stage: Stage) -> None:
    page.locator(".log__toggle").first.click()
    expect(page.locator(".detail").first).to_be_visible()


_SCREENS = (
    Screen("login", "account_login", "/login", who=""),
    Screen("login-refused", "account_login", "/login", _wrong_password, who=""),
    Screen("login-inactive", "account_inactive", "/login/inactive", who=""),
    Screen("login-failed", "socialaccount_login_error", "/login/failed", who=""),
    Screen("login-cancelled", "socialaccount_login_cancelled", "/login/cancelled", who=""),
    Screen("logout", "account_logout", "/logout"),
    Screen("password-reset", "account_reset_password", "/password/reset", who=""),
    Screen("password-sent", "account_reset_password_done", "/password/reset/sent", who=""),
    Screen("password-new", "account_reset_password_from_key", "{reset}", who=""),
    Screen("password-weak", "account_reset_password_from_key", "{reset}", _weak, who=""),
    Screen("password-bad-link", "account_reset_password_from_key", "/password/reset/1-x-y", who=""),
    Screen("password-set", "account_reset_password_from_key_done", "/password/reset/done", who=""),
    Screen("invitation", "invitation", "{invitation}", who=""),
    Screen("invitation-refused", "invitation", "{invitation}", _weak, who=""),
    Screen("invitation-other", "invitation", "{invitation}"),
    Screen("account", "account", "/account", who="reviewer"),
    Screen("account-password", "account_change_password", "/account/password", who="reviewer"),
    Screen("account-first", "account_set_password", "/account/password/first", who="guarded"),
    Screen("account-confirm", "account_reauthenticate", "/account/confirm", who="reviewer"),
    Screen("account-app", "mfa_activate_totp", _ADD, _confirm, who="guarded"),
    Screen("account-codes", "mfa_view_recovery_codes", _ADD, _turn_on, who="guarded"),
    Screen(
        "account-app-off", "mfa_deactivate_totp", "/account/second-factor/remove", who="guarded"
    ),
    Screen("account-on", "account", "/account", who="guarded"),
    Screen("account-codes-new", "mfa_generate_recovery_codes", _NEW_CODES, who="guarded"),
    Screen("account-confirm-code", "mfa_reauthenticate", "/account/confirm/code", who="guarded"),
    Screen("login-code", "mfa_authenticate", "/login", _log_in_guarded, who=""),
    Screen("queue", "queue", "/queue"),
    Screen("queue-empty", "queue", "/queue", empty=True),
    Screen("queue-help", "queue", "/queue", _help),
    Screen("queue-menu", "queue", "/queue", _menu),
    Screen("queue-offline", "proposal", "/proposals/{new}", _go_offline),
    Screen("queue-auditor", "queue", "/queue", who="auditor"),
    Screen("proposal-new", "proposal", "/proposals/{new}"),
    Screen("proposal-supersede", "proposal", "/proposals/{supersede}"),
    Screen("proposal-split", "proposal", "/proposals/{supersede}", click("Side by side")),
    Screen("proposal-hidden", "proposal", "/proposals/{hidden}"),
    Screen("proposal-careful", "proposal", "/proposals/{hidden}", press("a")),
    Screen("proposal-reject", "proposal", "/proposals/{supersede}", press("r")),
    Screen("proposal-edit", "proposal", "/proposals/{supersede}", press("e")),
    Screen("proposal-procedure", "proposal", "/proposals/{procedure}"),
    Screen("proposal-rtl", "proposal", "/proposals/{rtl}"),
    Screen("proposal-cjk", "proposal", "/proposals/{cjk}"),
    Screen("proposal-emoji", "proposal", "/proposals/{emoji}"),
    Screen("proposal-unbroken", "proposal", "/proposals/{unbroken}"),
    Screen("proposal-long", "proposal", "/proposals/{long}"),
    Screen("proposal-forget", "proposal", "/proposals/{forget}"),
    Screen("proposal-for-good", "proposal", "/proposals/{for-good}"),
    Screen("proposal-merge", "proposal", "/proposals/{merge}"),
    Screen("proposal-moved", "proposal", "/proposals/{moved}"),
    Screen("proposal-stale", "proposal", "/proposals/{rtl}", _overtake),
    Screen("proposal-too-late", "proposal", "/proposals/{emoji}", _decided_first),
    Screen("proposal-toast", "proposal", "/proposals/{cjk}", _approve),
    Screen("proposal-approved", "proposal", "/proposals/{approved}"),
    Screen("proposal-edited", "proposal", "/proposals/{edited}"),
    Screen("proposal-rejected", "proposal", "/proposals/{rejected}", who="reviewer"),
    Screen("memories", "memories", "/memories"),
    Screen("memories-none", "memories", "/memories?words=nothing+of+the+kind"),
    Screen("memories-empty", "memories", "/memories", empty=True),
    Screen("memory", "memory", "/memories/{known}"),
    Screen("memory-staged", "memory", "/memories/{staged}"),
    Screen("memory-superseded", "memory", "/memories/{superseded}"),
    Screen("memory-forgotten", "memory", "/memories/{forgotten}"),
    Screen("memory-erased", "memory", "/memories/{erased}"),
    Screen("rules", "rules", "/rules"),
    Screen("rules-empty", "rules", "/rules", empty=True),
    Screen("rules-saved", "switch_rule", "/rules", click("Switch off")),
    Screen("rule-new", "new_rule", "/rules/new"),
    Screen("rule-refused", "new_rule", "/rules/new", _fill_wrongly),
    Screen("rule", "rule", "/rules/1"),
    Screen("keys", "keys", "/keys"),
    Screen("keys-open", "keys", "/keys", click("Rotate")),
    Screen("key-new", "new_key", "/keys/new"),
    Screen("key-refused", "new_key", "/keys/new", click("Make the key")),
    Screen("key-made", "new_key", "/keys/new", _make_a_key),
    Screen("key-limit", "limit_key", "/keys", click_link("Limit")),
    Screen("key-limit-refused", "limit_key", "/keys", _refuse_a_limit),
    Screen("key-rotated", "rotate_key", "/keys", _rotate_a_key),
    Screen("members", "members", "/members"),
    Screen("members-alone", "members", "/members", empty=True),
    Screen("members-agents", "members", "/members", click("Agents…")),
    Screen("member-invite", "invite", "/members/invite"),
    Screen("member-invite-refused", "invite", "/members/invite", _invite_nobody),
    Screen("member-invited", "invite", "/members/invite", _invite_another),
    Screen("members-refused", "change_member", "/members", _take_my_own_role),
    Screen("settings", "settings", "/settings"),
    Screen("settings-saved", "settings", "/settings", click("Save the name")),
    Screen("audit", "audit", "/audit"),
    Screen("audit-filtered", "audit", "/audit?memory={known}"),
    Screen("audit-none", "audit", "/audit?agent=nobody"),
    Screen("audit-opened", "audit", "/audit", _open_row),
    Screen("audit-row", "audit_row", "/audit/3"),
    Screen("error-400", "", "/audit?cursor=wrong"),
    Screen("error-403", "", "/keys", who="reviewer"),
    Screen("error-403-form", "", "/rules", send_elsewhere("/rules/1", csrfmiddlewaretoken="x")),
    Screen("error-404", "", "/nowhere"),
    Screen("error-404-proposal", "", "/proposals/01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    Screen("error-409", "", "/rules", send_elsewhere("/rules/1/switch", seen="99")),
)

SCREENS = tuple(sorted(_SCREENS, key=lambda screen: not screen.empty))


class Theatre:
    """Opens screens on a fresh server, each person in one browser context that stays logged in.

    The stage is set for the first screen that is not of the empty workspace: those come first.
    """

    def __init__(self, browser: Browser, server: LocalServer) -> None:
        self._browser = browser
        self._stage = Stage(server=server, people={"admin": admin_of(server)})
        self._is_set = False
        self._contexts: dict[str, BrowserContext] = {}

    def close(self) -> None:
        for context in self._contexts.values():
            context.close()

    @contextmanager
    def showing(self, screen: Screen) -> Iterator[Page]:
        """The screen, in a tab of its own."""
        if screen.empty and self._is_set:
            raise RuntimeError("the empty workspace is shown before the stage is set")
        if not screen.empty and not self._is_set:
            set_up(self._stage)
            self._is_set = True
        page = self._context(screen.who).new_page()
        page.set_default_timeout(8_000)
        try:
            page.goto(screen.path.format_map(self._stage.ids))
            if screen.then:
                screen.then(page, self._stage)
            yield page
        finally:
            page.close()

    def _context(self, who: str) -> BrowserContext:
        if who not in self._contexts:
            self._contexts[who] = self._enter(self._stage.people.get(who))
        return self._contexts[who]

    def _enter(self, login: Login | None) -> BrowserContext:
        context = self._browser.new_context(
            base_url=self._stage.server.address,
            reduced_motion="reduce",
            viewport={"width": WIDE, "height": HEIGHT},
        )
        if login:
            page = context.new_page()
            page.goto("/queue")
            log_in(page, login.email, login.password)
            page.wait_for_url("**/queue")
            page.close()
        return context


def dress(page: Page, *, width: int, scheme: str) -> None:
    """Show the page that is open in another width and theme; nothing is loaded anew."""
    page.set_viewport_size({"width": width, "height": HEIGHT})
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
