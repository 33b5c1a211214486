"""A receiver of alerts on a free port of this machine: it keeps what it is told and answers as a test sets."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Receiver:
    """told: (path, headers, decoded body) of each request that was answered with 2xx; asked: how many came in all.

    hangs: it answers nothing until the end of the test.  stalls: it says what it makes of a request, and then nothing.
    """

    url: str = ""
    status: int = 200
    words: str = ""
    asked: int = 0
    hangs: bool = False
    stalls: bool = False
    told: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)

    @property
    def bodies(self) -> list[Any]:
        return [body for _, _, body in self.told]


@contextmanager
def receiving() -> Iterator[Receiver]:
    receiver = Receiver()
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.asked += 1
            if receiver.hangs:
                over.wait()
                return
            if receiver.status < 300:
                receiver.told.append((self.path, dict(self.headers), json.loads(body)))
            self.send_response(receiver.status)
            if receiver.status == 302:
                self.send_header("Location", "/elsewhere")
            if receiver.stalls:
                self.send_header("Content-Length", "100")
            self.end_headers()
            if receiver.stalls:
                over.wait()
                return
            self.wfile.write(receiver.words.encode())

        do_GET = do_POST  # noqa: N815  # http.server names it so

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield receiver
    finally:
        over.set()
        server.shutdown()
        thread.join()
        server.server_close()
