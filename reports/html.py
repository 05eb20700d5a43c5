"""HTML from values: whatever is not markup already is text, and is escaped."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable
from html import escape
from zlib import compress


class Html(str):
    """Markup; made by `tag` and `join` only, so that no text of a user becomes markup."""

    __slots__ = ()


Content = str | int | float | Html | None | Iterable["Content"]

_UNIT = re.compile(
    r"(?<=[\d×]) (?=(?:ms|s|m|h|d|%|kB|MB|GB|EUR|USD)(?![\w]))|(?<=\d [dhm]) (?=\d+ [hms]\b)|(?<= =) (?=\d)"
)
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


def packed(identity: str, text: str) -> Html:
    """Text for the page's script, deflated: a report of many views is mailed around.

    >>> packed("d", "</script>").count("</script>")
    1
    """
    data = b64encode(compress(text.encode(), 9, wbits=-15)).decode()
    return Html(f'<script type="text/plain" id="{escape(identity)}">{data}</script>')


def script(code: str) -> Html:
    """Code of this package, as it is."""
    return Html(f"<script>{code}</script>")
