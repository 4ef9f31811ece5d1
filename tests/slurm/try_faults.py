# SPDX-License-Identifier: Apache-2.0
#
# try_faults.py - a connection that breaks at any byte: no job is lost, doubled or said to be what it is not.
#
#   tests/slurm/cluster --nodes 2 -- python3 tests/slurm/try_faults.py SLIPWAY [CASE...]
#
# SLIPWAY_SOAK rounds (6) meet random faults of SLIPWAY_SEED (2); each names its own.
import os
import random
import subprocess
import sys

from cluster_client import SlurmClient, main, until
from ssh_faults import DOWN, KINDS, UP, Proxy

sys.dont_write_bytecode = True

MAYBE = 69                                               # nothing is certain yet
FEW = 6
# Bytes: a question is a few thousand, an answer a few hundred; a login is as much again.
REACH = {UP: (1, 25000), DOWN: (1, 5000)}


class Cut(SlurmClient):
    """A client whose way to the cluster is the proxy."""

    def __init__(self, program):
        super().__init__(program)
        self.proxy = Proxy("login1")
        path = os.path.join(self.folder, "ssh_config")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"Host login1\n    HostName 127.0.0.1\n    Port {self.proxy.port}\n    HostKeyAlias login1\n")
        # A fault that is only silence is noticed soon; the connection of one command is there for the next one, broken or not.
        self.env.update(SLURM_HOSTNAME="login1", SLURM_SSH_CONFIG=path)

    def close(self):
        self.proxy.close()
        super().close()

    def under_fault(self, fault, *words):
        self.proxy.arm(*fault)
        try:
            return self.call(*words, check=False)
        finally:
            self.proxy.disarm()


def faults():
    seed, count = int(os.environ.get("SLIPWAY_SEED", "2")), int(os.environ.get("SLIPWAY_SOAK", str(FEW)))
    chance = random.Random(seed)
    for number in range(count):
        kind = chance.choice(KINDS if count > FEW else [k for k in KINDS if k != "mute"])       # silence takes its time
        direction = chance.choice((UP, DOWN))
        yield number, (kind, direction, chance.randrange(*REACH[direction]))


def a_submit_that_is_cut_gives_one_job(here):
    for number, fault in faults():
        name = f"cut-{number}"
        path = here.job_file("sleep 1")
        done = here.under_fault(fault, "run", "-d", "--id", name, path)
        print(f"        {name} {fault}: {done.returncode} {here.proxy.happened[-1:]}", flush=True)
        assert done.returncode in (0, MAYBE), (fault, done.returncode, done.stderr)
        until(lambda: here.call("run", "-d", "--id", name, path, check=False).returncode == 0 and
              here.status(name)["status"] == "Complete", f"{name} after {fault}", 150)
        here.had_ids(name, 1)


def a_look_that_is_cut_says_nothing_wrong(here):
    job = here.submit("sleep 600")
    here.running_on(job)
    for number, fault in faults():
        done = here.under_fault(fault, "status", job, "-o", "json")
        print(f"        {number} {fault}: {done.returncode} {here.proxy.happened[-1:]}", flush=True)
        assert done.returncode in (0, MAYBE), (fault, done.returncode, done.stderr)
        assert here.status(job)["status"] in ("Running", "Pending"), (fault, here.status(job))
    here.call("cancel", job)


def a_cancel_that_is_cut_is_no_lie(here):
    for number, fault in faults():
        job = here.submit("sleep 600")
        here.running_on(job)
        done = here.under_fault(fault, "cancel", job)
        print(f"        {number} {fault}: {done.returncode} {here.proxy.happened[-1:]}", flush=True)
        assert done.returncode in (0, MAYBE), (fault, done.returncode, done.stderr)
        if done.returncode == 0:
            assert not here.in_queue(job), fault
        here.call("cancel", job)
        assert here.status(job)["status"] == "Canceled" and not here.in_queue(job), fault


if __name__ == "__main__":
    try:
        sys.exit(main(globals(), Cut))
    except subprocess.TimeoutExpired as late:
        sys.exit(f"a command hangs: {late}")
