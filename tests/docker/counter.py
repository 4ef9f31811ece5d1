# SPDX-License-Identifier: Apache-2.0
"""counter - between a client and the engine: notes every request, and cuts event streams when asked.

A client that speaks plain HTTP over a socket sends each request head in one piece, so looking at the
beginning of what comes is enough.
"""
import contextlib
import re
import socket
import threading

REQUEST = re.compile(rb"(GET|POST|PUT|DELETE|HEAD) (?:/v[0-9.]+)?(/\S*) HTTP/1\.1\r\n")


class Counter:
    """Listens at `path` for the engine at `engine`."""
    def __init__(self, path, engine):
        self.path, self.engine = path, engine
        self.requests, self.streams, self.deaf = [], [], False
        self.lock = threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                engine = socket.socket(socket.AF_UNIX)
                engine.connect(self.engine)
                threading.Thread(target=self.up, args=(client, engine), daemon=True).start()
                threading.Thread(target=self.down, args=(engine, client), daemon=True).start()

    def note(self, data, ends):
        """false: this request is not passed on."""
        found = REQUEST.match(data)
        if not found:
            return True
        with self.lock:
            self.requests.append(f"{found[1].decode()} {found[2].decode()}")
            if not found[2].startswith(b"/events"):
                return True
            self.streams.append(ends)
            return not self.deaf

    def up(self, client, engine):
        with contextlib.suppress(OSError):
            while (data := client.recv(65536)) and self.note(data, (client, engine)):
                engine.sendall(data)
        hang_up(client, engine)

    def down(self, engine, client):
        with contextlib.suppress(OSError):
            while data := engine.recv(65536):
                client.sendall(data)
        hang_up(client, engine)

    def cut(self, deaf):
        """End the event streams that are held; deaf: and let none begin."""
        with self.lock:
            self.deaf = deaf
            ends, self.streams = self.streams, []
        for pair in ends:
            hang_up(*pair)

    def seen(self, *starts):
        """How many requests began like this so far."""
        with self.lock:
            return sum(request.startswith(starts) for request in self.requests)

    def inspects(self):
        with self.lock:
            return [r for r in self.requests if re.fullmatch(r"GET /containers/[^/?]+/json", r)]

    def close(self):
        self.listener.close()
        self.cut(True)


def hang_up(*ends):
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
