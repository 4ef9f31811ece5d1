# SPDX-License-Identifier: Apache-2.0
"""api_client.py - a server in a folder of its own and the shortest client of it, for the checks of the stand-in."""
import base64
import json
import os
import pathlib
import socket
import struct
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from cloud_client import StandIn  # noqa: E402
from harness.client import PATIENCE, expect, until  # noqa: E402

CLIENT = {"grantType": "client_credentials", "clientID": "client-of-the-suite", "clientSecret": "secret-of-the-suite"}
CLUSTER = "71f6e2a4-0c1b-4d55-9a5e-3c1f0b6a7d21"


def body(name="train-abcdefgh", **spec):
    return {"name": name, "projectId": "4501", "clusterId": CLUSTER, "spec": {"image": "slipway-test:busybox", **spec}}


class Client(StandIn):
    def __init__(self, engine=""):
        self.token = None
        super().__init__(HERE / "server", engine)

    def ask(self, method, path, said=None, token=True):
        """(status, answer)"""
        if token is True:
            self.token = self.token or self.ask("POST", "/api/v1/token", CLIENT, None)[1]["accessToken"]
            token = self.token
        return self.say(method, path, said, token)

    def get(self, path, **query):
        status, answer = self.ask("GET", path + ("?" + urllib.parse.urlencode(query) if query else ""))
        expect(status == 200, f"{path} {query}: {status} {answer}")
        return answer

    def create(self, kind, said):
        status, answer = self.ask("POST", f"/api/v1/workloads/{kind}", said)
        expect(status == 202, f"{status} {answer}")
        return answer["workloadId"]

    def refused(self, status, kind, said, *words):
        got, answer = self.ask("POST", f"/api/v1/workloads/{kind}", said)
        expect(got == status, f"{status} was expected, and {got} {answer} came")
        expect(answer["code"] == status and all(word in json.dumps(answer) for word in words), answer)
        return answer

    def phase(self, number):
        return self.get(f"/api/v1/workloads/{number}")["phase"]

    def reach(self, number, *phases):
        return until(lambda: (now := self.phase(number)) in phases and now, f"{phases}; it is {self.phase(number)}")

    def log(self, pod, **query):
        """(status, bytes) of the log route of Kubernetes."""
        status, _, said = self.raw("GET", f"/api/v1/namespaces/runai-suite/pods/{pod}/log?" + urllib.parse.urlencode(query),
                                   headers={"Authorization": f"Bearer {self.token}"})
        return status, said

    def frames(self, path):
        """[(kind, bytes)] of a WebSocket up to its close; the status where it is refused."""
        sock = socket.create_connection(("127.0.0.1", self.port), PATIENCE)
        sock.sendall((f"GET {path} HTTP/1.1\r\nHost: x\r\nAccept: */*\r\nAuthorization: Bearer {self.token}\r\n"
                      "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                      f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n").encode())
        data = b""
        while (b"\r\n" not in data or data.startswith(b"HTTP/1.1 101")) and (piece := sock.recv(65536)):
            data += piece
        sock.close()
        if not data.startswith(b"HTTP/1.1 101"):
            return int(data.split()[1])
        data = data.split(b"\r\n\r\n", 1)[1]
        out = []
        while data:
            size, at = data[1], 2
            if size >= 126:
                size, at = (struct.unpack(">H", data[2:4])[0], 4) if size == 126 else (struct.unpack(">Q", data[2:10])[0], 10)
            out.append((data[0] & 15, data[at:at + size]))
            data = data[at + size:]
        return out
