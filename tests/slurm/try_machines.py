# SPDX-License-Identifier: Apache-2.0
#
# try_machines.py - a partition of other processors gets their runner, without an option that says so.
#
#   tests/slurm/cluster --nodes 2 --machine n2=aarch64 --partition 'grace Nodes=n2' -- \\
#       python3 tests/slurm/try_machines.py SLIPWAY [CASE...]
#
# n2 is this machine and only says that it is another: what runs there is the real runner for aarch64, and a
# script that starts it with qemu stands in its place, as binfmt_misc would.
import os
import shutil
import sys

from cluster_client import BASE, ROOT, main

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
    client.env["SLIPWAY_RUNNERS"] = folder


def staged():
    return sorted(name.rsplit("-", 1)[0] for name in os.listdir(f"{BASE}/runner") if name.startswith("slipway-runner"))


def asked():
    return sorted(name for name in os.listdir(f"{BASE}/runner") if name.startswith(".machines"))


def each_partition_gets_the_runner_of_its_machines(here):
    emulated(here)
    job = here.submit("echo on $SLURMD_NODENAME", slurm={"nodelist": "n1", "partition": "x86"})
    here.wait(job)
    assert here.status(job)["status"] == "Complete", here.status(job)
    assert staged() == ["slipway-runner-x86_64"], staged()
    for _ in range(2):
        job = here.submit("echo on $SLURMD_NODENAME; exit 5", slurm={"partition": "grace"}, retry={"max": 0})
        here.wait(job)
        status = here.status(job)
        assert status["exit_code"] == 5 and "on n2" in here.log(job), (status, here.log(job))
        assert staged() == ["slipway-runner-aarch64", "slipway-runner-x86_64"], staged()
    assert asked() == [".machines.grace", ".machines.x86"], asked()
    with open(f"{BASE}/runner/.machines.grace", encoding="utf-8") as file:
        assert file.read().split() == ["aarch64"]


def a_partition_with_both_gets_both_and_each_job_its_own(here):
    emulated(here)
    for node in ("n1", "n2"):
        job = here.submit("echo on $SLURMD_NODENAME", slurm={"nodelist": node})
        here.wait(job)
        assert here.status(job)["status"] == "Complete" and f"on {node}" in here.log(job), here.log(job)
    assert staged() == ["slipway-runner-aarch64", "slipway-runner-x86_64"], staged()


def a_runner_that_no_client_has_is_said_before_anything_is_queued(here):
    emulated(here)
    os.remove(f"{here.env['SLIPWAY_RUNNERS']}/slipway-runner-aarch64")
    done = here.call("run", "-d", here.job_file("true", slurm={"partition": "grace"}), check=False)
    assert done.returncode != 0 and "no runner for the machines of this partition: aarch64" in done.stderr, done.stderr
    assert here.as_user("squeue", "-h").strip() == ""


def a_machine_that_was_not_there_yet_is_asked_for_anew(here):
    emulated(here)
    with open(f"{BASE}/runner/.machines.grace", "w", encoding="utf-8") as file:
        file.write("x86_64\n")
    for name in os.listdir(f"{BASE}/runner"):
        if "aarch64" in name:
            os.remove(f"{BASE}/runner/{name}")
    job = here.submit("true", slurm={"partition": "grace"}, retry={"max": 0})
    here.wait(job)
    assert here.status(job)["exit_code"] == 78, here.status(job)
    assert "the runner for machines of the kind aarch64 was not sent" in here.log(job), here.log(job)
    job = here.submit("true", slurm={"partition": "grace"})
    here.wait(job)
    assert here.status(job)["status"] == "Complete", here.log(job)


if __name__ == "__main__":
    if os.uname().machine != "x86_64" or not QEMU or not os.path.exists(f"{RUNNERS}/slipway-runner-aarch64"):
        print("skipped: on x86_64 qemu-aarch64-static runs the runner for aarch64, which `static/compile runner` makes")
        sys.exit(77)
    sys.exit(main(globals()))
