"""HTML from values: whatever is not markup already is text, and is escaped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from html import escape
from typing import Any


class Html(str):
    """Markup; made by `tag` and `join` only, so that no text of a user becomes markup."""

    __slots__ = ()


Content = str | int | float | Html | None | Iterable["Content"]

_UNIT = re.compile(r"(?<=[\d×]) (?=(?:ms|s|m|h|d|%|kB|MB|GB|EUR|USD)(?![\w]))|(?<= =) (?=\d)")
"""Where a line must not end: between a number and its unit."""
_EMPTY = frozenset({"br", "col", "hr", "img", "input", "meta"})


def tag(name: str, /, *content: Content, **attributes: str | float | bool | None) -> Html:
    """An element; `class_` is class, `data_x` is data-x, an attribute that is None or False is left out.

    >>> tag("p", "a < b ", tag("em", "now"), class_="note", hidden=True)
    '<p class="note" hidden>a &lt; b <em>now</em></p>'
    """
    given = "".join(
        f" {_attribute(key)}" if value is True else f' {_attribute(key)}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Html(f"<{name}{given}>" + ("" if name in _EMPTY else f"{join(content)}</{name}>"))


def _attribute(key: str) -> str:
    return key.rstrip("_").replace("_", "-")


def join(content: Content) -> Html:
    """Text and markup one after the other; None is nothing.

    >>> join(["1 < 2", None, [tag("b", 3)]])
    '1 &lt; 2<b>3</b>'
    """
    if content is None:
        return Html()
    if isinstance(content, Html):
        return content
    if isinstance(content, str | int | float):
        return Html(escape(_UNIT.sub("\u00a0", str(content))))
    return Html("".join(map(join, content)))


def verbatim(text: str) -> Html:
    """Text with every blank as it is, for code that is copied."""
    return Html(escape(text))


def json_element(identity: str, value: Any) -> Html:
    """Data for the page's script; "<" is escaped, which inside a script element could end it.

    >>> json_element("d", {"sql": "</script>"})
    '<script type="application/json" id="d">{"sql":"\\\\u003c/script>"}</script>'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return Html(f'<script type="application/json" id="{escape(identity)}">{text}</script>')


def script(code: str, kind: str | None = None, identity: str | None = None) -> Html:
    """Code of this package, as it is."""
    attributes = (f' type="{kind}"' if kind else "") + (f' id="{identity}"' if identity else "")
    return Html(f"<script{attributes}>{code}</script>")
