"""The one place that talks to InfluxDB: `influxdb-client`, with its errors turned into hostsight's own.

A write is one synchronous request of ready line protocol; an answer is streamed as it comes. The client's own gzip is
level 9, which costs more than the server's work: requests are compressed here at level 1, or not at all on loopback.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlsplit

import influxdb_client
import urllib3
from influxdb_client.rest import ApiException

from hostsight.errors import HostsightError, RefusedError, SettingsError, StorageError, StoreUnavailableError
from hostsight.settings import InfluxSettings
from ingest.influx.answer import ERROR_COLUMNS

_BITS = 1 << 16
_REFUSED = {400, 413, 422}
_NO_ORGANISATION = re.compile(r"organization name .* not found")
_NO_BUCKET = re.compile(r"bucket|database")
_DIALECT = influxdb_client.Dialect(header=True, annotations=[], delimiter=",", comment_prefix="#")


class Answer(NamedTuple):
    """Header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def document(self) -> dict[str, Any]:
        """The body as a JSON object; an empty one where it is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def words(self) -> str:
        """What the server says of a failure."""
        document = self.document()
        text = document.get("message") or document.get("error") or self.body.decode("utf-8", "replace")
        return " ".join(str(text).split())[:500] or f"status {self.status}"


class InfluxClient:
    """Use it from one thread; `close` it, or use it as a context.

    Every method raises StoreUnavailableError where trying again later, or after a person mended something, may help.
    """

    def __init__(self, settings: InfluxSettings) -> None:
        self.settings = settings
        self.compressed = _compressed(settings)
        _check(settings)
        if not settings.verify:  # as the settings say; a warning a request would fill the log
            urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        self._client = influxdb_client.InfluxDBClient(
            url=settings.url,
            token=read_token(settings) or None,
            org=settings.org or "-",
            timeout=_milliseconds(settings.timeout),
            verify_ssl=settings.verify,
            ssl_ca_cert=settings.ca_file or None,
        )
        self._writes = influxdb_client.WriteService(self._client.api_client)
        self._queries = influxdb_client.QueryService(self._client.api_client)

    def write(self, lines: bytes) -> None:
        """Write line protocol; when it returns, the server has it on disk.

        Raises RefusedError where the server will never take it; points that it has nothing against may be stored even so.
        """
        body, encoding = (gzip.compress(lines, 1), "gzip") if self.compressed else (lines, "identity")
        self._authorisation()
        with _Mapped(self.settings, "write"):
            self._writes.post_write(
                org=self.settings.org or "-",
                bucket=self.settings.bucket,
                body=body,
                precision="ns",
                content_encoding=encoding,
                content_type="text/plain; charset=utf-8",
            )

    def query(self, flux: str) -> Iterator[bytes]:
        """The answer to a query as CSV without annotations, in pieces. Raises StorageError for a query that cannot be."""
        self._authorisation()
        with _Mapped(self.settings, "query"):
            response: Any = self._queries.post_query(
                org=self.settings.org or "-",
                query=influxdb_client.Query(query=flux, dialect=_DIALECT),
                accept_encoding="gzip" if self.compressed else "identity",
                _preload_content=False,
                _request_timeout=(
                    _milliseconds(self.settings.timeout),
                    _milliseconds(self.settings.export_timeout),
                ),
            )
            try:
                yield from response.stream(_BITS, decode_content=True)
            finally:
                response.close()
                response.release_conn()

    def rows(self, flux: str) -> list[dict[str, str]]:
        """All rows of a small answer, by column name. Raises as `query` does."""
        text = b"".join(self.query(flux)).decode("utf-8")
        found: list[dict[str, str]] = []
        header: list[str] = []
        for row in csv.reader(io.StringIO(text, newline="")):
            if not row:
                header = []
            elif not header:
                header = row
            else:
                found.append(dict(zip(header, row, strict=False)))
        return checked(found)

    def ask(self, method: str, path: str, body: bytes | None = None) -> Answer:
        """What the server answers to a request of `path`, whatever its status is; `body` is JSON."""
        with _Mapped(self.settings, "ask"):
            rest: Any = self._client.api_client.rest_client
            answer = rest.pool_manager.request(
                method,
                self.settings.url.rstrip("/") + path,
                body=body,
                headers={"Content-Type": "application/json"} | self._authorisation(),
                timeout=urllib3.Timeout(total=float(self.settings.timeout)),
                redirect=False,
            )
            headers = {name.lower(): value for name, value in answer.headers.items()}
            return Answer(int(answer.status), headers, bytes(answer.data))

    def stream(self, path: str, accept: str) -> Iterator[bytes]:
        """The answer to a GET of `path`, in pieces."""
        with _Mapped(self.settings, "query"):
            rest: Any = self._client.api_client.rest_client
            answer = rest.pool_manager.request(
                "GET",
                self.settings.url.rstrip("/") + path,
                headers={"Accept": accept, "Accept-Encoding": "gzip" if self.compressed else "identity"}
                | self._authorisation(),
                timeout=urllib3.Timeout(
                    connect=float(self.settings.timeout), read=float(self.settings.export_timeout)
                ),
                preload_content=False,
                redirect=False,
            )
            try:
                if answer.status >= 300:
                    error = ApiException(status=int(answer.status), reason=answer.reason)
                    error.body = answer.read()
                    raise error
                yield from answer.stream(_BITS, decode_content=True)
            finally:
                answer.close()
                answer.release_conn()

    def _authorisation(self) -> dict[str, str]:
        """The header that every request has. A token file may hold another token by now; while it cannot be read, the one
        before may still do."""
        headers = self._client.api_client.default_headers
        if self.settings.token_file and not self.settings.token:
            with suppress(SettingsError):
                headers["Authorization"] = f"Token {read_token(self.settings)}"
        return {name: value for name, value in headers.items() if name == "Authorization"}

    def close(self) -> None:
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_token(settings: InfluxSettings) -> str:
    """The token itself, or an empty text. Raises SettingsError where its file cannot be read, or it can be no token."""
    if settings.token or not settings.token_file:
        return _fit_for_header(settings.token.reveal(), "HOSTSIGHT_INFLUX_TOKEN")
    try:
        token = Path(settings.token_file).expanduser().read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise SettingsError(
            f"[influx] token_file = '{settings.token_file}' cannot be read ({reason}); correct the path or its rights"
        ) from error
    return _fit_for_header(token, f"[influx] token_file = '{settings.token_file}'")


def _fit_for_header(token: str, where: str) -> str:
    """`token`, which no error may show. Raises SettingsError where a request cannot carry it."""
    if token.isascii() and token.isprintable():
        return token
    raise SettingsError(f"{where} holds more than a token; leave the token alone in it, on one line")


def checked(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """`rows`, unless one of them is the error with which the server ended its answer."""
    for row in rows:
        if row.keys() >= ERROR_COLUMNS:
            raise StoreUnavailableError(
                f"InfluxDB ended its answer with an error: {row['error']}; it is asked again"
            )
    return rows


class _Mapped:
    """A context in which the errors of `influxdb-client` and urllib3 become hostsight's."""

    def __init__(self, settings: InfluxSettings, doing: str) -> None:
        self._settings = settings
        self._doing = doing

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ApiException):
            raise _of_answer(error, self._settings, self._doing) from error
        if isinstance(error, (urllib3.exceptions.HTTPError, OSError)):
            raise _of_connection(error, self._settings) from error


def _of_connection(error: Exception, settings: InfluxSettings) -> StoreUnavailableError:
    inner = _innermost(error)
    if isinstance(inner, ssl.SSLCertVerificationError):
        return StoreUnavailableError(
            f"InfluxDB at {settings.url} shows a certificate that is not trusted ({inner.verify_message}); name the file of who vouches for it as [influx] ca_file"
        )
    return StoreUnavailableError(
        f"InfluxDB at {settings.url} cannot be reached ({_reason(inner)}); start it, or correct [influx] url"
    )


def _innermost(error: BaseException) -> BaseException:
    """The reason behind the library's errors, which is the one that a person knows."""
    while True:
        candidates = (getattr(error, "reason", None), error.__cause__, *error.args)
        inner = next((one for one in candidates if isinstance(one, BaseException)), None)
        if inner is None:
            return error
        error = inner


def _reason(error: BaseException) -> str:
    """Such as `Connection refused`."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, (urllib3.exceptions.TimeoutError, TimeoutError)):
        return "it does not answer in time"
    return str(error).rpartition(": ")[2] or type(error).__name__


def _of_answer(error: ApiException, settings: InfluxSettings, doing: str) -> HostsightError:
    status = int(error.status or 0)
    words = _words(error)
    if _NO_ORGANISATION.search(words):  # 404 to a write, 400 to a query
        return no_organisation(settings)
    if status in _REFUSED and doing == "write":
        return RefusedError(
            f"InfluxDB refused a batch: {words}; see spool/rejected", words=words, too_large=status == 413
        )
    if status in _REFUSED:
        return StorageError(f"InfluxDB at {settings.url} does not understand a {doing}: {words}")
    return StoreUnavailableError(
        _unavailable(status, words, settings), status=status, retry_seconds=_retry_seconds(error)
    )


def _unavailable(status: int, words: str, settings: InfluxSettings) -> str:
    where = f"InfluxDB at {settings.url}"
    if status == 500 and "no database" in words:  # 1.8 says so where 2.x answers 404
        status = 404
    if status == 401:
        return unauthorised(settings, words)
    if status == 403:
        return f"{where} denies this token what is needed ({words}); give it read and write rights on bucket '{settings.bucket}'"
    if status == 404 and not _NO_BUCKET.search(words):
        return f"what answers at {settings.url} has no such API of InfluxDB 2.x ({words}); `hostsight store check` says what it is"
    if status == 404:
        return f"{where} has no bucket '{settings.bucket}' of organisation '{settings.org}' for this token; run `hostsight store setup`"
    return f"{where} answers {status} ({words}); it is asked again"


def unauthorised(settings: InfluxSettings, words: str) -> str:
    """What is wrong with the token, and where one is set."""
    where = f"InfluxDB at {settings.url}"
    if read_token(settings):
        return f"{where} does not accept the token ({words}); correct HOSTSIGHT_INFLUX_TOKEN, or the file that [influx] token_file names"
    if settings.token_file:
        return f"{where} wants a token, and the file '{settings.token_file}' that [influx] token_file names is empty; write one into it"
    return f"{where} wants a token, and none is set; put one into HOSTSIGHT_INFLUX_TOKEN, or into a file that [influx] token_file names"


def no_organisation(settings: InfluxSettings) -> StoreUnavailableError:
    return StoreUnavailableError(
        f"InfluxDB at {settings.url} has no organisation '{settings.org}' for this token; correct [influx] org, or use a token that may see it",
        status=404,
    )


def _words(error: ApiException) -> str:
    """What the server said, on one line."""
    body = error.body or b""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body)
    try:
        document = json.loads(text)
        text = str(document.get("message") or document.get("error") or text)
    except (ValueError, AttributeError):
        pass
    return " ".join(text.split())[:2000] or str(error.reason or "no reason given")


def _retry_seconds(error: ApiException) -> float:
    try:
        return max(0.0, float(error.retry_after or 0))
    except (TypeError, ValueError):
        return 0.0


def _check(settings: InfluxSettings) -> None:
    """Raises SettingsError for an address that can be none, and for certificates that are not there."""
    parts = urlsplit(settings.url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(
            f"[influx] url = '{settings.url}' is no address; write it as http://localhost:8086"
        )
    if settings.ca_file and not Path(settings.ca_file).is_file():
        raise SettingsError(f"[influx] ca_file = '{settings.ca_file}' is not a file; correct the path")


def _compressed(settings: InfluxSettings) -> bool:
    local = urlsplit(settings.url).hostname in {"localhost", "127.0.0.1", "::1"}
    return settings.compression == "gzip" or (settings.compression == "auto" and not local)


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
