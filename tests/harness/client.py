# SPDX-License-Identifier: Apache-2.0
"""client.py - one user of slipway with a home and a store of its own, and one way to wait."""
import json
import os
import shutil
import subprocess
import tempfile
import time

PATIENCE = 240                       # only a claim that fails waits so long
FINAL = ("Complete", "Error", "Canceled")


def expect(truth, words):
    if not truth:
        raise AssertionError(words)


def until(condition, words, seconds=PATIENCE, every=0.05):
    """Waits until `condition` returns something true and returns that; `words` is what did not come."""
    deadline = time.monotonic() + seconds
    while not (answer := condition()):
        expect(time.monotonic() < deadline, f"{words} (after {seconds} s)")
        time.sleep(every)
    return answer


def remove_tree(folder, seconds=5):
    """A process of a canceled job may still be writing its last file."""
    deadline = time.monotonic() + seconds
    while os.path.exists(folder):
        shutil.rmtree(folder, ignore_errors=time.monotonic() < deadline)


class Gate:
    """A job that waits at it goes on when it is opened: what is looked at lasts as long as the look."""

    def __init__(self, folder):
        handle, self.path = tempfile.mkstemp(prefix="gate-", dir=folder)
        os.close(handle)
        self.wait = f"while [ -e {self.path} ]; do sleep 0.1; done"

    def open(self):
        os.unlink(self.path)


class Client:
    """The program, run in a folder that is its home and holds its store."""
    before = ()                      # words before the program: who runs it

    def __init__(self, program, folder=None, **env):
        self.program = os.path.abspath(program)
        self.folder = folder or tempfile.mkdtemp(prefix="slipway-client-")
        os.makedirs(self.folder, exist_ok=True)
        self.env = {**os.environ, "HOME": self.folder, "SLIPWAY_STATE_DIR": f"{self.folder}/state",
                    "XDG_STATE_HOME": f"{self.folder}/state", **env}

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def explain(self):
        """What helps to understand a claim that failed."""
        return ""

    def call(self, *words, check=True, timeout=300, **env):
        done = subprocess.run([*self.before, self.program, *words], env={**self.env, **env}, cwd=self.folder, text=True,
                              errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout, check=False)
        expect(not check or done.returncode == 0,
               f"slipway {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def json(self, *words):
        return json.loads(self.call(*words, "-o", "json").stdout)

    def file(self, name, content):
        """A file in the client's folder; what is no text is written as JSON."""
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(content if isinstance(content, str) else json.dumps(content))
        return path

    def status(self, job):
        return self.json("status", job)

    def log(self, job):
        return self.call("logs", job).stdout

    def until(self, job, *states, seconds=PATIENCE):
        """Waits until the job is in one of the states and returns its status."""
        deadline = time.monotonic() + seconds
        while (seen := self.status(job))["status"] not in states:
            self.call("watcher", "once", check=False)        # a status only looks
            expect(time.monotonic() < deadline, f"{job} is {seen['status']} ({seen['reason']}: {seen['message']}), "
                   f"not {' or '.join(states)}")
            time.sleep(0.05)
        return seen

    def over(self, job, seconds=PATIENCE):
        return self.until(job, *FINAL, seconds=seconds)
