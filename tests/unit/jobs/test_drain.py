"""The drain's process, without a server."""

from __future__ import annotations

import threading
import time

import pytest

from cli.main import main
from hostsight.clock import SECOND_NS, FakeClock
from hostsight.errors import LockedError, SettingsError, StoreUnavailableError
from hostsight.files import locked
from hostsight.folders import DataFolder
from hostsight.settings import InfluxSettings, Settings, StoreSettings
from ingest.influx.report import DrainReport, HostDrain, Outage, read_report, write_report
from jobs.beside import drain_beside, drain_spec
from jobs.drain import REPORT_SECONDS, DrainLoop, run_drain
from jobs.drain_status import drain_problems, read_drain
from jobs.status import read_status
from migrations import open_state
from tests.unit.storage.makers import HOST, second, writer

NOWHERE = Settings(influx=InfluxSettings(url="http://127.0.0.1:9"))


def report(**changes: object) -> DrainReport:
    facts: dict[str, object] = {
        "pid": 1, "url": "http://influx:8086", "bucket": "b", "started_ns": 0, "updated_ns": 100 * SECOND_NS,
        "rss_bytes": 1, **changes,
    }  # fmt: skip
    return DrainReport(**facts)  # type: ignore[arg-type]  # the tests name fields that exist


def problems(data: DataFolder, now_seconds: int = 100) -> list[str]:
    return list(drain_problems(data, read_drain(data, now_seconds * SECOND_NS)))


def test_a_server_that_is_away_is_told_and_the_telemetry_stays(
    data: DataFolder, capfd: pytest.CaptureFixture[str]
) -> None:
    second(writer(data), 0)
    run_drain(NOWHERE, data, seconds=0.3)
    found = read_report(data)
    assert found is not None
    assert found.error is not None
    assert "127.0.0.1:9 cannot be reached" in found.error
    assert found.hosts[0].host == HOST
    assert found.hosts[0].waiting_segments == 1
    assert capfd.readouterr().err.count("telemetry stays in the spool until it is sent") == 1


def test_status_shows_how_far_the_drain_is(data: DataFolder) -> None:
    second(writer(data), 0)
    run_drain(NOWHERE, data, seconds=0.1)
    status = read_status(data, NOWHERE, time.time_ns())
    assert status.store.kind == "influx"
    assert status.drain is not None
    assert status.drain.hosts[0].sent_values == 0
    assert any(
        line.startswith("telemetry waits in the spool since 20")
        and "InfluxDB at http://127.0.0.1:9 cannot be reached" in line
        for line in status.problems
    )
    assert not any("no jobs have run" in line for line in status.problems)


class Waiting(threading.Event):
    """Moves the clock by what is waited, and notes how old the report is by then."""

    def __init__(self, clock: FakeClock, data: DataFolder) -> None:
        super().__init__()
        self._clock, self._data = clock, data
        self.ages_seconds: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        found = read_report(self._data)
        assert found is not None
        self._clock.advance(timeout or 0.0)
        self.ages_seconds.append((self._clock.wall_ns() - found.updated_ns) / SECOND_NS)
        return False


def test_an_outage_is_shown_while_the_next_try_is_waited_for(data: DataFolder) -> None:
    second(writer(data), 0)
    clock = FakeClock()
    began_ns, stop, state = clock.wall_ns(), Waiting(clock, data), open_state(data.state_db)
    DrainLoop(NOWHERE, data, state, clock).run(stop, 40.0)
    state.close()
    assert len(stop.ages_seconds) >= 40
    assert max(stop.ages_seconds) <= REPORT_SECONDS
    found = read_report(data)
    assert found is not None
    assert found.outage is not None
    assert found.outage.since_ns == began_ns
    assert found.outage.lasting


def test_an_outage_that_is_over_is_shown_as_such(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = FakeClock()
    began_ns, stop, state = clock.wall_ns(), Waiting(clock, data), open_state(data.state_db)
    answers: list[Exception | bool] = [
        StoreUnavailableError("it is away"),
        StoreUnavailableError("it starts"),
    ]

    def step(*_: object) -> bool:
        answer = answers.pop(0) if answers else False
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr("ingest.influx.drain.Drain.step", step)
    DrainLoop(NOWHERE, data, state, clock).run(stop, 10.0)
    state.close()
    found = read_report(data)
    assert found is not None
    assert found.error is None
    assert found.outage == Outage(since_ns=began_ns, until_ns=began_ns + 3 * SECOND_NS, error="it starts")
    assert main(["--data", str(data.root), "status"]) == 0
    shown = capsys.readouterr().out
    assert (
        "nothing could be sent from 2023-11-14T22:13:20.000Z to 2023-11-14T22:13:23.000Z: it starts" in shown
    )
    assert "waits in the spool" not in shown


def test_one_drain_runs_on_a_data_folder(data: DataFolder) -> None:
    with locked(data.run / "drain.lock", "a drain"), pytest.raises(LockedError, match="already running"):
        run_drain(NOWHERE, data)


@pytest.mark.parametrize("url", ["localhost:8086", "ftp://x", "http://"])
def test_an_address_that_is_none_is_refused_at_once(data: DataFolder, url: str) -> None:
    with pytest.raises(SettingsError, match="write it as http://localhost:8086"):
        run_drain(Settings(influx=InfluxSettings(url=url)), data, stop=threading.Event())


def test_a_token_file_that_is_missing_is_named(data: DataFolder) -> None:
    settings = Settings(influx=InfluxSettings(token_file="/no/such/file"))
    with pytest.raises(SettingsError, match="token_file = '/no/such/file' cannot be read"):
        run_drain(settings, data)


def test_a_drain_that_is_silent_is_told_with_the_remedy(data: DataFolder) -> None:
    write_report(data, report())
    (problem,) = problems(data, 160)
    assert problem.startswith("nothing is sent to InfluxDB: the drain last reported 1m ago")
    assert problems(data, 101) == []


def test_segments_lost_to_the_bound_are_told(data: DataFolder) -> None:
    host = HostDrain(
        host=HOST, until_ns=1, waiting_segments=1, sent_values=1, rejected_batches=0, rejected_values=0,
        dropped_values=2, lost_segments=3,
    )  # fmt: skip
    write_report(data, report(hosts=(host,)))
    assert problems(data) == [
        "gpu01: 3 segments were deleted from the spool before InfluxDB had them; raise [spool] max_bytes",
        "gpu01: 2 infinite values were left out",
    ]


def test_an_agent_with_the_embedded_store_has_no_drain_beside_it(data: DataFolder) -> None:
    before = threading.active_count()
    with drain_beside(Settings(), data, print):
        assert threading.active_count() == before


def test_the_drain_beside_an_agent_gets_its_settings_by_environment(data: DataFolder) -> None:
    settings = Settings(
        store=StoreSettings(kind="influx"), influx=InfluxSettings(url="http://a:1", bucket="b c")
    )
    spec = drain_spec(settings, data)
    assert spec.environment["HOSTSIGHT_INFLUX_URL"] == "http://a:1"
    assert spec.environment["HOSTSIGHT_INFLUX_BUCKET"] == "b c"
    assert spec.arguments[-1] == "drain"
