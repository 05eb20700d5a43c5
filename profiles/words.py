"""Numbers as people read them: durations, counts, factors, shares and sizes."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """
    >>> duration(372), duration(0.0421), duration(0), duration(93784)
    ('6 m 12 s', '42 ms', '0 s', '1 d 2 h')
    """
    if seconds <= 0:
        return "0 s"
    if seconds < 1:
        return f"{max(seconds * 1000, 1):.0f} ms" if seconds >= 0.001 else "<1 ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for large, small, size, part in (("d", "h", 86_400, 3600), ("h", "m", 3600, 60), ("m", "s", 60, 1)):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size:,} {large}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


def tiny(seconds: float) -> str:
    """A time that may be very short.

    >>> tiny(7.0), tiny(0.0123), tiny(3e-7), tiny(1.5e-9), tiny(0)
    ('7 s', '12 ms', '0.3 µs', '1.5 ns', '0')
    """
    for unit, each, least in (("s", 1.0, 1.0), ("ms", 1e-3, 1e-3), ("µs", 1e-6, 1e-7), ("ns", 1e-9, 0.0)):
        if seconds > 0 and seconds >= least:
            return f"{float(f'{seconds / each:.2g}'):g} {unit}"
    return "0"


def signed(seconds: float) -> str:
    """A duration that may be less than nothing.

    >>> signed(90), signed(-0.5)
    ('1 m 30 s', '−500 ms')
    """
    return duration(seconds) if seconds >= 0 else f"−{duration(-seconds)}"


def factor(more: float, less: float) -> str:
    """How much more one cost is than another.

    >>> factor(112, 100), factor(240, 100), factor(5, 0)
    ('+12 %', '×2.4', 'more')
    """
    if less <= 0:
        return "more" if more > 0 else "equal"
    ratio = more / less
    if ratio < 1:
        return f"−{1 - ratio:.0%}".replace("%", " %")
    return f"+{ratio - 1:.0%}".replace("%", " %") if ratio < 2 else f"×{ratio:,.{1 if ratio < 100 else 0}f}"


def number(value: float) -> str:
    """
    >>> number(96), number(0.25), number(1500000), number(3.14159)
    ('96', '0.25', '1,500,000', '3.1')
    """
    if value == 0 or value >= 10 or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.2g}"


def short(value: float) -> str:
    """A number that may be very small.

    >>> short(0.000123), short(12345.6), short(3)
    ('0.000123', '12,346', '3')
    """
    return number(value) if value == 0 or value >= 10 or float(value).is_integer() else f"{value:.3g}"


def many(count: float, thing: str) -> str:
    """
    >>> many(1, "read"), many(96, "update")
    ('1 read', '96 updates')
    """
    return f"{number(count)} {thing}" + ("" if count == 1 else "es" if thing.endswith("sh") else "s")


def percent(share: float) -> str:
    """
    >>> percent(0.934), percent(0.004), percent(0)
    ('93 %', '0.4 %', '0 %')
    """
    return f"{share * 100:.{1 if 0 < share < 0.01 else 0}f} %"


def size(amount: float) -> str:
    """Bytes.

    >>> size(0), size(1500), size(3.2e9)
    ('0 B', '1.5 kB', '3.2 GB')
    """
    for unit, each in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if amount >= each:
            return f"{amount / each:,.{1 if amount < 10 * each else 0}f} {unit}"
    return f"{amount:.0f} B"
