# SPDX-License-Identifier: Apache-2.0
#
# try_faults.py - a connection that breaks at any byte: no job is lost, doubled or said to be what it is not.
#
#   tests/slurm/cluster --nodes 2 -- python3 tests/slurm/try_faults.py SLIPWAY [CASE...]
#
# SLIPWAY_SOAK rounds (6) meet random faults of SLIPWAY_SEED (2); which ones is told with each.
import os
import random
import subprocess
import sys

from bed_client import Client, main, until
from ssh_faults import DOWN, KINDS, UP, Proxy

sys.dont_write_bytecode = True

MAYBE = 69                                               # nothing is certain yet
FEW = 6
# Bytes: a question is a few thousand, an answer a few hundred; a login is as much again.
REACH = {UP: (1, 25000), DOWN: (1, 5000)}


class Cut(Client):
    """A client whose way to the cluster is the proxy."""

    def __init__(self, program):
        super().__init__(program)
        self.proxy = Proxy("login1")
        path = os.path.join(self.home, "ssh_config")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"Host login1\n    HostName 127.0.0.1\n    Port {self.proxy.port}\n    HostKeyAlias login1\n")
        # A fault that is only silence is noticed soon; the connection of one command is there for the next one, broken or not.
        self.environment.update(SLURM_HOSTNAME="login1", SLURM_SSH_CONFIG=path)

    def close(self):
        self.proxy.close()
        super().close()

    def under_fault(self, fault, *words):
        self.proxy.arm(*fault)
        try:
            return self.slipway(*words, check=False)
        finally:
            self.proxy.disarm()


def faults():
    seed, count = int(os.environ.get("SLIPWAY_SEED", "2")), int(os.environ.get("SLIPWAY_SOAK", str(FEW)))
    chance = random.Random(seed)
    for number in range(count):
        kind = chance.choice(KINDS if count > FEW else [k for k in KINDS if k != "mute"])       # silence takes its time
        direction = chance.choice((UP, DOWN))
        yield number, (kind, direction, chance.randrange(*REACH[direction]))


def a_submit_that_is_cut_gives_one_job(client):
    for number, fault in faults():
        name = f"cut-{number}"
        path = client.job_file("sleep 1")
        done = client.under_fault(fault, "run", "-d", "--id", name, path)
        print(f"        {name} {fault}: {done.returncode} {client.proxy.happened[-1:]}", flush=True)
        assert done.returncode in (0, MAYBE), (fault, done.returncode, done.stderr)
        until(f"{name} after {fault}", lambda: client.slipway("run", "-d", "--id", name, path, check=False).returncode == 0 and
              client.status(name)["status"] == "Complete", 150)
        client.had_ids(name, 1)


def a_look_that_is_cut_says_nothing_wrong(client):
    job = client.submit("sleep 600")
    client.running_on(job)
    for number, fault in faults():
        done = client.under_fault(fault, "status", job, "-o", "json")
        print(f"        {number} {fault}: {done.returncode} {client.proxy.happened[-1:]}", flush=True)
        assert done.returncode in (0, MAYBE), (fault, done.returncode, done.stderr)
        assert client.status(job)["status"] in ("Running", "Pending"), (fault, client.status(job))
    client.slipway("cancel", job)


def a_cancel_that_is_cut_is_no_lie(client):
    for number, fault in faults():
        job = client.submit("sleep 600")
        client.running_on(job)
        done = client.under_fault(fault, "cancel", job)
        print(f"        {number} {fault}: {done.returncode} {client.proxy.happened[-1:]}", flush=True)
        assert done.returncode in (0, MAYBE), (fault, done.returncode, done.stderr)
        if done.returncode == 0:
            assert not client.in_queue(job), fault
        client.slipway("cancel", job)
        assert client.status(job)["status"] == "Canceled" and not client.in_queue(job), fault


CASES = [a_submit_that_is_cut_gives_one_job, a_look_that_is_cut_says_nothing_wrong, a_cancel_that_is_cut_is_no_lie]

if __name__ == "__main__":
    try:
        sys.exit(main(CASES, Cut))
    except subprocess.TimeoutExpired as late:
        sys.exit(f"a command hangs: {late}")
