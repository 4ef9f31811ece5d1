#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count_requests.py - what the program asks Lepton for: few requests per submit, one paged list per refresh.

    count_requests.py SLIPWAY [CLAIM...]       (with SLIPWAY_RUNNERS)

The stand-in has no engine here: its jobs wait for ever, as nothing but the requests is counted.
"""
import concurrent.futures
import json
import re
import sys

sys.dont_write_bytecode = True
import lepton_client  # noqa: E402
from harness import claims  # noqa: E402
from harness.client import Client, expect, until  # noqa: E402

MANY, SUBMIT_MOST = 100, 4
SECRET = "a-secret-of-the-job"


class Counted(Client):
    engine = ""                          # its jobs wait for ever

    def __init__(self, program):
        self.cloud = lepton_client.Client(self.engine, list_delay_ms=0, permissions={"lustre": [{"path_prefix": "/team/me"}]})
        super().__init__(program, SLIPWAY_WATCHER="off", LEPTON_WORKSPACE_ID="wsp1", LEPTON_NODE_GROUP="h100",
                         LEPTON_WORKSPACE_URL=f"http://127.0.0.1:{self.cloud.port}{lepton_client.BASE}",
                         LEPTON_WORKSPACE_TOKEN=lepton_client.TOKEN, OWN_TOKEN=SECRET)

    def close(self):
        self.cloud.close()
        super().close()

    def explain(self):
        return self.cloud.explain() + "\n".join(" ".join(line)[:200] for line in self.cloud.requests()[-40:])

    def asked(self, *words):
        """The requests of one command."""
        before = len(self.cloud.requests())
        self.call(*words)
        return [f"{method} {path[len(lepton_client.BASE):]}" for method, path, _ in self.cloud.requests()[before:]]

    def submit(self, name, **more):
        return self.asked("run", "-d", self.file(f"{name}.json", {
            "name": name, "image": "slipway-test:busybox", "command": "true", "platform": "lepton", **more}))


def the_first_submit_takes_at_most_four_requests(here):
    asked = here.submit("first")
    expect(asked[-1] == "POST /jobs" and len(asked) <= SUBMIT_MOST, asked)
    expect(not [one for one in asked if one.startswith("POST") and one != "POST /jobs"], asked)
    return f"{len(asked)} requests"


def the_next_submits_take_no_more_and_mounts_are_chosen(here):
    here.submit("first")
    for more in ({}, {"nodes": 2}, {"gpus": 1}, {"secrets": ["OWN_TOKEN"]}):
        asked = here.submit("next", **more)
        expect(len(asked) <= SUBMIT_MOST, (more, asked))
    jobs = here.cloud.get("/jobs")
    jobs = jobs["jobs"] if isinstance(jobs, dict) else jobs
    expect({json.dumps(job["spec"]["mounts"]) for job in jobs} == {json.dumps(
        [{"from": "node-nfs:lustre", "path": "/team/me", "mount_path": "/mnt/lustre"}])}, [job["spec"]["mounts"] for job in jobs])
    expect(SECRET not in json.dumps(jobs) and here.cloud.get("/usersecrets"), "the secret is in a job, or in no store")


def a_refresh_of_many_running_jobs_is_one_paged_list(here):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda i: here.submit(f"job{i}"), range(MANY)))
    # A list has a megabyte of variables for each job: how long it takes is not what is counted.
    here.cloud.set(list_envs=False, say={"*": {"state": "Running"}})

    def asked():
        """Those of a refresh that no longer sees a job begin."""
        found = here.asked("ps", "--all")
        return found if all(one.startswith("GET /jobs?") for one in found) else None
    lists = until(asked, "a refresh without other questions")
    pages = [int(re.search(r"[?&]page=(\d+)", one)[1]) for one in lists]
    size = int(re.search(r"page_size=(\d+)", lists[0])[1])
    expect(pages == list(range(1, -(-MANY // size) + 2)), lists)           # there is no total: the last page is empty
    expect(all(job["status"] == "Running" for job in here.json("ps", "--all", "--stored")["jobs"]), "they are not seen")
    return f"{len(lists)} requests"


if __name__ == "__main__":
    sys.exit(claims.main(globals(), Counted))
