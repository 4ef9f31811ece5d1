# SPDX-License-Identifier: Apache-2.0
"""A stage for tests of the hubs: trees on disk, the stand-ins running, one clean environment, claims
that are kept count of, and the real clients they are compared with."""
import json
import os
import pathlib
import ssl
import subprocess
import sys
import tempfile
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tools"))
import authority  # noqa: E402
from claims_told import claim, finish  # noqa: E402, F401
from peer_python import peer_python  # noqa: E402, F401


# Their libraries take seconds to import: it is done once, and each question is answered by a fork.
FORKS = """
import json, os, sys, traceback
for line in sys.stdin:
    words, environment = json.loads(line)
    child = os.fork()
    if child == 0:
        os.environ.clear()
        os.environ.update(environment)
        try:
            said = answer(*words)
        except BaseException:
            said = {"error": traceback.format_exc()}
        print("\\n" + json.dumps(said), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print("over", flush=True)
"""


class Peer:
    """A python that has a library of theirs, and in which `script` defines answer(*words)."""

    def __init__(self, python, script, environment):
        self.process = subprocess.Popen([python, "-c", script + FORKS], stdin=subprocess.PIPE, env=environment,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, environment, *words):
        said = {"error": "it said nothing"}
        self.process.stdin.write(json.dumps([[str(word) for word in words], environment]) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line == "over\n":
                break
            said = json.loads(line) if line.startswith("{") else said
        return said

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def content(name, size):
    """Bytes that differ from file to file and from block to block."""
    seed = sum(name.encode()) + size
    return bytes((seed + i * 7 + (i >> 8)) & 0xff for i in range(size))


def plant(root, files):
    for name, size in files.items():
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content(name, size))


def tree(root):
    """Relative name -> bytes, without what a client keeps for itself."""
    root = pathlib.Path(root)
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*"))
            if p.is_file() and ".cache" not in p.relative_to(root).parts}


class Sim:
    """A stand-in that runs as long as this object is open."""

    def __init__(self, program, root, certificates=None):
        secure = {"SIM_CERTIFICATES": certificates} if certificates else {}
        self.trust = ssl.create_default_context(cafile=f"{certificates}/ca.crt") if certificates else None
        self.process = subprocess.Popen([sys.executable, HERE / program, root],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **secure})
        self.at = json.loads(self.process.stdout.readline())
        self.control = next(iter(self.at.values()))

    def order(self, what, body=None):
        data = None if what == "report" else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}),
                                             urllib.request.HTTPSHandler(context=self.trust))
        with opener.open(urllib.request.Request(f"{self.control}/_sim/{what}", data)) as reply:
            return json.load(reply)

    def faults(self, *faults):
        self.order("faults", list(faults))

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


class Stage:
    """A folder that goes away, with trees for a stand-in and places to download to."""

    def __init__(self, program, plants, secure=False):
        """secure: the stand-in speaks https, with certificates below `certificates`."""
        self.folder = tempfile.TemporaryDirectory(prefix="slipway-hubs-")
        self.root = pathlib.Path(self.folder.name)
        self.count = 0
        for below, files in plants.items():
            plant(self.root / "tree" / below, files)
        self.certificates = authority.make(str(self.root / "certificates")) if secure else None
        self.sim = Sim(program, self.root / "tree", self.certificates)

    def place(self):
        self.count += 1
        return self.root / f"got{self.count}"

    def planted(self, below):
        return tree(self.root / "tree" / below)

    def environment(self, **more):
        """Nothing of the user's own: no tokens, no home, no proxy."""
        return {"PATH": os.environ["PATH"], "HOME": str(self.root / "home"), **more}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sim.close()
        self.folder.cleanup()


HF_MODEL = {
    "config.json": 40, "empty": 0, "README.md": 900, "model.bin": 30001, "a b/ö+%2F#?.txt": 17,
    "deep/er/still/weights.bin": 70000, "deep/x.txt": 3, "z.bin": 10, "exact.bin": 8192,
}
HF_PLANTS = {
    "models/org/name": HF_MODEL,
    "models/org/name@2": {"config.json": 41, "model.bin": 30002, "new.bin": 5000},
    "models/org/big": {"ok.txt": 3, "weights.huge": 5000},
    "models/gated/name": {"a.txt": 1}, "models/private/name": {"a.txt": 1},
    "datasets/org/data": {"train/0.parquet": 5000, "train/1.parquet": 5001, "info.json": 10},
}
NGC_PLANTS = {
    "models/nv/team1/net/1.0": {"a.txt": 5, "w/model.pt": 50000, "w/sub/ö +&=.txt": 7, "z": 0},
    "models/nv/team1/net/2.0": {"a.txt": 6},
    "models/nv/team1/net/pending": {"a.txt": 7},
    "models/nv/team1/terms/1": {"a.txt": 8},
    "models/nv/_/solo/1.0+cu12 b": {"only.txt": 9},
    "resources/nv/_/recipes/1": {"run.sh": 30, "conf/x.yaml": 31, "conf/y.yaml": 32},
    "resources/nv/_/terms/1": {"a.txt": 8},
    "resources/nv/team1/kit/3": {"a.txt": 11, "b/c.bin": 20000, "b/d.txt": 0},
    "models/pub/tao/free/v1": {"a.txt": 5, "b.bin": 9000, "c.bin": 1},
    "resources/pub/_/guide/v1": {"g.md": 5},
}
