# SPDX-License-Identifier: Apache-2.0
#
# try_no_accounting.py - a cluster without accounting, whose controller forgets jobs after seconds: the job's own
# last word is enough.
#
#   tests/slurm/cluster --no-accounting --min-job-age 2 -- python3 tests/slurm/try_no_accounting.py SLIPWAY
import json
import os
import sys

from bed_client import Client, main, until


def forgotten(client, job):
    client.wait(job)
    until("the controller to forget it", lambda: client.slurm_id(job) not in
          client.as_user("squeue", "-h", "-t", "all", "-o", "%A").split(), 60)


def ends_are_known_when_nobody_else_remembers(client):
    jobs = {client.submit(command, retry={"max": 0}): (status, code, signal) for command, status, code, signal in (
        ("true", "Complete", 0, None), ("exit 3", "Error", 3, None), ("kill -9 $$", "Error", 137, 9))}
    for job in jobs:
        forgotten(client, job)
    for job, (status, code, signal) in jobs.items():
        told = client.status(job)
        assert (told["status"], told["exit_code"], told["signal"] or None) == (status, code, signal), told


def a_canceled_job_stays_canceled(client):
    job = client.submit("sleep 300")
    client.running_on(job)
    client.slipway("cancel", job)
    forgotten(client, job)
    other = Client(client.program)
    other.slipway("adopt", job, "-p", "slurm")
    assert other.status(job)["status"] == "Canceled", other.status(job)
    other.close()


def runners_that_no_job_names_are_caches(client):
    job = client.submit("true")
    client.wait(job)
    folder = os.path.join(os.environ["SLURM_BASE_RESULTS_DIR"], "runner")
    ours = set(os.listdir(folder))
    unused, named = "slipway-runner-x86_64-0000000000000000", "slipway-runner-x86_64-1111111111111111"
    for name in (unused, named):
        client.as_user("touch", f"{folder}/{name}")
    client.as_user("sh", "-c", f"echo {named} >{folder}/../sbatch/job_other.sbatch")
    assert not [row for row in json.loads(client.slipway("gc", "-o", "json").stdout) if row["platform"] == "slurm"]
    rows = [row for row in json.loads(client.slipway("gc", "--caches", "-o", "json").stdout) if row["platform"] == "slurm"]
    assert [(os.path.basename(row["where"]), row["removed"]) for row in rows] == [(unused, False)], rows
    client.slipway("gc", "--caches", "--yes")
    assert set(os.listdir(folder)) == ours | {named}, os.listdir(folder)


if __name__ == "__main__":
    sys.exit(main([ends_are_known_when_nobody_else_remembers, a_canceled_job_stays_canceled,
                   runners_that_no_job_names_are_caches], Client))
