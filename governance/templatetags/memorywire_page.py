"""Small pieces of every page: icons and points in time."""

from datetime import datetime
from typing import Literal

from django import template
from django.forms import BoundField
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()


@register.simple_tag
def icon(name: str, kind: str = "") -> SafeString:
    """A symbol of the sprite. It only repeats a word beside it, so readers aloud skip it."""
    return format_html(
        '<svg class="icon{}" viewBox="0 0 16 16" aria-hidden="true"><use href="#i-{}"/></svg>',
        f" icon--{kind}" if kind else "",
        name,
    )


@register.simple_tag
def control(
    field: BoundField, label: str = "", hint: str = "", *, focus: bool = False
) -> SafeString:
    """One field of a Django form, with its label, its hint and what is wrong with it."""
    name = field.html_name
    described = [f"p-{name}"] * bool(field.errors) + [f"h-{name}"] * bool(hint)
    attributes: dict[str, str | bool] = {"class": "input", "id": f"f-{name}", "placeholder": False}
    attributes["aria-describedby"] = " ".join(described) or False  # False leaves it out
    attributes["autofocus"] = focus or bool(field.errors)
    if field.errors:
        attributes["aria-invalid"] = "true"
    return render_to_string(
        "forms/_control.html",
        {
            "field": field,
            "label": label or field.label,
            "hint": hint,
            "widget": field.as_widget(attrs=attributes),
        },
    )


@register.simple_tag
def moment(at: datetime, show: Literal["age", "minute", "exact"] = "minute") -> SafeString:
    """A point in time: in UTC as served, in the reader's own zone once times.js has run."""
    return format_html(
        '<time datetime="{}" data-show="{}">{} UTC</time>',
        at.isoformat(timespec="milliseconds"),
        show,
        f"{at.day} {at:%b %Y, %H:%M}",
    )
