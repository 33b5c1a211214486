"""What `hostsight sql` takes for its query."""

from __future__ import annotations

import click
import pytest

from cli.commands.sql import command


@pytest.mark.parametrize("query", ["-- a comment\nSELECT 1", "--\nSELECT 1", "SELECT 1 -- one", "-"])
def test_a_query_may_begin_with_a_comment(query: str) -> None:
    context = command.make_context("sql", ["--format", "json", query])
    assert context.params["query"].lstrip() == query
    assert context.params["form"] == "json"


def test_a_wrong_option_is_no_query() -> None:
    with pytest.raises(click.NoSuchOption, match="--formt"):
        command.make_context("sql", ["--formt", "json"])
