"""Every page, light and dark, narrow and wide: accessible, inside its width, usable by keyboard."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.urls import URLPattern
from playwright.sync_api import Browser, Page

from benchmarks.local_server import started
from governance.web.urls import urlpatterns
from tests.browser.screens import NARROW, NO_PAGES, SCHEMES, SCREENS, WIDTHS, Screen, Theatre, dress

pytestmark = pytest.mark.browser

#: WCAG 2.2, levels A and AA, and what axe-core counts as good practice.
_RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],
}
_TABS = 45


@pytest.fixture(scope="module")
def theatre(browser: Browser) -> Iterator[Theatre]:
    with started(email_url="smtp+plain://127.0.0.1:1") as server:
        opened = Theatre(browser, server)
        yield opened
        opened.close()


def test_every_page_is_in_the_list() -> None:
    addresses = {each.name for each in urlpatterns if isinstance(each, URLPattern) and each.name}
    listed = {screen.route for screen in SCREENS if screen.route}
    assert listed | NO_PAGES == addresses
    assert not listed & NO_PAGES


def test_names_are_unique() -> None:
    assert len({screen.name for screen in SCREENS}) == len(SCREENS)


@pytest.mark.parametrize("screen", SCREENS, ids=lambda screen: screen.name)
def test_a_screen(theatre: Theatre, screen: Screen) -> None:
    with theatre.showing(screen) as page:
        assert page.evaluate(_MOVING) == []
        page.evaluate(Axe().axe_script)
        for width in WIDTHS:
            for scheme in SCHEMES:
                dress(page, width=width, scheme=scheme)
                assert _violations(page) == [], (width, scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        for width in (768, 1920):
            dress(page, width=width, scheme="light")
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        _walk(page)


def _violations(page: Page) -> list[str]:
    found = page.evaluate("options => axe.run(document, options)", _RULES)["violations"]
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found
        for node in each["nodes"]
    ]


def _walk(page: Page) -> None:
    """Whatever Tab leads to can be seen, and shows that it has the focus."""
    dress(page, width=NARROW, scheme="light")
    for _ in range(_TABS):
        page.keyboard.press("Tab")
        seen = page.evaluate(_FOCUSED)
        if seen is None:
            return
        assert seen["ring"], seen
        assert seen["visible"], seen


#: What moves although the system asks for no motion.
_MOVING = """() => [...document.querySelectorAll("body *")].filter((each) => {
  const style = getComputedStyle(each);
  return style.animationName !== "none" || !/^0s(, 0s)*$/.test(style.transitionDuration);
}).map((each) => each.outerHTML.slice(0, 200))"""

#: A choice of `.seg` and a checkbox carry the ring, or are drawn, on their label.
_FOCUSED = """() => {
  const at = document.activeElement;
  if (!at || at === document.body) return null;
  const drawn = [at, at.closest("label")].filter(Boolean);
  const ring = drawn.some((each) => {
    const style = getComputedStyle(each);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  });
  const box = drawn.at(-1).getBoundingClientRect();
  const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
  const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
  const visible = [[.5, .5], [.1, .1], [.9, .1], [.1, .9], [.9, .9]].some(([x, y]) => {
    const hit = document.elementFromPoint(left + (right - left) * x, top + (bottom - top) * y);
    return hit && drawn.some((each) => each.contains(hit));
  });
  return { ring, visible, what: at.outerHTML.slice(0, 200) };
}"""
