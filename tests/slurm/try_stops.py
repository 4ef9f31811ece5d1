# SPDX-License-Identifier: Apache-2.0
#
# try_stops.py - a stop is a stop: one TERM, and the whole grace before KILL, however the job is stopped.
#
#   tests/slurm/cluster --nodes 4 -- python3 tests/slurm/try_stops.py SLIPWAY [CASE...]
#
# The cluster's own KillWait is two seconds: whatever takes longer is ours to keep.
import os
import subprocess
import sys

import try_many
from cluster_client import BASE, control, main, until

sys.dont_write_bytecode = True

# Writes down each TERM and goes on; the time it was last alive shows when KILL came. /proc/uptime is the same clock in
# every container. Other ranks than the first end at once, which must not cut its grace short.
DEAF = ("d={results_dir}; [ $NODE_RANK = 0 ] || trap 'read a b </proc/uptime; echo $a >>$d/told.$NODE_RANK; exit 1' TERM; "
        "[ $NODE_RANK != 0 ] || trap 'read a b </proc/uptime; echo $a >>$d/told.$NODE_RANK' TERM; echo up >$d/up.$NODE_RANK; "
        "while :; do sleep 0.1; read a b </proc/uptime; echo $a >$d/last.$NODE_RANK; done")
IMAGE = "/media/lustre/stops.sqsh"


def text(job, name):
    try:
        with open(f"{BASE}/results/{job}/{name}", encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def begun(job, ranks=1):
    until(lambda: all(text(job, f"up.{rank}") for rank in range(ranks)), f"the command of {job}")


def told(job, rank=0):
    return [float(word) for word in text(job, f"told.{rank}").split()]


def lived(job, rank=0):
    """Seconds between the first TERM and the end."""
    return float(text(job, f"last.{rank}")) - told(job, rank)[0]


def kinds():
    """Without a container, and with one where there is an image."""
    if not os.path.exists(IMAGE):
        control("make-sqsh", IMAGE)
    return ({}, {"image": IMAGE})


def a_cancel_is_one_term_and_the_whole_grace(here):
    jobs = [here.submit(DEAF, grace="6s", nodes=nodes, retry={"max": 0}, **kind) for kind in kinds() for nodes in (1, 2)]
    for job, ranks in zip(jobs, (1, 2, 1, 2)):
        begun(job, ranks)
    here.call("cancel", *jobs)
    for job, ranks in zip(jobs, (1, 2, 1, 2)):
        assert here.status(job)["status"] == "Canceled" and not here.in_queue(job), here.status(job)
        for rank in range(ranks):
            assert len(told(job, rank)) == 1, (job, rank, told(job, rank))
        assert 5 <= lived(job) <= 12, (job, lived(job))


def a_canceled_job_is_canceled_for_slurm_too(here):
    job = here.submit("echo up >{results_dir}/up.0; sleep 300")
    begun(job)
    here.call("cancel", job)
    until(lambda: "CANCELLED" in here.as_user("sacct", "-nX", "-j", here.slurm_id(job), "--format=State"), "accounting")


def a_time_limit_is_one_term_and_all_of_signal_ahead(here):
    more = {"time": "1m", "grace": "2s", "retry": {"max": 0}}
    jobs = [here.submit(DEAF, slurm={"signal_ahead": "22s"}, **more, **kind) for kind in kinds()]
    for job in jobs:
        here.wait(job)
        seen = here.status(job)
        assert (seen["status"], seen["exit_code"], seen["reason"]) == ("Error", 124, "time"), seen
        assert len(told(job)) == 1, (job, told(job))
        assert 15 <= lived(job) <= 22, (job, lived(job))


def a_limit_of_seconds_has_the_grace(here):
    jobs = [here.submit(DEAF, time="5s", grace="6s", retry={"max": 0}, **kind) for kind in kinds()]
    for job in jobs:
        here.wait(job)
        assert here.status(job)["exit_code"] == 124, here.status(job)
        assert len(told(job)) == 1 and 5 <= lived(job) <= 12, (job, told(job), lived(job))


def a_scancel_by_hand_is_one_term(here):
    jobs = [here.submit(DEAF, grace="20s", retry={"max": 0}, **kind) for kind in kinds()]
    for job in jobs:
        begun(job)
        here.as_user("scancel", here.slurm_id(job))
    for job in jobs:
        here.wait(job)
        assert len(told(job)) == 1, (job, told(job))


def a_job_that_has_not_begun_its_command_is_canceled_at_once(here):
    job = here.submit("true", slurm={"setup_lines": ["echo up >$slipway_results/up.0", "sleep 300"]})
    begun(job)
    here.call("cancel", job)
    assert here.status(job)["status"] == "Canceled" and not here.in_queue(job)


def a_login_host_that_hangs_is_reported_in_time(here):
    job = here.submit("sleep 300")
    here.running_on(job)
    for name in ("login1", "login2"):
        control("freeze", name)
    try:
        done = subprocess.run([here.program, "cancel", job], env=here.env, cwd=here.folder, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, check=False)
        assert done.returncode == 69, (done.returncode, done.stderr)
    finally:
        for name in ("login1", "login2"):
            control("thaw", name)
    here.call("cancel", job)
    assert not here.in_queue(job)


if __name__ == "__main__":
    sys.exit(main({**globals(), **vars(try_many)}))
