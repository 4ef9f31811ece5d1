# SPDX-License-Identifier: Apache-2.0
"""watched.py - a user whose detached jobs a watcher looks after: with a home, a state folder and a runtime folder of its own.

Every watcher that was started is ended with the client. Below tests/harness/isolate the folder is in memory of
the test's own, so a test that is killed leaves nothing.
"""
import copy
import glob
import json
import os
import signal
import tempfile

from .client import Client, until

PRIVATE = "/run/own-home"            # tests/harness/isolate made it: /run is the test's own


class Watched(Client):
    def __init__(self, program, libexec, folder=None):
        place = "/run" if os.path.isdir(PRIVATE) else None
        super().__init__(program, folder or tempfile.mkdtemp(prefix="watched-", dir=place), SLIPWAY_LIBEXEC_DIR=libexec)
        self.env.pop("SLIPWAY_WATCHER", None)
        self.env.pop("CI", None)
        self.env["DOCKER_HOST"] = "unix:///nonexistent"
        self.env["XDG_RUNTIME_DIR"] = f"{self.folder}/run"
        os.mkdir(f"{self.folder}/run", 0o700)
        self.state = self.env["SLIPWAY_STATE_DIR"]

    def elsewhere(self):
        """The same user on another host, whose home is the same."""
        other = copy.copy(self)
        other.env = {**self.env, "XDG_RUNTIME_DIR": f"{self.folder}/run-elsewhere"}
        os.makedirs(other.env["XDG_RUNTIME_DIR"], 0o700, exist_ok=True)
        namespaces = ["--uts"] if os.geteuid() == 0 else ["--user", "--map-root-user", "--uts"]
        other.before = ("unshare", *namespaces, "sh", "-c", 'hostname elsewhere && exec "$0" "$@"')
        return other

    def close(self):
        for pid in self.watchers():
            os.kill(pid, signal.SIGKILL)
        super().close()

    def watchers(self):
        """Pids of the watchers of this home, asked of /proc."""
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                words = open(path, "rb").read().split(b"\0")
                if words[0].endswith(b"slipway-watcher") and words[1].startswith(self.folder.encode()):
                    stat = open(path.replace("cmdline", "stat"), "rb").read()
                    found += [] if b") Z" in stat else [int(path.split("/")[2])]
            except (OSError, IndexError):
                continue
        return found

    def watcher(self):
        return self.json("watcher")

    def detach(self, script, *more, retries=3, wait="100ms", **env):
        """A rehearsal that no command waits for; its id."""
        return self.call("run", "-d", "-p", "rehearsal", "--set", f"rehearsal.script={script}",
                         "--set", f"retry.max={retries}", "--set", f"retry.wait={wait}", *more, "--", "true",
                         **env).stdout.strip()

    def stored(self, job):
        return json.loads(self.call("status", job, "--stored", "-o", "json").stdout)

    def over(self, job, seconds=60):
        return until(lambda: (seen := self.stored(job))["status"] in ("Complete", "Error", "Canceled") and seen,
                     f"{job} did not end", seconds)

    def lines(self, name):
        path = f"{self.folder}/{name}"
        return open(path, encoding="utf-8").read().splitlines() if os.path.exists(path) else []

    def explain(self):
        return "".join(open(path, encoding="utf-8").read() for path in glob.glob(f"{self.state}/watcher-*.log*"))
