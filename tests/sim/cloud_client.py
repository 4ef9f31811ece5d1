# SPDX-License-Identifier: Apache-2.0
"""cloud_client.py - a stand-in of this folder in a folder of its own, and the shortest client of it, for its checks."""
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from harness.client import PATIENCE, until  # noqa: E402


class StandIn:
    """`program` is its server; without an engine its jobs wait for ever."""
    def __init__(self, program, engine="", **settings):
        self.program, self.engine, self.server = program, engine, None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="stand-in-"))
        if settings:
            self.set(**settings)
        self.start()

    def start(self, *port):
        self.server = subprocess.Popen([sys.executable, self.program, self.folder, self.engine, *port], start_new_session=True,
                                       env={"PATH": os.environ["PATH"]}, stderr=open(self.folder / "errors", "ab"))
        self.port = until(lambda: (self.folder / "port").exists() and int((self.folder / "port").read_text()), "a port")

    def kill(self):
        self.server.kill()
        self.server.wait()

    def start_again(self):
        """At the same port, after it was killed."""
        (self.folder / "port").unlink()
        self.start(str(self.port))

    def close(self):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def explain(self):
        return (self.folder / "errors").read_text()[-3000:]

    def put(self, name, said):
        new = self.folder / f"{name}.new"
        new.write_text(said)
        os.replace(new, self.folder / name)

    def set(self, **settings):
        self.put("settings.json", json.dumps(settings))

    def fault(self, words):
        self.put("faults", words)

    def raw(self, method, path, data=None, headers=None):
        """(status, headers, bytes)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, path, data, {"Accept": "application/json", **(headers or {})})
        reply = connection.getresponse()
        out = reply.status, reply.headers, reply.read()
        connection.close()
        return out

    def say(self, method, path, said, token):
        """(status, answer) with a body of JSON and a token; None: without."""
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}),
                   **({"Content-Type": "application/json"} if said is not None else {})}
        status, _, answer = self.raw(method, path, json.dumps(said) if said is not None else None, headers)
        return status, json.loads(answer) if answer[:1] in (b"{", b"[", b'"') else answer.decode()

    def requests(self):
        return [line.split() for line in (self.folder / "requests").read_text().splitlines()]
