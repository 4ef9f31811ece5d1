# SPDX-License-Identifier: Apache-2.0
"""command_line.py - what tests of the command line share: a store and a home for each test, and real terminals.

The test program sets SLIPWAY to the path of the program.
"""
import fcntl
import json
import os
import pathlib
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness.client import remove_tree  # noqa: E402

SLIPWAY = None
DEADLINE = 30


class Terminal:
    """A program on a pseudo-terminal, and everything it showed."""

    def __init__(self, argv, env, cwd, columns=80):
        self.shown = b""
        self.status = None
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.chdir(cwd)
            os.execve(argv[0], argv, env)

    def read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self.fd, 65536)
        except OSError:                  # EIO: the other side is closed
            piece = b""
        self.shown += piece
        return bool(piece)

    def until(self, text):
        end = time.monotonic() + DEADLINE
        while text.encode() not in self.shown:
            if time.monotonic() > end:
                raise AssertionError(f"{text!r} was not shown: {self.shown!r}")
            self.read(0.1)

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                while self.read(0.05):
                    pass
                os.close(self.fd)
                self.status = os.waitstatus_to_exitcode(status)
                return self.status
        raise AssertionError(f"it does not end: {self.shown!r}")

    def lines(self):
        return self.shown.decode().replace("\r", "").splitlines()


class Fixture(unittest.TestCase):
    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="slipway-e2e-"))
        self.env = {"SLIPWAY_WATCHER": "off", "PATH": os.environ["PATH"], "HOME": str(self.work), "TERM": "xterm",
                    "SLIPWAY_STATE_DIR": str(self.work / "state"), "LANG": "C.UTF-8",
                    "DOCKER_HOST": "unix:///nonexistent/docker.sock"}
        for name, value in os.environ.items():
            if name.startswith(("ASAN_", "UBSAN_", "LSAN_", "SLIPWAY_LIBEXEC")):
                self.env[name] = value

    def tearDown(self):
        if (self.work / "state").exists():
            self.slipway("cancel", "active", "-y")
        remove_tree(self.work)

    def slipway(self, *args, **more):
        return subprocess.run([SLIPWAY, *args], env=self.env, cwd=self.work, capture_output=True,
                              timeout=DEADLINE * 2, **more)

    def start(self, *args, **more):
        return subprocess.Popen([SLIPWAY, *args], env=self.env, cwd=self.work,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def terminal(self, *args, columns=80, **env):
        return Terminal([SLIPWAY, *args], {**self.env, **env}, self.work, columns)

    def ends(self, status, *args, **more):
        done = self.slipway(*args, **more)
        self.assertEqual(done.returncode, status, (args, done.stdout, done.stderr))
        return done

    def detach(self, script):
        return self.ends(0, "run", "-d", "--", "sh", "-c", script).stdout.decode().strip()

    def state_of(self, job):
        return json.loads(self.ends(0, "status", job, "-o", "json").stdout)["status"]

    def until_state(self, job, state):
        end = time.monotonic() + DEADLINE
        while self.state_of(job) != state:
            self.assertLess(time.monotonic(), end, f"{job} does not become {state}")
            time.sleep(0.05)


    def shell(self, text):
        return subprocess.run(["bash", "-c", text, SLIPWAY], env=self.env, cwd=self.work, capture_output=True,
                              timeout=DEADLINE)

    def rehearse(self, script, *more):
        return self.ends(0, "run", "-d", "-p", "rehearsal", "--set", f"rehearsal.script={script}", *more,
                         "--", "train").stdout.decode().strip()
