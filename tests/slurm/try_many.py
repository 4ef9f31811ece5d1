# SPDX-License-Identifier: Apache-2.0
#
# try_many.py - many jobs at once cost what a few questions cost: scripts and round trips are counted, not seconds.
#
#   tests/slurm/cluster --nodes 4 -- python3 tests/slurm/try_many.py SLIPWAY [CASE...]
#
# try_stops.py has these cases on its list.
import json
import os
import sqlite3
import subprocess
import sys

from cluster_client import BASE, control, main, until

sys.dont_write_bytecode = True
MANY = 12


def counted(client, *words, check=True):
    """The command's outcome, and how often it waited for an answer of the login host."""
    path = os.path.join(client.folder, "counters")
    open(path, "w", encoding="utf-8").close()
    client.env["SLIPWAY_SSH_COUNTERS"] = path
    try:
        done = client.call(*words, check=check)
    finally:
        del client.env["SLIPWAY_SSH_COUNTERS"]
    with open(path, encoding="utf-8") as file:
        return done, sum(json.loads(line)["round_trips"] for line in file if line.strip())


def launch(client, count, command="sleep 300"):
    return [client.submit(command, retry={"max": 0}, slurm={"cpus_per_task": 1}) for _ in range(count)]


def lines_for(done, jobs):
    """What was said of each: exactly one line."""
    said = (done.stdout + done.stderr).splitlines()
    found = [[line for line in said if job in line] for job in jobs]
    assert all(len(lines) == 1 for lines in found), said
    return [lines[0] for lines in found]


def a_cancel_of_many_takes_no_more_round_trips_than_one(here):
    one = launch(here, 1)
    here.running_on(one[0])
    jobs = launch(here, MANY)
    here.running_on(jobs[0])
    _, alone = counted(here, "cancel", *one)
    done, together = counted(here, "cancel", "-y", *jobs)
    assert all("canceled" in line for line in lines_for(done, jobs)), done
    for job in jobs:
        assert here.status(job)["status"] == "Canceled" and not here.in_queue(job), here.status(job)
    # What runs is waited for, in scripts of 1.6 s each: nothing of it is for each job.
    assert together <= alone + 6, (alone, together)


def a_removal_of_many_is_one_script(here):
    jobs = launch(here, MANY, "true")
    one, *rest = jobs
    for job in jobs:
        here.wait(job)
    here.call("wait", *jobs)
    _, alone = counted(here, "rm", one)
    done, together = counted(here, "rm", "-y", *rest)
    assert all("removed" in line for line in lines_for(done, rest)), done
    assert together == alone, (alone, together)
    assert not [name for name in os.listdir(f"{BASE}/meta") if any(job in name for job in jobs)], os.listdir(f"{BASE}/meta")


def failures_of_many_are_explained_by_one_script(here):
    jobs = launch(here, MANY, "echo 'RuntimeError: CUDA error: out of memory'; exit 3")
    one = launch(here, 1, "echo one; exit 3")[0]
    for job in (one, *jobs):
        here.wait(job)
    _, together = counted(here, "wait", *jobs, check=False)
    assert together <= 4, together                           # the login, one poll, one script for all the evidence
    here.call("wait", one, check=False)
    with sqlite3.connect(os.path.join(here.folder, "jobs.db")) as store:
        causes = dict(store.execute("SELECT id, cause FROM jobs"))
    assert all(causes[job] == "memory" for job in jobs), causes
    for job in (jobs[0], jobs[-1]):
        assert "out of memory" in here.call("why", job).stdout
    assert "out of memory" not in here.call("why", one).stdout


def one_bad_job_stops_no_other(here):
    good, bad = launch(here, 1)[0], launch(here, 1)[0]
    here.running_on(good)
    here.running_on(bad)
    state = f"{BASE}/meta/{bad}.1"
    os.rename(state, state + ".away")
    open(state, "w", encoding="utf-8").close()               # no folder can be made where a file is
    try:
        done = here.call("cancel", "-y", good, bad, check=False)
        assert done.returncode not in (0, None), done
        assert here.status(good)["status"] == "Canceled" and not here.in_queue(good)
        assert [line for line in done.stderr.splitlines() if bad in line], done
    finally:
        os.unlink(state)
        os.rename(state + ".away", state)
    here.call("cancel", bad)
    assert not here.in_queue(bad)


def a_cluster_that_does_not_answer_costs_its_deadline_once(here):
    jobs = launch(here, 3)
    here.running_on(jobs[0])
    for name in ("login1", "login2"):
        control("freeze", name)
    try:
        # Three times the deadline of one would be 45 s and more.
        done = subprocess.run([here.program, "cancel", "-y", *jobs], env=here.env, cwd=here.folder, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=40,
                              check=False)
        assert done.returncode == 69, done
    finally:
        for name in ("login1", "login2"):
            control("thaw", name)
    # The intents stand: whatever acts next carries all of them out.
    here.call("watcher", "once")
    until(lambda: not any(here.in_queue(job) for job in jobs), "the end of all")
    here.call("wait", *jobs, check=False)
    assert all(here.status(job)["status"] == "Canceled" for job in jobs)


def a_batch_that_is_killed_is_finished_by_the_next_look(here):
    jobs = launch(here, 4, "trap 'sleep 4; exit 1' TERM; sleep 300 & wait")
    for job in jobs:
        here.running_on(job)
    with subprocess.Popen([here.program, "cancel", "-y", *jobs], env=here.env, cwd=here.folder,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as batch:
        def intended():
            with sqlite3.connect(f"file:{here.folder}/jobs.db?mode=ro", uri=True) as store:
                return store.execute("SELECT count(*) FROM jobs WHERE canceling").fetchone()[0] == len(jobs)
        until(intended, "the intents")
        batch.kill()
    # Two at once: both are answered, and each job ends once.
    both = [subprocess.Popen([here.program, "cancel", "-y", *jobs], env=here.env, cwd=here.folder, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for each in both:
        out, errors = each.communicate(timeout=120)
        assert each.returncode == 0, (out, errors)
    for job in jobs:
        assert here.status(job)["status"] == "Canceled" and not here.in_queue(job), here.status(job)


if __name__ == "__main__":
    sys.exit(main(globals()))
