"""How a message is said to a webhook and to an Alertmanager (API v2), and one POST.

The webhook's JSON: `id` (of the message, also its header Idempotency-Key), `status` (firing or resolved), `severity` and
`episode`, which is what `hostsight explain --json` shows.
"""

from __future__ import annotations

import http.client
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from hostsight import __version__
from hostsight.clock import SECOND_NS, iso
from hostsight.errors import RefusedError, SettingsError, StoreUnavailableError
from hostsight.settings import AlertSettings
from jobs.alerts import Alert, Receiver, receivers
from models.episode_state import Severity

STANDS_NS = 300 * SECOND_NS
"""An Alertmanager takes an alert for resolved when it was not told again for so long."""

_TRY_AGAIN = {408, 425, 429}
_WORDS = 200


def address(settings: AlertSettings, receiver: Receiver) -> str:
    """Where messages go. Raises SettingsError where that is no address."""
    text: str = getattr(settings, receiver)
    if not _is_address(text):
        raise SettingsError(
            f"[alerts] {receiver} is no http or https address; write one such as http://localhost:9093, and a token into [alerts] token_file"
        )
    return text.rstrip("/") + "/api/v2/alerts" if receiver == "alertmanager" else text


def _is_address(text: str) -> bool:
    try:
        parts = urllib.parse.urlsplit(text)
        host = (parts.hostname or "").encode("idna")
        named = parts.scheme in {"http", "https"} and bool(host) and parts.port != 0
    except ValueError:  # of a port, an IPv6 address or a host name that is none
        return False
    return named and "@" not in parts.netloc and not re.search(r"[\s\x00-\x1f\x7f]", text)


def check_outward(settings: AlertSettings) -> None:
    """Raises SettingsError for an address, token or file that can never serve."""
    for name in receivers(settings):
        address(settings, name)
        _authorization(settings)
    path = Path(settings.textfile)
    if settings.textfile and (path.suffix != ".prom" or not path.parent.is_dir()):
        raise SettingsError(
            f"[alerts] textfile = {path} must end in .prom and lie in a folder that exists, that of node_exporter's --collector.textfile.directory"
        )


def shown(url: str) -> str:
    """An address without its path, which may be a secret."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def webhook_message(alert: Alert) -> bytes:
    return msgspec.json.encode(
        {
            "id": alert.id,
            "status": alert.status,
            "severity": alert.severity,
            "episode": msgspec.Raw(alert.body.encode()),
            "hostsight": __version__,
        }
    )


def alertmanager_message(alerts: Sequence[tuple[Alert, Severity, bool]], now_ns: int) -> bytes:
    """(alert, severity to name it by, whether it fires), each as one alert; severity is a label, to route by."""
    return msgspec.json.encode([_alertmanager(*each, now_ns) for each in alerts])


def _alertmanager(alert: Alert, severity: Severity, firing: bool, now_ns: int) -> dict[str, object]:
    episode = msgspec.json.decode(alert.body, type=dict[str, object])
    told = ("summary", "subsystem", "device", "metric", "cause", "model")
    return {
        "labels": {
            "alertname": "HostsightEpisode",
            "host": episode["host"],
            "episode": str(alert.episode_id),
            "severity": severity,
        },
        "annotations": {key: str(episode[key]) for key in told if episode[key]},
        "startsAt": episode["opened"],
        "endsAt": iso(now_ns + STANDS_NS if firing else now_ns),
    }


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A POST that is redirected would arrive as a GET without its body."""

    def redirect_request(self, *_args: object, **_options: object) -> None:
        return None


def post(settings: AlertSettings, url: str, body: bytes, headers: Mapping[str, str]) -> None:
    """Raises RefusedError for what will never be taken, StoreUnavailableError where trying again may help."""
    told = {
        "Content-Type": "application/json",
        "User-Agent": f"hostsight/{__version__}",
        **headers,
        **_authorization(settings),
    }
    request = urllib.request.Request(url, body, told, method="POST")  # noqa: S310  # `address` lets http and https through
    try:
        opener = urllib.request.build_opener(_NoRedirect)
        opener.open(
            request, timeout=float(settings.timeout)
        ).close()  # the status alone says that it was taken
    except urllib.error.HTTPError as error:
        with error:
            _raise(url, error)
    except (OSError, http.client.HTTPException) as error:
        raise StoreUnavailableError(f"{shown(url)} cannot be reached: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """`Connection refused` of what urllib has wrapped."""
    cause = getattr(error, "reason", None) or error
    return str(getattr(cause, "strerror", None) or cause)


def _body(error: urllib.error.HTTPError) -> bytes:
    """Its beginning; nothing where it does not come."""
    try:
        return error.read(_WORDS)
    except (OSError, http.client.HTTPException):
        return b""


def _raise(url: str, error: urllib.error.HTTPError) -> None:
    words = " ".join(_body(error).decode("utf-8", "replace").split())
    sentence = f"{shown(url)} answers {error.code} {error.reason}" + (f": {words}" if words else "")
    if error.code >= http.client.INTERNAL_SERVER_ERROR or error.code in _TRY_AGAIN:
        raise StoreUnavailableError(sentence, status=error.code) from error
    raise RefusedError(sentence, words=words) from error


def _authorization(settings: AlertSettings) -> dict[str, str]:
    if not settings.token_file:
        return {}
    try:
        token = Path(settings.token_file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not in UTF-8"
        raise SettingsError(
            f"[alerts] token_file = {settings.token_file} cannot be read ({reason}); name a file that holds the token"
        ) from error
    if not (token.isascii() and token.isprintable()):
        raise SettingsError(
            f"[alerts] token_file = {settings.token_file} holds more than a token; leave the token alone in it, on one line"
        )
    return {"Authorization": f"Bearer {token}"}
