# SPDX-License-Identifier: Apache-2.0
"""websocket_peer.py - the server's side of one WebSocket, on a socket that a test hands over.

It keeps the rules strictly where it reads, and breaks them where a test asks for it.
"""
import base64
import hashlib
import socket
import struct

MORE, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10


def frame(kind, payload, fin=True):
    """A frame as a server sends it."""
    size = len(payload)
    head = bytes([(0x80 if fin else 0) | kind])
    if size < 126:
        head += bytes([size])
    elif size < 65536:
        head += struct.pack(">BH", 126, size)
    else:
        head += struct.pack(">BQ", 127, size)
    return head + payload


class Peer:
    """One connection."""

    def __init__(self, sock):
        self.sock = sock
        self.held = b""
        self.pongs = []
        self.path, self.headers = "", {}

    def exactly(self, count):
        while len(self.held) < count:
            more = self.sock.recv(65536)
            if not more:
                raise EOFError("the client is gone")
            self.held += more
        out, self.held = self.held[:count], self.held[count:]
        return out

    def request(self):
        """Path and headers of the client's request."""
        while b"\r\n\r\n" not in self.held:
            more = self.sock.recv(65536)
            if not more:
                raise EOFError("no request came")
            self.held += more
        head, self.held = self.held.split(b"\r\n\r\n", 1)
        first, *lines = head.decode().split("\r\n")
        self.path = first.split(" ")[1]
        self.headers = {name.lower(): value.strip()
                        for name, value in (line.split(":", 1) for line in lines)}
        assert first.startswith("GET "), first
        return self.path

    def send(self, data):
        self.sock.sendall(data)

    def answer_key(self):
        given = self.headers["sec-websocket-key"]
        assert len(base64.b64decode(given)) == 16
        fixed = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        return base64.b64encode(hashlib.sha1((given + fixed).encode()).digest()).decode()

    def agree(self, choose=None, behind=b""):
        """Take the client's WebSocket, with the first protocol of `choose` that it offers."""
        if not self.path:
            self.request()
        assert self.headers["upgrade"] == "websocket" and self.headers["connection"] == "Upgrade"
        assert self.headers["sec-websocket-version"] == "13"
        offered = [one.strip() for one in self.headers.get("sec-websocket-protocol", "").split(",")]
        chosen = next((one for one in choose or [] if one in offered), None)
        if choose and not chosen:
            self.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return None
        line = f"Sec-WebSocket-Protocol: {chosen}\r\n" if chosen else ""
        self.send(("HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nConnection: Upgrade\r\n"
                   f"Sec-WebSocket-Accept: {self.answer_key()}\r\n{line}\r\n").encode() + behind)
        return chosen

    def read_frame(self):
        """(kind, payload) of a frame, which must be masked and whole."""
        first, second = self.exactly(2)
        assert first & 0x80 and not first & 0x70 and second & 0x80, (first, second)
        size = second & 0x7f
        if size == 126:
            size = struct.unpack(">H", self.exactly(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self.exactly(8))[0]
        mask, payload = self.exactly(4), self.exactly(size)
        whole = int.from_bytes(payload, "little") ^ int.from_bytes((mask * (size // 4 + 1))[:size], "little")
        return first & 0x0f, whole.to_bytes(size, "little")

    def read(self):
        """The next message: (kind, payload). Pings are answered, pongs noted."""
        while True:
            kind, payload = self.read_frame()
            if kind == PING:
                self.send(frame(PONG, payload))
            elif kind == PONG:
                self.pongs.append(payload)
            else:
                return kind, payload

    def expect_close(self, code):
        """The client closes with this code, and then goes."""
        kind, payload = self.read()
        while kind != CLOSE:
            kind, payload = self.read()
        assert struct.unpack(">H", payload[:2])[0] == code, payload
        try:
            self.exactly(1)
        except (EOFError, ConnectionResetError):
            return
        raise AssertionError("something came behind the close frame")

    def close(self, code=1000, why=b""):
        self.send(frame(CLOSE, struct.pack(">H", code) + why))


def on_descriptor(number):
    """The socket that a test left there."""
    return socket.socket(fileno=number)
