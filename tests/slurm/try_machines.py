# SPDX-License-Identifier: Apache-2.0
#
# try_machines.py - a partition of other processors gets their runner, and nobody says so in an option.
#
#   tests/slurm/cluster --nodes 2 --machine n2=aarch64 --partition 'grace Nodes=n2' -- \\
#       python3 tests/slurm/try_machines.py SLIPWAY [CASE...]
#
# n2 is this machine and only says that it is another: what runs there is the real runner for aarch64, and a
# script that starts it with qemu stands in its place, as binfmt_misc would.
import os
import shutil
import sys

from bed_client import BASE, Client, main

ROOT = os.environ.get("SLIPWAY_BED", "")
RUNNERS = os.environ.get("SLIPWAY_RUNNERS", "")
QEMU = shutil.which("qemu-aarch64-static")


def emulated(client):
    """Runners of our own: the other one is started by qemu."""
    folder = f"{ROOT}/lustre/runners"
    os.makedirs(folder, exist_ok=True)
    for kind in ("x86_64", "aarch64"):
        shutil.copy(f"{RUNNERS}/slipway-runner-{kind}", f"{folder}/slipway-runner-{kind}")
    os.rename(f"{folder}/slipway-runner-aarch64", f"{folder}/real")
    with open(f"{folder}/slipway-runner-aarch64", "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nexec {QEMU} {folder}/real \"$@\"\n")
    client.environment["SLIPWAY_RUNNERS"] = folder


def staged():
    return sorted(name.rsplit("-", 1)[0] for name in os.listdir(f"{BASE}/runner") if name.startswith("slipway-runner"))


def asked():
    return sorted(name for name in os.listdir(f"{BASE}/runner") if name.startswith(".machines"))


def each_partition_gets_the_runner_of_its_machines(client):
    emulated(client)
    job = client.submit("echo on $SLURMD_NODENAME", slurm={"nodelist": "n1", "partition": "x86"})
    client.wait(job)
    assert client.status(job)["status"] == "Complete", client.status(job)
    assert staged() == ["slipway-runner-x86_64"], staged()
    for _ in range(2):
        job = client.submit("echo on $SLURMD_NODENAME; exit 5", slurm={"partition": "grace"}, retry={"max": 0})
        client.wait(job)
        status = client.status(job)
        assert status["exit_code"] == 5 and "on n2" in client.log(job), (status, client.log(job))
        assert staged() == ["slipway-runner-aarch64", "slipway-runner-x86_64"], staged()
    assert asked() == [".machines.grace", ".machines.x86"], asked()
    with open(f"{BASE}/runner/.machines.grace", encoding="utf-8") as file:
        assert file.read().split() == ["aarch64"]


def a_partition_with_both_gets_both_and_each_job_its_own(client):
    emulated(client)
    for node in ("n1", "n2"):
        job = client.submit("echo on $SLURMD_NODENAME", slurm={"nodelist": node})
        client.wait(job)
        assert client.status(job)["status"] == "Complete" and f"on {node}" in client.log(job), client.log(job)
    assert staged() == ["slipway-runner-aarch64", "slipway-runner-x86_64"], staged()


def a_runner_that_nobody_has_is_said_before_anything_is_queued(client):
    emulated(client)
    os.remove(f"{client.environment['SLIPWAY_RUNNERS']}/slipway-runner-aarch64")
    done = client.slipway("run", "-d", client.job_file("true", slurm={"partition": "grace"}), check=False)
    assert done.returncode != 0 and "no runner for the machines of this partition: aarch64" in done.stderr, done.stderr
    assert client.as_user("squeue", "-h").strip() == ""


def a_machine_that_was_not_there_yet_is_asked_for_anew(client):
    emulated(client)
    with open(f"{BASE}/runner/.machines.grace", "w", encoding="utf-8") as file:
        file.write("x86_64\n")
    for name in os.listdir(f"{BASE}/runner"):
        if "aarch64" in name:
            os.remove(f"{BASE}/runner/{name}")
    job = client.submit("true", slurm={"partition": "grace"}, retry={"max": 0})
    client.wait(job)
    assert client.status(job)["exit_code"] == 78, client.status(job)
    assert "the runner for machines of the kind aarch64 was not sent" in client.log(job), client.log(job)
    job = client.submit("true", slurm={"partition": "grace"})
    client.wait(job)
    assert client.status(job)["status"] == "Complete", client.log(job)


CASES = [each_partition_gets_the_runner_of_its_machines, a_partition_with_both_gets_both_and_each_job_its_own,
         a_runner_that_nobody_has_is_said_before_anything_is_queued, a_machine_that_was_not_there_yet_is_asked_for_anew]

if __name__ == "__main__":
    if os.uname().machine != "x86_64" or not QEMU or not os.path.exists(f"{RUNNERS}/slipway-runner-aarch64"):
        print("skipped: on x86_64 qemu-aarch64-static runs the runner for aarch64, which `static/compile runner` makes")
        sys.exit(77)
    sys.exit(main(CASES, Client))
