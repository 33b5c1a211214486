"""What a person says about an episode; each within the caller's transaction. All raise UsageError for an unknown one."""

from __future__ import annotations

import re
import sqlite3

from hostsight.errors import UsageError
from models.muting import review, review_open

_CAUSE = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def acknowledge(connection: sqlite3.Connection, episode_id: int, now_ns: int) -> None:
    """Somebody is at it: nobody is alerted about it any more, not where it opens again within `merge_gap` either. Only an open one can be."""
    row = _find(connection, episode_id)
    if row["state"] != "open":
        raise UsageError(
            f"episode {episode_id} is over, and so is what an acknowledgement would do; `false-alarm` and `cause=` still say something about it"
        )
    connection.execute("UPDATE episodes SET acknowledged_ns = ? WHERE id = ?", (now_ns, episode_id))


def take_back(connection: sqlite3.Connection, episode_id: int) -> None:
    """An acknowledgement, and nothing else that was said."""
    _find(connection, episode_id)
    connection.execute("UPDATE episodes SET acknowledged_ns = NULL WHERE id = ?", (episode_id,))


def call_false_alarm(connection: sqlite3.Connection, episode_id: int) -> None:
    """It, and what is like it on its host at no higher level, alert nobody, and the next refit learns them as normal."""
    _find(connection, episode_id)
    connection.execute("UPDATE episodes SET false_alarm_id = id WHERE id = ?", (episode_id,))
    review_open(connection)


def name_cause(connection: sqlite3.Connection, episode_id: int, cause: str) -> None:
    """Later episodes that are like it, on any host, are shown with that cause."""
    _find(connection, episode_id)
    if not _CAUSE.fullmatch(cause):
        raise UsageError(
            f"'{cause}' cannot name a cause; write it in small letters, digits, dots and dashes, such as numa-remote"
        )
    connection.execute("UPDATE episodes SET cause = ?, cause_id = id WHERE id = ?", (cause, episode_id))
    review_open(connection)


def withdraw(connection: sqlite3.Connection, episode_id: int) -> None:
    """As if nobody had ever said anything about it."""
    _find(connection, episode_id)
    connection.execute(
        """UPDATE episodes SET acknowledged_ns = NULL, cause = iif(cause_id = id, NULL, cause),
          cause_id = nullif(cause_id, id), false_alarm_id = nullif(false_alarm_id, id) WHERE id = ?""",
        (episode_id,),
    )
    review(connection, episode_id)
    review_open(connection)


def _find(connection: sqlite3.Connection, episode_id: int) -> sqlite3.Row:
    row = connection.execute("SELECT * FROM episodes WHERE id = ?", (episode_id,)).fetchone()
    if row is None:
        raise UsageError(
            f"there is no episode {episode_id} here; `hostsight anomalies` lists those there are"
        )
    found: sqlite3.Row = row
    return found
