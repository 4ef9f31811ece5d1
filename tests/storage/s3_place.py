# SPDX-License-Identifier: Apache-2.0
"""s3_place.py - a real S3 server, a proxy that breaks things, and `slipway` pointed at them.

Everything lives in one temporary folder and ends with the program that made it.
"""
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import authority  # noqa: E402

BUCKET = "bucket-1"


def uri(name):
    return f"s3://{BUCKET}/{name}"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for_port(port, process, seconds=90):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"a server ended with {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError("a server did not start in time")


class Place:
    def __init__(self, slipway, peers, secure=False, runner=None):
        """secure: server and proxy speak https, with certificates of an authority of our own."""
        self.slipway, self.peers, self.runner = slipway, peers, runner
        self.root = tempfile.mkdtemp(prefix="slipway-storage-")
        self.port, self.fault_port = free_port(), free_port()
        self.upstream = self.port
        self.processes = []
        self.objects = f"{self.root}/s3"
        for folder in (f"{self.objects}/{BUCKET}", f"{self.root}/side", f"{self.root}/home"):
            os.makedirs(folder)
        self.scheme = "https" if secure else "http"
        self.certificates = authority.make(f"{self.root}/certificates") if secure else None
        pair = self.pair("good") if secure else []
        keys = {"ROOT_ACCESS_KEY": "testkey", "ROOT_SECRET_KEY": "canary-secret-value"}
        self.start([f"{peers}/versitygw", "--port", f"127.0.0.1:{self.port}", "--quiet", "posix",
                    "--sidecar", f"{self.root}/side", self.objects], self.port, keys)
        self.proxy(self.fault_port, *pair)
        if secure:                # a second door to the same objects, with the server's own TLS
            self.port = free_port()
            self.start([f"{peers}/versitygw", "--cert", pair[0], "--key", pair[1], "--port",
                        f"127.0.0.1:{self.port}", "--quiet", "posix", "--sidecar", f"{self.root}/side",
                        self.objects], self.port, keys)

    def pair(self, name):
        return [f"{self.certificates}/{name}.crt", f"{self.certificates}/{name}.key"]

    def proxy(self, port, *pair):
        self.start([f"{self.peers}/faults", f"127.0.0.1:{port}", f"127.0.0.1:{self.upstream}", *pair], port, {})

    def start(self, command, port, more):
        with open(f"{self.root}/{os.path.basename(command[0])}-{port}.log", "wb") as log:
            process = subprocess.Popen(command, env={**os.environ, **more}, stdout=log, stderr=log)
        self.processes.append(process)
        wait_for_port(port, process)

    def without_faults(self):
        """What a claim begins with."""
        self.faults()
        return self

    def close(self):
        """A claim is over; the servers stay for the next."""

    def explain(self):
        return ""

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait()
        shutil.rmtree(self.root)

    def environment(self, faults=False, **more):
        port = self.fault_port if faults else self.port
        return {"SLIPWAY_WATCHER": "off", "PATH": os.environ["PATH"], "HOME": f"{self.root}/home", "AWS_ACCESS_KEY_ID": "testkey",
                "AWS_SECRET_ACCESS_KEY": "canary-secret-value",
                "AWS_ENDPOINT_URL": f"{self.scheme}://127.0.0.1:{port}",
                **({"SSL_CERT_FILE": f"{self.certificates}/ca.crt"} if self.certificates else {}),
                "SLIPWAY_STATE_DIR": f"{self.root}/state", **self.helpers(), **more}

    def helpers(self):
        return {name: os.environ[name] for name in ("SLIPWAY_LIBEXEC_DIR", "LD_LIBRARY_PATH") if name in os.environ}

    def run(self, *words, faults=False, timeout=120, **more):
        """The program's result; its words must never hold the secret."""
        done = subprocess.run([self.slipway, *words], env=self.environment(faults, **more), timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert b"canary-secret" not in done.stdout + done.stderr, "the secret was printed"
        return done

    def begin(self, *words, faults=False):
        return subprocess.Popen([self.slipway, *words], env=self.environment(faults),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def good(self, *words, **more):
        done = self.run(*words, **more)
        assert done.returncode == 0, f"{words}: status {done.returncode}: {done.stderr.decode()}"
        return done

    def report(self, *words, **more):
        return json.loads(self.good(*words, "-o", "json", **more).stdout)

    def control(self, path, data=b""):
        request = urllib.request.Request(f"{self.scheme}://127.0.0.1:{self.fault_port}{path}", data=data, method="POST")
        trust = ssl.create_default_context(cafile=f"{self.certificates}/ca.crt") if self.certificates else None
        with urllib.request.urlopen(request, timeout=10, context=trust) as reply:
            return reply.read().decode()

    def faults(self, *rules):
        self.control("/_faults", json.dumps(rules).encode())

    def log(self):
        return self.control("/_log").splitlines()

    def parts_sent(self):
        return [line for line in self.log() if line.startswith("PUT") and "partNumber" in line]

    def remembered(self):
        """The records of uploads in parts that are not over."""
        folder = f"{self.root}/state/uploads"
        return [f"{folder}/{name}" for name in os.listdir(folder)] if os.path.isdir(folder) else []

    def kill_in_the_middle(self, path, to):
        """A copy in eight parts is killed when a few of them are there."""
        self.faults({"Kind": "hold", "Method": "PUT", "Path": "partNumber", "Skip": 3})
        copying = self.begin("cp", path, to, faults=True)
        until = time.monotonic() + 60
        while time.monotonic() < until:
            records = self.remembered()
            if records and content(records[0]).count(b"\n") >= 3:
                break
            time.sleep(0.02)
        copying.kill()
        copying.communicate()
        self.control("/_release")
        assert len(self.remembered()) == 1
        self.faults()

    def folder(self, name):
        path = f"{self.root}/{name}"
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    def file(self, path, size=None, text=None):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        data = text.encode() if text is not None else os.urandom(size)
        with open(path, "wb") as out:
            out.write(data)
        return path


def content(path):
    with open(path, "rb") as file:
        return file.read()


def tree(root):
    """Every file and empty folder below root, with its content."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, root)] = content(path)
        if not folders and not files:
            found[os.path.relpath(folder, root) + "/"] = None
    return found
