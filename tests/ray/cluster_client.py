# SPDX-License-Identifier: Apache-2.0
"""cluster_client.py - a user whose jobs are Ray clusters (`launcher: ray`) on one machine, and what such a job left there."""
import glob
import json
import os
import signal
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from harness import claims  # noqa: E402
from harness.client import Client, Gate, expect, until  # noqa: E402

CANARY = "cny/4f0e8a61b3+k="
GONE_IN = 10                         # seconds after the job's end
PATIENCE = 900                       # a claim that holds needs a fraction of it, on a machine that has other work, too
RANK_1 = "NODE_RANK=1"
SEES = f"{HERE}/see_cluster.py"


def read(path):
    """"" where it is gone, or never was a file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def listeners():
    """Of this machine's programs, as ports() tells them."""
    rows = [line.split() for name in ("tcp", "tcp6") for line in read(f"/proc/net/{name}").splitlines()[1:]]
    return {f"socket:[{row[9]}]": row[1] for row in rows if row[3] == "0A"}


class RayClient(Client):
    """Jobs have two nodes and a secret."""
    platform = "local"

    def __init__(self, program, ray, folder=None, **env):
        super().__init__(program, folder, CANARY=CANARY, SLIPWAY_WATCHER="off", **env)
        self.ray = ray
        self.env["PATH"] = f"{ray}/bin:{self.env['PATH']}"
        self.shared = self.folder

    def more(self):
        return {}

    def document(self, words, **more):
        own = {"name": "t", "platform": self.platform, "launcher": "ray", "nodes": 2, "secrets": ["CANARY"], "grace": "5s",
               "ray_cluster": {"wait": "14m"}, "retry": {"max": 0}, **self.more(), **more}
        return own if words is None else {**own, "command": f"python3 {SEES} {words}"}

    def submit(self, words, **more):
        return self.call("run", "-d", self.file("job.json", self.document(words, **more))).stdout.split()[-1]

    def gate(self):
        return Gate(self.shared)

    def seen(self, job):
        """What the program of a job saw, when it has."""
        def look():
            self.call("watcher", "once", check=False)
            lines = [line for line in self.call("logs", job, check=False).stdout.splitlines() if '"places"' in line]
            status = self.status(job)
            expect(lines or status["status"] in ("Pending", "Running"), f"{status}\n{self.call('logs', job, check=False).stdout}")
            return json.loads(lines[0][lines[0].index("{"):]) if lines else None
        return until(look, "the program sees its cluster", seconds=PATIENCE, every=0.5)

    def processes(self, job, *marks):
        """Those of a job, by their environment: {pid: name}."""
        found = {}
        for path in glob.glob("/proc/[0-9]*"):
            environment = read(f"{path}/environ").split("\0")
            if all(mark in environment for mark in (f"SLIPWAY_JOB_ID={job}", *marks)) and ") Z " not in read(f"{path}/stat"):
                found[int(path.split("/")[2])] = read(f"{path}/comm").strip()
        return found

    def kill(self, job, name, *marks):
        pids = [pid for pid, own in self.processes(job, *marks).items() if own == name]
        expect(pids, f"no {name} in {self.processes(job)}")
        os.kill(pids[0], signal.SIGKILL)

    def ports(self, job):
        """Where its processes listen: {"socket:[INODE]": "ADDRESS:PORT", as the kernel writes it}."""
        held = set()
        for pid in self.processes(job):
            for path in glob.glob(f"/proc/{pid}/fd/*"):
                try:
                    held.add(os.readlink(path))
                except OSError:
                    pass
        return {socket: at for socket, at in listeners().items() if socket in held}

    def nothing_is_left(self, job, folder, ports):
        """No process, port or folder of the job, GONE_IN seconds after its end. `folder` is rank 0's."""
        folders = [folder, folder[:-1] + "1"]

        def left():
            return [*self.processes(job).items(), *(listeners().keys() & ports.keys()), *filter(os.path.exists, folders)]
        until(lambda: not left(), f"{job} has left {left()}", GONE_IN)

    def ends(self, job, status, code, reason=None):
        end = self.over(job, seconds=PATIENCE)
        expect((end["status"], end["exit_code"]) == (status, code) and reason in (None, end["reason"]),
               f"{end['status']}, {end['exit_code']}, {end['reason']}: {end['message']}, not {status}, {code}, {reason}\n"
               f"{self.call('logs', job, check=False).stdout}")
        return end

    def texts(self):
        """Every file that the client and its jobs wrote."""
        for folder, _, names in os.walk(self.folder):
            for name in names:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        yield os.path.join(folder, name), file.read()
                except OSError:
                    pass


class DockerRay(RayClient):
    """In containers of a busybox, with the Python of this machine."""
    platform = "docker"

    def __init__(self, program, ray):
        super().__init__(program, ray, tempfile.mkdtemp(dir=os.environ["SLIPWAY_TEST_ENGINE"]))

    def more(self):
        own = [f"{path}:{path}:ro" for path in (self.ray, HERE)]
        return {"image": os.environ["SLIPWAY_TEST_IMAGE"], "shm": "1GiB", "env": {"PATH": f"{self.ray}/bin:/usr/bin:/bin"},
                "mounts": [*own, "/usr:/usr:ro", "/usr/lib:/lib:ro", "/usr/lib64:/lib64:ro", f"{self.shared}:{self.shared}"]}


class SlurmRay(RayClient):
    """On two nodes of the test cluster, without containers."""
    platform = "slurm"

    def __init__(self, program, ray):
        super().__init__(program, ray)
        self.env["SLIPWAY_STATE_DIR"] = self.folder
        self.shared = os.environ["SLURM_BASE_RESULTS_DIR"]

    def more(self):
        return {"time": "30m", "env": {"PATH": f"{self.ray}/bin:/usr/local/bin:/usr/bin:/bin"}}


PLACES = {"local": RayClient, "docker": DockerRay, "slurm": SlurmRay}


def main(names, words):
    """The exit status of a test program: PLATFORM SLIPWAY RAY [CLAIM...]."""
    platform, program, ray, *wanted = words
    ray = os.path.realpath(ray)                  # a container finds it under the same name
    if not os.path.exists(f"{ray}/installed"):
        print(f"skipped: there is no Ray in {ray} (tests/ray/build-ray)")
        return 77
    return claims.main(names, lambda own: PLACES[platform](own, ray), words=[program, *wanted])
