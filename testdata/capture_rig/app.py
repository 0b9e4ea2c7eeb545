# SPDX-License-Identifier: MIT OR Apache-2.0
"""The dynamic part of the web site, run inside the server namespace behind nginx."""

import http.server
import random
import time
import urllib.parse


class App(http.server.BaseHTTPRequestHandler):
    """The dynamic part of the web site: it thinks for `ms` milliseconds and answers `bytes` bytes, or pushes events."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536
    disable_nagle_algorithm = True

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = {key: float(value) for key, value in urllib.parse.parse_qsl(url.query)}
        if url.path == "/app/events":
            self.events(int(query["n"]), query["gap"])
        else:
            self.answer(query)

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(
            {key: float(value) for key, value in urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query)}
        )

    def answer(self, query):
        time.sleep(query["ms"] / 1000)
        body = b"x" * int(query["bytes"])
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def events(self, count, gap):
        rng = random.Random(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for _ in range(count):
            time.sleep(rng.expovariate(1 / gap))
            event = b"data: " + b"x" * rng.randrange(40, 1200) + b"\n\n"
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, *_):
        pass


def serve_app():
    """Serves until it is ended."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 8080), App)
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__":
    serve_app()
