"""The documents about views say what the program does: each table and each example is made again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.views.corpus import CATALOG
from views.definition import define
from views.reasons import PREFIX, REASONS
from views.text import rules_text

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = re.compile(
    r"^## (?P<title>.+?)$.*?^```sql\n(?P<sql>.+?)\n```\n\n^```rules\n(?P<rules>.+?)\n```$", re.M | re.S
)


def rules_examples() -> list[tuple[str, str, str]]:
    text = (DOCS / "rules.md").read_text(encoding="utf-8")
    return [(match["title"], match["sql"], match["rules"]) for match in EXAMPLE.finditer(text)]


def test_the_table_of_reasons_is_the_one_of_the_program() -> None:
    text = (DOCS / "reasons.md").read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    assert rows == [[f"`{PREFIX}{why}`", meaning, remedy] for why, (meaning, remedy) in REASONS.items()]


@pytest.mark.parametrize(("title", "sql", "rules"), rules_examples(), ids=lambda value: value.split("\n")[0][:40])
def test_the_rules_of_an_example_are_those_of_its_sql(title: str, sql: str, rules: str) -> None:
    program = define("v", sql, CATALOG).program
    assert program is not None
    assert rules == rules_text(program), title


def test_every_section_has_its_example() -> None:
    text = (DOCS / "rules.md").read_text(encoding="utf-8")
    titles = [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]
    assert titles == [title for title, _, _ in rules_examples()]
    assert text.count("```rules") == len(titles) >= 12
