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

from bed_client import BASE, Client, control, main, until

sys.dont_write_bytecode = True
MANY = 12


def counted(client, *words, check=True):
    """The command's outcome, and how often it waited for an answer of the login host."""
    path = os.path.join(client.home, "counters")
    open(path, "w", encoding="utf-8").close()
    client.environment["SLIPWAY_SSH_COUNTERS"] = path
    try:
        done = client.slipway(*words, check=check)
    finally:
        del client.environment["SLIPWAY_SSH_COUNTERS"]
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


def a_cancel_of_many_takes_no_more_round_trips_than_one(client):
    one = launch(client, 1)
    client.running_on(one[0])
    jobs = launch(client, MANY)
    client.running_on(jobs[0])
    _, alone = counted(client, "cancel", *one)
    done, together = counted(client, "cancel", "-y", *jobs)
    assert all("canceled" in line for line in lines_for(done, jobs)), done
    for job in jobs:
        assert client.status(job)["status"] == "Canceled" and not client.in_queue(job), client.status(job)
    # What runs is waited for, in scripts of 1.6 s each: nothing of it is for each job.
    assert together <= alone + 6, (alone, together)


def a_removal_of_many_is_one_script(client):
    jobs = launch(client, MANY, "true")
    one, *rest = jobs
    for job in jobs:
        client.wait(job)
    client.slipway("wait", *jobs)
    _, alone = counted(client, "rm", one)
    done, together = counted(client, "rm", "-y", *rest)
    assert all("removed" in line for line in lines_for(done, rest)), done
    assert together == alone, (alone, together)
    assert not [name for name in os.listdir(f"{BASE}/meta") if any(job in name for job in jobs)], os.listdir(f"{BASE}/meta")


def failures_of_many_are_explained_by_one_script(client):
    jobs = launch(client, MANY, "echo 'RuntimeError: CUDA error: out of memory'; exit 3")
    one = launch(client, 1, "echo one; exit 3")[0]
    for job in (one, *jobs):
        client.wait(job)
    _, together = counted(client, "wait", *jobs, check=False)
    assert together <= 4, together                           # the login, one poll, one script for all the evidence
    client.slipway("wait", one, check=False)
    with sqlite3.connect(os.path.join(client.home, "jobs.db")) as store:
        causes = dict(store.execute("SELECT id, cause FROM jobs"))
    assert all(causes[job] == "memory" for job in jobs), causes
    for job in (jobs[0], jobs[-1]):
        assert "out of memory" in client.slipway("why", job).stdout
    assert "out of memory" not in client.slipway("why", one).stdout


def one_bad_job_stops_no_other(client):
    good, bad = launch(client, 1)[0], launch(client, 1)[0]
    client.running_on(good)
    client.running_on(bad)
    state = f"{BASE}/meta/{bad}.1"
    os.rename(state, state + ".away")
    open(state, "w", encoding="utf-8").close()               # no folder can be made where a file is
    try:
        done = client.slipway("cancel", "-y", good, bad, check=False)
        assert done.returncode not in (0, None), done
        assert client.status(good)["status"] == "Canceled" and not client.in_queue(good)
        assert [line for line in done.stderr.splitlines() if bad in line], done
    finally:
        os.unlink(state)
        os.rename(state + ".away", state)
    client.slipway("cancel", bad)
    assert not client.in_queue(bad)


def a_cluster_that_does_not_answer_costs_its_deadline_once(client):
    jobs = launch(client, 3)
    client.running_on(jobs[0])
    for name in ("login1", "login2"):
        control("freeze", name)
    try:
        # Three times the deadline of one would be 45 s and more.
        done = subprocess.run([client.program, "cancel", "-y", *jobs], env=client.environment, cwd=client.home, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=40,
                              check=False)
        assert done.returncode == 69, done
    finally:
        for name in ("login1", "login2"):
            control("thaw", name)
    # The intents stand: any later look carries all of them out.
    client.slipway("ps")
    until("the end of all", lambda: not any(client.in_queue(job) for job in jobs))
    client.slipway("wait", *jobs, check=False)
    assert all(client.status(job)["status"] == "Canceled" for job in jobs)


def a_batch_that_is_killed_is_finished_by_the_next_look(client):
    jobs = launch(client, 4, "trap 'sleep 4; exit 1' TERM; sleep 300 & wait")
    for job in jobs:
        client.running_on(job)
    with subprocess.Popen([client.program, "cancel", "-y", *jobs], env=client.environment, cwd=client.home,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as batch:
        def intended():
            with sqlite3.connect(f"file:{client.home}/jobs.db?mode=ro", uri=True) as store:
                return store.execute("SELECT count(*) FROM jobs WHERE canceling").fetchone()[0] == len(jobs)
        until("the intents", intended)
        batch.kill()
    # Two at once: both are answered, and each job ends once.
    both = [subprocess.Popen([client.program, "cancel", "-y", *jobs], env=client.environment, cwd=client.home, text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for each in both:
        out, errors = each.communicate(timeout=120)
        assert each.returncode == 0, (out, errors)
    for job in jobs:
        assert client.status(job)["status"] == "Canceled" and not client.in_queue(job), client.status(job)


CASES = [a_cancel_of_many_takes_no_more_round_trips_than_one, a_removal_of_many_is_one_script,
         failures_of_many_are_explained_by_one_script, one_bad_job_stops_no_other,
         a_cluster_that_does_not_answer_costs_its_deadline_once, a_batch_that_is_killed_is_finished_by_the_next_look]

if __name__ == "__main__":
    sys.exit(main(CASES, Client))
