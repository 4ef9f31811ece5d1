# SPDX-License-Identifier: Apache-2.0
#
# try_no_accounting.py - a cluster without accounting, whose controller forgets jobs after seconds: the job's own
# last word is enough.
#
#   tests/slurm/cluster --no-accounting --min-job-age 2 -- python3 tests/slurm/try_no_accounting.py SLIPWAY
import os
import sys

from cluster_client import SlurmClient, main, until


def forgotten(client, job):
    client.wait(job)
    until(lambda: client.slurm_id(job) not in
          client.as_user("squeue", "-h", "-t", "all", "-o", "%A").split(), "the controller to forget it", 60)


def ends_are_known_when_no_client_else_remembers(here):
    jobs = {here.submit(command, retry={"max": 0}): (status, code, signal) for command, status, code, signal in (
        ("true", "Complete", 0, None), ("exit 3", "Error", 3, None), ("kill -9 $$", "Error", 137, 9))}
    for job in jobs:
        forgotten(here, job)
    for job, (status, code, signal) in jobs.items():
        told = here.status(job)
        assert (told["status"], told["exit_code"], told["signal"] or None) == (status, code, signal), told


def a_canceled_job_stays_canceled(here):
    job = here.submit("sleep 300")
    here.running_on(job)
    here.call("cancel", job)
    forgotten(here, job)
    other = SlurmClient(here.program)
    other.call("adopt", job, "-p", "slurm")
    assert other.status(job)["status"] == "Canceled", other.status(job)
    other.close()


def runners_that_no_job_names_are_caches(here):
    job = here.submit("true")
    here.wait(job)
    folder = os.path.join(os.environ["SLURM_BASE_RESULTS_DIR"], "runner")
    ours = set(os.listdir(folder))
    unused, named = "slipway-runner-x86_64-0000000000000000", "slipway-runner-x86_64-1111111111111111"
    for name in (unused, named):
        here.as_user("touch", f"{folder}/{name}")
    here.as_user("sh", "-c", f"echo {named} >{folder}/../sbatch/job_other.sbatch")
    assert not [row for row in here.json("gc")["leftovers"] if row["platform"] == "slurm"]
    rows = [row for row in here.json("gc", "--caches")["leftovers"] if row["platform"] == "slurm"]
    assert [(os.path.basename(row["where"]), row["removed"]) for row in rows] == [(unused, False)], rows
    here.call("gc", "--caches", "--yes")
    assert set(os.listdir(folder)) == ours | {named}, os.listdir(folder)


if __name__ == "__main__":
    sys.exit(main(globals()))
