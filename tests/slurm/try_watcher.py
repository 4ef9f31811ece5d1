# SPDX-License-Identifier: Apache-2.0
#
# try_watcher.py - detached jobs on a cluster while no command runs, and commands that use the watcher's shells.
#
#   tests/slurm/cluster --nodes 2 -- python3 tests/slurm/try_watcher.py SLIPWAY [CASE...]
import json
import os
import signal
import sys

from cluster_client import SlurmClient, main, until

sys.dont_write_bytecode = True


class Watched(SlurmClient):
    def __init__(self, program):
        super().__init__(program)
        self.counters = f"{self.folder}/counters"
        self.env = {name: value for name, value in self.env.items() if name not in ("CI", "SLIPWAY_WATCHER")}
        self.env.update(SLIPWAY_SSH_COUNTERS=self.counters, XDG_RUNTIME_DIR=f"{self.folder}/run")
        os.mkdir(f"{self.folder}/run", 0o700)

    def close(self):
        self.call("watcher", "stop")
        super().close()

    def watcher(self):
        return self.json("watcher")["watcher"]

    def shells_of_its_own(self, *words):
        """How many processes a command started to reach the cluster."""
        if os.path.exists(self.counters):
            os.unlink(self.counters)
        self.call(*words)
        if not os.path.exists(self.counters):
            return 0
        with open(self.counters, encoding="utf-8") as file:
            return sum(json.loads(line)["processes"] for line in file)


def a_hook_runs_although_no_command_does(here):
    told = f"{here.folder}/told"
    job = here.submit("true", hooks={"on_complete": f"echo $SLIPWAY_JOB_ID >>{told}"})
    until(lambda: os.path.exists(told), "the hook")
    with open(told, encoding="utf-8") as file:
        assert file.read() == f"{job}\n"


def commands_use_a_shell_that_is_ready(here):
    job = here.submit("echo said; sleep 600", hooks={"on_error": "true"})
    until(lambda: here.log(job) == "said\n", "the log")
    path = here.job_file("true", slurm={"begin": "now+1hour"})
    for words in (["logs", job], ["status", job], ["ps"], ["run", "-d", path], ["cancel", "-y", job]):
        # The one before may have taken the shell that was ready: the next takes a moment.
        until(lambda words=words: here.shells_of_its_own(*words) == 0, f"{words}: a shell that is ready", 30)
    here.call("cancel", "-y", "active")


def a_watcher_that_dies_is_not_missed(here):
    job = here.submit("echo said; sleep 600", hooks={"on_error": "true"})
    until(lambda: here.log(job) == "said\n", "the log")
    until(lambda: here.shells_of_its_own("logs", job) == 0, "a shell that is ready", 30)
    os.kill(here.watcher()["pid"], signal.SIGKILL)
    assert here.log(job) == "said\n" and here.status(job)["status"] == "Running"
    here.call("cancel", "-y", "active")


def another_environment_has_connections_of_its_own(here):
    job = here.submit("echo said; sleep 600", hooks={"on_error": "true"})
    until(lambda: here.log(job) == "said\n", "the log")
    until(lambda: here.shells_of_its_own("logs", job) == 0, "a shell that is ready", 30)
    here.env["SSH_AUTH_SOCK"] = "/nonexistent"
    assert here.shells_of_its_own("logs", job) == 1 and here.log(job) == "said\n"
    here.call("cancel", "-y", "active")


if __name__ == "__main__":
    sys.exit(main(globals(), Watched))
