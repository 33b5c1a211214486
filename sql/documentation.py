"""`docs/views.md`, made from the `.sql` files: `python -m sql.documentation > docs/views.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from sql.derivation import Derived, catalogue
from sql.views import View, views

_HEAD = """# Views and derived metrics

Made from `sql/views.sql` and `sql/derived/*.sql` by `python -m sql.documentation`; change those files, not this page.

`hostsight sql "QUERY"` and the console's SQL view run one statement of DuckDB's SQL over the views below: SELECT, WITH,
DESCRIBE, SUMMARIZE, SHOW TABLES or EXPLAIN. It runs in a process of its own that can write nothing and read no other
file, within `[sql] timeout` and `[sql] memory`. Columns may be added; none is renamed or removed. Times are UTC, and so is
`now()::TIMESTAMP`, with which they compare. The lake's Parquet files can also be read by any other tool.

```sql
-- what every channel did in the last minute
SELECT channel_id, avg(value), max(value) FROM samples WHERE ts > now()::TIMESTAMP - INTERVAL 1 MINUTE GROUP BY ALL;

-- the mean of each CPU's busy time over the last ten minutes that were stored
SELECT c.device, avg(f.mean) AS busy
FROM features f JOIN channels c USING (channel_id)
WHERE c.metric = 'busy_percent' AND f.window_end > (SELECT max(window_end) FROM features) - INTERVAL 10 MINUTE
GROUP BY c.device ORDER BY busy DESC;

-- what explained each episode most
SELECT e.id, e.opened, e.severity, a.subsystem, a.device, a.metric, a.share, a.expected, a.actual, a.unit
FROM episodes e JOIN attributions a ON a.episode_id = e.id
WHERE a."rank" = 1 ORDER BY e.opened DESC;
```
"""


def views_markdown() -> str:
    """The whole page, ending in a newline."""
    sections = [_HEAD, "## Views\n", *map(_view, views()), _DERIVED_HEAD, *map(_derived, catalogue())]
    return "\n".join(sections)


def _view(view: View) -> str:
    rows = ((f"`{column.name}`", column.type, column.meaning) for column in view.columns)
    return "\n".join(
        [f"### {view.name}\n", f"{view.meaning}\n", *_table(("column", "type", "meaning"), rows), ""]
    )


_DERIVED_HEAD = """## Derived metrics

Channels with source `derived`, computed each second from the channels named here, where a host has them all. They are
in `features` and `channels`, not in `samples`.
"""


def _derived(derived: Derived) -> str:
    inputs = ", ".join(f"`{subsystem} {metric}`" for subsystem, metric in derived.inputs)
    whose = "each device that has all inputs" if derived.grain == "device" else "the host"
    rows = [
        ("subsystem, unit", f"{derived.subsystem}, {derived.unit}"),
        ("of", whose),
        ("inputs", inputs + (f" of `{derived.devices}`" if derived.devices != "*" else "")),
        ("formula", f"`{derived.formula}`"),
    ]
    return "\n".join([f"### {derived.metric}\n", f"{derived.meaning}\n", *_table(("", ""), rows), ""])


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield _row(head)
    yield _row(("---",) * len(head))
    yield from map(_row, rows)


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    sys.stdout.write(views_markdown())
