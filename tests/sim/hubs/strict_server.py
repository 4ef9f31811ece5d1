# SPDX-License-Identifier: Apache-2.0
"""What the stand-ins for the hubs share: strict servers on loopback, faults on request, a report.

A stand-in answers like the real service and, beyond that, writes down every request the real one
would refuse or that leaks a credential. A test asks for the report at the end and wants it empty.

The program prints one line of JSON with its addresses and ends when its standard input does, so
that it never outlives the test that started it. With $SIM_CERTIFICATES, a folder of tests/tools/authority.py,
it speaks https, and its file host plain http as well. Control, on any of its ports:
    POST /_sim/faults   [{"where": "tree", "what": "429", "times": 2, "after": 1}]
    POST /_sim/plain    true: from now on links lead to the file host without TLS
    GET  /_sim/report   {"violations": [...], "unplayed": [], "requests": {"tree": 3}}
"""
import hashlib
import hmac
import json
import os
import re
import ssl
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PLAIN = re.compile(r"^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*$")
QUERY = re.compile(r"^(?:[A-Za-z0-9\-._~!$'()*+,;=:@/?&\[\]]|%[0-9A-Fa-f]{2})*$")
LONGEST_TARGET = 8192


class State:
    """Faults and records of one stand-in, shared by its servers and threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.violations = []
        self.requests = {}
        self.faults = []
        self.secret = b"stand-in"
        self.link_seconds = 3600
        self.plain_links = False
        self.addresses = {}

    def violation(self, text):
        with self.lock:
            self.violations.append(text)

    def count(self, where):
        with self.lock:
            self.requests[where] = self.requests.get(where, 0) + 1

    def fault(self, where):
        """The fault this request must suffer, or None."""
        with self.lock:
            for fault in self.faults:
                if fault["where"] != where or fault.get("times", 1) <= 0:
                    continue
                if fault.get("after", 0) > 0:
                    fault["after"] -= 1
                    continue
                fault["times"] = fault.get("times", 1) - 1
                return fault["what"]
        return None

    def sign(self, path, expires):
        return hmac.new(self.secret, f"{path}\n{expires}".encode(), hashlib.sha256).hexdigest()

    def link(self, base, path):
        expires = int(time.time() + self.link_seconds)
        base = self.addresses["plain files"] if self.plain_links else base
        return f"{base}{path}?Expires={expires}&Signature={self.sign(path, expires)}&Key-Pair-Id=K"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    state = None            # set by serve()
    name = ""
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    # ---- answers -------------------------------------------------------------------------------

    def reply(self, status, body=b"", headers=(), length=None):
        if isinstance(body, (dict, list)):
            body = json.dumps(body).encode()
            headers = [("Content-Type", "application/json; charset=utf-8"), *headers]
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def wrong(self, status, why, headers=()):
        """The real service refuses this, and a client of ours should never have sent it."""
        self.state.violation(f"{self.name} {self.command} {self.path[:300]}: {why}")
        self.reply(status, {"error": why}, headers)

    def send_content(self, content, headers=(), where=""):
        """A file, or the range of it that was asked for."""
        fault = self.state.fault(where)
        asked = self.headers.get("Range")
        if asked == "bytes=0--1" and not content:       # what ngcsdk asks of an empty file: that is no range,
            asked = None                                # and what is none may be ignored
        status, start, end = 200, 0, len(content)
        if asked:
            match = re.fullmatch(r"bytes=(\d+)-(\d*)", asked)
            if not match:
                return self.wrong(416, f"odd range {asked}")
            start = int(match[1])
            end = min(len(content), int(match[2]) + 1 if match[2] else len(content))
            if start >= len(content) or end <= start:
                return self.reply(416, b"", [("Content-Range", f"bytes */{len(content)}")])
            status = 206
            headers = [*headers, ("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")]
        body = content[start:end]
        if fault == "corrupt" and body:
            body = bytes([body[0] ^ 1]) + body[1:]
        headers = [*headers, ("Accept-Ranges", "bytes")]
        if fault == "cut" and self.command == "GET":
            self.reply(status, body[: len(body) // 2], headers, length=len(body))
            self.close_connection = True
            return None
        return self.reply(status, body, headers)

    def suffered(self, where):
        """Count a request and play the fault that is due; True: it is answered already."""
        self.state.count(where)
        with self.state.lock:
            plain = [f for f in self.state.faults
                     if f["where"] == where and f["what"] not in ("cut", "corrupt")]
        fault = self.state.fault(where) if plain else None
        if fault is None:
            return False
        if fault == "drop":
            self.close_connection = True
            self.connection.close()
        elif fault == "429":
            self.reply(429, b"slow down", [("Retry-After", "1")])
        elif fault == "ratelimit":
            self.reply(429, b"slow down", [("RateLimit", '"api";r=0;t=1')])
        else:
            self.reply(int(fault), b"a fault that was ordered")
        return True

    # ---- requests ------------------------------------------------------------------------------

    def read_body(self):
        length = int(self.headers.get("Content-Length") or 0)
        return self.rfile.read(min(length, 1 << 20))

    def control(self, body):
        if self.path == "/_sim/faults":
            with self.state.lock:
                self.state.faults = json.loads(body)
            return self.reply(200, {})
        if self.path == "/_sim/links":
            self.state.link_seconds = json.loads(body)
            return self.reply(200, {})
        if self.path == "/_sim/plain":
            self.state.plain_links = json.loads(body)
            return self.reply(200, {})
        if self.path == "/_sim/report":
            with self.state.lock:
                left = [f for f in self.state.faults if f.get("times", 1) > 0]
                return self.reply(200, {"violations": self.state.violations, "unplayed": left,
                                        "requests": self.state.requests})
        return self.order(self.path, body)

    def order(self, path, body):
        self.reply(404, b"no such order")

    def dispatch(self):
        body = self.read_body()
        if self.path.startswith("/_sim/"):
            return self.control(body)
        path, _, query = self.path.partition("?")
        if len(self.path) > LONGEST_TARGET:
            return self.wrong(414, "address too long")
        if not PLAIN.match(path) or "//" in path or not QUERY.match(query):
            return self.wrong(400, "address is not properly encoded")
        if any(urllib.parse.unquote(part) in (".", "..") for part in path.split("/")):
            return self.wrong(400, "dots in the path")
        for name in ("Authorization", "Range", "Host"):
            if len(self.headers.get_all(name) or []) > 1:
                return self.wrong(400, f"two {name} headers")
        return self.handle_request(path, query, body)

    def pairs(self, query, known):
        """Query as a list of pairs; None: something in it the service does not know."""
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
        for key, _ in pairs:
            if key not in known:
                self.wrong(400, f"unknown parameter {key}")
                return None
        return pairs

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = dispatch


class FileHost(Handler):
    """Where signed links lead: knows signatures only, and must never see a credential."""
    name = "files"

    def handle_request(self, path, query, _body):
        values = dict(urllib.parse.parse_qsl(query))
        for header in self.headers:
            if header.lower() in ("authorization", "cookie", "x-ngc-guest-token", "nv-ngc-org"):
                return self.wrong(400, f"a {header} header was sent to the file host")
        if self.suffered("files"):
            return None
        if self.command not in ("GET", "HEAD"):
            return self.wrong(405, "method")
        expires = values.get("Expires", "")
        if not hmac.compare_digest(values.get("Signature", ""), self.state.sign(path, expires)):
            return self.wrong(403, "bad signature")
        if time.time() >= int(expires):
            return self.reply(403, b"<Error><Code>AccessDenied</Code>"
                                   b"<Message>Request has expired</Message></Error>")
        content = self.content_of(path)
        if content is None:
            return self.wrong(404, "no such object")
        return self.send_content(content, [("ETag", '"file-host-version"')], where="files")

    def content_of(self, path):
        raise NotImplementedError


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that hangs up, or a connection dropped on order, is no news; a bug of ours is."""
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):
            self.stand_in.violation(f"the stand-in failed: {sys.exc_info()[1]!r}")
            super().handle_error(request, client_address)


def start(state, handler, certificates=None):
    """One server in a thread of its own; its address."""
    handler.state = state
    server = Server(("127.0.0.1", 0), handler)
    server.stand_in = state
    if certificates:
        secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        secure.load_cert_chain(f"{certificates}/good.crt", f"{certificates}/good.key")
        server.socket = secure.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http{'s' if certificates else ''}://127.0.0.1:{server.server_address[1]}"


def serve(state, **handlers):
    """Run one server per handler until standard input ends; prints their addresses."""
    certificates = os.environ.get("SIM_CERTIFICATES")
    state.addresses = {key: start(state, handler, certificates) for key, handler in handlers.items()}
    if certificates:
        state.addresses["plain files"] = start(state, handlers["files"])
    print(json.dumps(state.addresses), flush=True)
    sys.stdin.read()
