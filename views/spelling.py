"""The known word that a misspelt one most likely meant, for hints in error messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The closest known word, if any is close; case is ignored.

    >>> nearest("quries", ["queries", "readers"])
    'queries'
    """
    by_folded = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(word.casefold()[:100], by_folded, n=1, cutoff=0.55)
    return by_folded[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str], kind: str) -> str:
    """A hint: the nearest known word, else the list of them.

    >>> did_you_mean("zzz", ["orders", "nation"], "tables")
    'known tables: orders, nation'
    """
    names = list(known)
    close = nearest(word, names)
    if close is not None:
        return f"did you mean {close!r}?"
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"known {kind}: {shown}" if names else f"there are no {kind}"
