#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_jobs.py - jobs of the stand-in for Lepton really run, as containers of the engine that started us.

    ../../docker/engine check_jobs.py [CLAIM...]
"""
import os
import sys
import time

sys.dont_write_bytecode = True
from lepton_client import BASE, GROUP, TOKEN, Client  # noqa: E402
from harness import claims  # noqa: E402
from harness.client import expect, until  # noqa: E402

DAY, WAITS = 86400 * 10**9, "trap 'echo term; exit 0' TERM; echo up; while :; do sleep 0.1 & wait; done"


def client():
    return Client(os.environ["DOCKER_HOST"][len("unix://"):], list_delay_ms=0, log_delay_ms=0, ready_delay_ms=0)


def whole_log(here, job, **query):
    now = time.time_ns()
    return here.lines(**(query or {"job": job}), start=now - DAY, end=now + DAY, direction="forward", limit=10000,
                      job_query_mode="alive_and_archive")


def a_container_has_the_command_and_the_variables_of_the_body(here):
    here.ask("POST", "/usersecrets", [{"name": "KEY", "value": "of-the-store"}])
    job = here.create("env", "env", envs=[{"name": "A", "value": "x" * 98304}, {"name": "B", "value": ""}, {
        "name": "SECRET", "value_from": {"secret_name_ref": "KEY"}}], shared_memory_size=128)
    expect(here.reach(job, "Completed")["succeeded"] == 1, "it did not succeed")
    said = dict(line.split("=", 1) for _, line in whole_log(here, job))
    expect(said["A"] == "x" * 98304 and said["B"] == "" and said["SECRET"] == "of-the-store", said.keys())
    expect((said["LEPTON_JOB_NAME"], said["LEPTON_JOB_WORKER_INDEX"], said["LEPTON_JOB_TOTAL_WORKERS"]) == (job, "0", "1"), said)
    expect("of-the-store" not in str(here.get(f"/jobs/{job}")), "the secret is in the job")


def workers_find_each_other_by_name(here):
    command = ('n=$LEPTON_JOB_WORKER_PREFIX; d=$LEPTON_SUBDOMAIN; if [ "$LEPTON_JOB_WORKER_INDEX" = 0 ]; then '
               "echo hello | nc -l -p 29400; else until nc $n-0.$d 29400 </dev/null; do sleep 0.2; done; fi")
    job = here.create("two", command, completions=2, parallelism=2, intra_job_communication=True)
    here.reach(job, "Completed")
    replicas = here.get(f"/jobs/{job}/replicas", job_query_mode="alive_and_archive")
    expect([one["id"][:len(job) + 2] for one in replicas] == [f"{job}-0", f"{job}-1"], replicas)
    said = [line for _, line in whole_log(here, job, replica=replicas[1]["id"])]
    expect("hello" in said and "hello" not in [line for _, line in whole_log(here, job, replica=replicas[0]["id"])], said)


def one_that_fails_ends_the_others(here):
    job = here.create("fails", f'[ "$LEPTON_JOB_WORKER_INDEX" = 1 ] && exit 3; {WAITS}', completions=2, parallelism=2)
    status = here.reach(job, "Failed")
    expect((status["failed"], status["succeeded"]) == (1, 1), status)
    expect(here.get(f"/jobs/{job}/failure-analysis")["err_class"] == "ERR_PROGRAM", "its class")
    expect([event["reason"] for event in here.get(f"/jobs/{job}/events")] == ["Scheduled", "Started", "Failed"], "its events")


def a_job_is_tried_again_and_each_run_has_its_log(here):
    job = here.create("again", "echo run $LEPTON_JOB_FAILURE_COUNT; exit $((1 - LEPTON_JOB_FAILURE_COUNT))",
                      max_job_failure_retry=1)
    history = here.reach(job, "Completed")["job_history"]
    expect(len(history) == 1 and history[0]["failed"] == 1, history)
    expect([line for _, line in whole_log(here, job)] == ["run 1"], "the log of the last run")
    expect([line for _, line in whole_log(here, job, job_history_name=history[0]["job_name"])] == ["run 0"], "that of the first")


def a_stopped_job_hears_term_once_and_can_begin_again(here):
    job = here.create("stops", WAITS)
    until(lambda: whole_log(here, job), "its first line")
    here.ask("PATCH", f"/jobs/{job}", {"spec": {"stopped": True}})
    here.reach(job, "Stopped")
    expect([line for _, line in whole_log(here, job)] == ["up", "term"], whole_log(here, job))
    here.ask("PATCH", f"/jobs/{job}", {"spec": {"stopped": False}})
    expect(len(here.reach(job, "Running")["job_history"]) == 1, "its history")
    here.ask("DELETE", f"/jobs/{job}")
    until(lambda: here.ask("GET", f"/jobs/{job}?job_query_mode=alive_and_archive")[0] == 404, "it is gone")


def a_job_that_does_not_hear_is_killed_after_its_grace(here):
    here.set(grace=1)
    job = here.create("deaf", "trap '' TERM; echo up; while :; do sleep 1; done")
    until(lambda: here.lines(job=job), "its first line")
    here.ask("PATCH", f"/jobs/{job}", {"spec": {"stopped": True}})
    here.reach(job, "Stopped")


def a_job_waits_for_gpus(here):
    group, shape = {"allowed_dedicated_node_groups": [GROUP]}, "gpu.1xh100-sxm"
    first = here.create("first", WAITS, affinity=group, resource_shape=shape)
    here.reach(first, "Running")
    second = here.create("second", affinity=group, resource_shape=shape)
    here.reach(second, "Queueing")
    issue = here.get(f"/jobs/{second}/replicas")[0]["status"]["readiness_issue"]
    expect(issue["reason"] == "NoCapacity", issue)
    nodes = here.get(f"/dedicated-node-groups/{GROUP}/nodes")
    expect(nodes[0]["spec"]["resource"]["gpu"]["allocated"] == 1, nodes[0])
    expect(here.create("cpu", affinity=group) and here.ask("DELETE", f"/jobs/{first}")[0] == 200, "delete")
    here.reach(second, "Completed")


def what_cannot_begin_says_why_and_begins_when_it_can(here):
    group = {"allowed_dedicated_node_groups": [GROUP]}
    image = here.create("image", container={"image": "guess:1"})
    secret = here.create("secret", envs=[{"name": "A", "value_from": {"secret_name_ref": "LATER"}}])
    mount = here.create("mount", "cat /mnt/x/file", affinity=group, mounts=[
        {"from": "node-nfs:lustre", "path": "/later", "mount_path": "/mnt/x", "mount_options": {"read_only": True}}])
    for job, words in ((image, "pull image"), (secret, "secret not found"), (mount, "mount point not found")):
        def issue():
            return here.get(f"/jobs/{job}/replicas")[0]["status"].get("readiness_issue", {})
        until(lambda: issue().get("reason") == "ConfigError" and words in issue()["message"], words)
        expect(here.status(job)["state"] == "Starting", here.status(job))
    here.ask("POST", "/usersecrets", [{"name": "LATER", "value": "x"}])
    (here.folder / "volumes/lustre/later").mkdir()
    (here.folder / "volumes/lustre/later/file").write_text("of the volume\n")
    here.reach(secret, "Completed")
    here.reach(mount, "Completed")
    expect([line for _, line in whole_log(here, mount)] == ["of the volume"], "the file")


def a_job_is_archived_after_its_time(here):
    job = here.create("short", "echo said", ttl_seconds_after_finished=0)
    here.reach(job, "Archived")
    here.refused(404, "GET", f"/jobs/{job}")
    here.refused(404, "GET", f"/logs?job={job}")
    expect(here.jobs() == [] and here.jobs(job_query_mode="archive_only") == ["short"], "where it is listed")
    expect([line for _, line in whole_log(here, job)] == ["said"], "its log")
    here.refused(404, "DELETE", f"/jobs/{job}")
    expect(here.ask("DELETE", f"/jobs/{job}?job_query_mode=alive_and_archive")[0] == 200, "delete")


def logs_have_pages_in_both_directions(here):
    job = here.create("lines", "i=0; while [ $i -lt 300 ]; do echo $i; i=$((i + 1)); done")
    here.reach(job, "Completed")
    lines = whole_log(here, job)
    expect([line for _, line in lines] == [str(i) for i in range(300)] and lines == sorted(lines, key=lambda one: one[0]), "all")
    start, middle, end = lines[0][0], lines[100][0], lines[-1][0]
    for shared in range(2):                       # sometimes one more comes than was asked for
        page = here.lines(job=job, start=start, end=end + 1, direction="forward", limit=100)
        expect(page[:100] == lines[:100] and len(page) <= 101, (shared, len(page)))
        page = here.lines(job=job, start=start, end=end + 1, limit=100)
        expect(page[:100] == lines[:-101:-1] and len(page) <= 101, (shared, page[:3]))
    expect(middle not in [stamp for stamp, _ in here.lines(job=job, start=start, end=middle)], "the end is part of the range")
    expect(here.lines(job=job, start=middle, end=end, direction="forward", limit=1)[0] == lines[100], "the beginning is not")
    expect([line for _, line in here.lines(job=job, start=start, end=end + 1, q="29", direction="forward")] == [
        "29", "129", "229", *map(str, range(290, 299)), "299"], "a text")
    parts = {len(entry) for _ in range(2) for stream in here.get("/logs", job=job)["data"]["result"] for entry in stream["values"]}
    expect(parts == {2, 3}, parts)
    replica = here.get(f"/jobs/{job}/replicas")[0]["id"]
    status, _, said = here.raw("GET", f"{BASE}/jobs/{job}/replicas/{replica}/log", headers={"Authorization": f"Bearer {TOKEN}"})
    expect(status == 200 and said.decode().split() == [str(i) for i in range(300)], "the live log")


def a_line_is_seen_late(here):
    here.set(log_delay_ms=10**9)
    job = here.create("late", "echo said")
    here.reach(job, "Completed")
    expect(whole_log(here, job) == [], "at once")
    here.set(log_delay_ms=0)
    expect([line for _, line in whole_log(here, job)] == ["said"], "later")


def one_that_was_killed_finds_its_jobs_again(here):
    job = here.create("lives", "i=0; while [ $i -lt 40 ]; do echo $i; i=$((i + 1)); sleep 0.1; done; exit 3")
    until(lambda: len(whole_log(here, job)) > 5, "some lines")
    here.kill()
    here.start_again()
    here.reach(job, "Failed")
    expect([line for _, line in whole_log(here, job)] == [str(i) for i in range(40)], whole_log(here, job))


if __name__ == "__main__":
    sys.exit(0 if claims.prove_all(claims.chosen(claims.claims_in(globals()), sys.argv[1:]), client, 3) else 1)
