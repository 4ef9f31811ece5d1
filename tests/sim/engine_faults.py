# SPDX-License-Identifier: Apache-2.0
#
# engine_faults.py - a proxy between a client and a Docker engine that breaks things on purpose.
#
#     with engine_faults.Proxy(engine_socket, f"unix://{folder}/faulty.sock") as proxy:     # or "tcp"
#         proxy.break_on("GET", "/logs", "cut", after=30)
#         ... a client with DOCKER_HOST=proxy.address ...
#
# Each request has a connection of its own to the engine. Kinds of faults:
#
#     refuse   hang up, the engine hears nothing
#     lose     the engine answers, the client gets nothing
#     cut      ... gets so many bytes, headers counted
#     status   answer with a status, the engine hears nothing
#     lie      answer with a status, after the engine has done what was asked
#     double   the engine gets the request twice, the client the second answer
#     delay    wait so long before the engine hears it
#     silent   take the request, and never answer (until the proxy is closed)
#     change   answer with what `change` makes of the engine's body, which keeps its length
import json
import os
import re
import select
import socket
import threading
import time

KINDS = ("refuse", "lose", "cut", "status", "lie", "double", "delay")


class Rule:
    def __init__(self, method, path, kind, times=0, skip=0, after=0, status=500, seconds=0.5, change=None):
        self.method, self.path, self.kind = method, re.compile(path), kind
        self.times, self.skip, self.after, self.status = times, skip, after, status
        self.seconds, self.seen, self.done, self.change = seconds, 0, 0, change

    def fits(self, method, path):
        if (self.method and self.method != method) or not self.path.search(path):
            return False
        self.seen += 1
        if self.seen <= self.skip or (self.times and self.done >= self.times):
            return False
        self.done += 1
        return True


class Proxy:
    def __init__(self, engine, address):
        self.engine, self.rules, self.log = engine, [], []
        self.lock, self.over = threading.Lock(), threading.Event()
        if address == "tcp":
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.address = "tcp://127.0.0.1:%d" % self.listener.getsockname()[1]
        else:
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(address.removeprefix("unix://"))
            self.listener.listen(128)
            self.address = address
        self.path = None if address == "tcp" else address.removeprefix("unix://")

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.listener.close()
        if self.path:
            os.unlink(self.path)

    def break_on(self, method, path, kind, **more):
        rule = Rule(method, path, kind, **more)
        with self.lock:
            self.rules.append(rule)
        return rule

    def mend(self):
        with self.lock:
            self.rules, self.log = [], []

    def asked(self, method, path):
        with self.lock:
            return sum(m == method and re.search(path, p) is not None for m, p in self.log)

    # ---- one connection ---------------------------------------------------------------------------

    def accept(self):
        while not self.over.is_set():
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        try:
            with peer:
                self.one(peer)
        except OSError:
            pass

    def one(self, peer):
        request = read_request(peer)
        if not request:
            return
        method, path = request.split(b" ", 2)[:2]
        method, path = method.decode(), path.decode()
        with self.lock:
            self.log.append((method, path))
            rule = next((r for r in self.rules if r.fits(method, path)), None)
        kind = rule.kind if rule else ""
        if kind == "silent":
            self.over.wait(300)
        if kind in ("refuse", "silent"):
            return
        if kind == "status":
            peer.sendall(answer_with(rule.status))
            return
        if kind == "delay":
            time.sleep(rule.seconds)
        if kind == "double":
            relay(self.ask(request), None)
        upstream = self.ask(request)
        if b"\r\nupgrade:" in request.split(b"\r\n\r\n")[0].lower():
            both_ways(peer, upstream)
        elif kind == "change":
            peer.sendall(rule.change(all_of(upstream)))
        elif kind in ("lose", "lie"):
            relay(upstream, None)
            if kind == "lie":
                peer.sendall(answer_with(rule.status))
        else:
            relay(upstream, peer, rule.after if kind == "cut" else None)

    def ask(self, request):
        upstream = socket.socket(socket.AF_UNIX)
        upstream.connect(self.engine)
        head, body = request.split(b"\r\n\r\n", 1)
        if b"\r\nupgrade:" not in head.lower():
            head += b"\r\nConnection: close"
        upstream.sendall(head + b"\r\n\r\n" + body)
        return upstream


def read_request(peer):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = peer.recv(65536)
        if not piece:
            return b""
        data += piece
    head = data.split(b"\r\n\r\n", 1)[0]
    length = re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE)
    missing = len(head) + 4 + (int(length.group(1)) if length else 0) - len(data)
    pieces = [data]
    while missing > 0:
        piece = peer.recv(65536)
        if not piece:
            return b""
        pieces.append(piece)
        missing -= len(piece)
    return b"".join(pieces)


def answer_with(status):
    body = json.dumps({"message": f"broken on purpose ({status})"}).encode()
    return (b"HTTP/1.1 %d Broken\r\nApi-Version: 1.44\r\nContent-Type: application/json\r\n"
            b"Content-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(body))) + body


def relay(upstream, peer, most=None):
    """The engine's answer, to its end; a client that left ends it, too."""
    with upstream:
        while most is None or most > 0:
            ready, _, _ = select.select([upstream] + ([peer] if peer else []), [], [], 300)
            if upstream not in ready:
                return
            piece = upstream.recv(65536 if most is None else min(most, 65536))
            if not piece:
                return
            if peer:
                peer.sendall(piece)
            if most is not None:
                most -= len(piece)


def all_of(upstream):
    with upstream:
        return b"".join(iter(lambda: upstream.recv(65536), b""))


def both_ways(peer, upstream):
    with upstream:
        while True:
            for end in select.select([peer, upstream], [], [], 300)[0]:
                piece = end.recv(65536)
                if not piece:
                    return
                (upstream if end is peer else peer).sendall(piece)
