#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""count_requests.py - what the program asks run:ai for: one paged list per refresh, and few requests per submit.

    count_requests.py SLIPWAY [CLAIM...]       (with SLIPWAY_RUNNERS)

The stand-in has no engine here: its workloads wait for ever, as nothing but the requests is counted.
"""
import json
import re
import sys

sys.dont_write_bytecode = True
import api_client  # noqa: E402
from harness import claims  # noqa: E402
from harness.client import Client, expect  # noqa: E402

MANY, PAGE, EXPLAINED = 100, 50, 4
LOOKUPS = ["POST /token", "GET /org-unit/projects", "GET /clusters"]       # of a new process


class Counted(Client):
    def __init__(self, program):
        self.cloud = api_client.Client()
        url = f"http://127.0.0.1:{self.cloud.port}"
        super().__init__(program, SLIPWAY_WATCHER="off", RUNAI_BASE_URL=url, RUNAI_KUBE_APISERVER_URL=url,
                         RUNAI_PROJECT="suite", RUNAI_CLIENT_ID="client-of-the-suite",
                         RUNAI_CLIENT_SECRET="secret-of-the-suite", OWN_TOKEN="a-secret-of-the-job")
        for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE"):
            self.env.pop(name, None)         # a job takes the certificates of this machine along

    def close(self):
        self.cloud.close()
        super().close()

    def explain(self):
        return self.cloud.explain() + "\n".join(" ".join(line)[:200] for line in self.cloud.requests()[-40:])

    def asked(self, *words):
        """The requests of one command, without what is in their queries but pages and names."""
        before = len(self.cloud.requests())
        self.call(*words)
        return [f"{method} {re.sub('^/api/v1', '', path.split('?')[0])}" for method, path, _ in self.cloud.requests()[before:]]

    def job(self, name, **more):
        return self.file(f"{name}.json", {"name": name, "image": "slipway-test:busybox", "command": "true", "platform": "runai",
                                          "runai": {"volumes": {"/results": "/tmp"}}, **more})

    def submit(self, name, **more):
        return self.asked("run", "-d", self.job(name, **more))


def a_submit_takes_few_requests(here):
    plain = here.submit("plain")
    expect(sorted(plain) == sorted([*LOOKUPS, "GET /workloads", "POST /workloads/trainings"]), plain)
    several = here.submit("several", nodes=2)
    expect(sorted(several) == sorted([*LOOKUPS, "GET /workloads", "POST /workloads/distributed"]), several)


def secrets_of_a_job_take_two_more(here):
    asked = here.submit("secret", secrets=["OWN_TOKEN"])
    path = "/asset/credentials/generic-secret"
    more = [re.sub(path + "/.*", path + "/ID", one) for one in asked if path in one]
    expect(more == [f"POST {path}", f"GET {path}/ID"] and len(asked) == len(LOOKUPS) + 4, asked)
    listed = here.cloud.get("/api/v1/workloads")["workloads"][0]
    expect("a-secret-of-the-job" not in json.dumps(listed), "a list shows the secret")


def a_refresh_of_many_jobs_is_one_paged_list(here):
    for i in range(MANY):
        here.submit(f"job{i}")
    asked = here.asked("ps", "--all")
    lists = [one for one in asked if one == "GET /workloads"]
    events = [one for one in asked if one.endswith("/events")]       # why the first few that wait long do so
    expect(len(lists) == MANY // PAGE and len(asked) - len(lists) - len(events) <= len(LOOKUPS), asked)
    expect(len(events) <= EXPLAINED, events)
    pages = [re.search(r"offset=(\d+)", line[1]) for line in here.cloud.requests() if "offset=" in line[1] and "/workloads?" in line[1]]
    expect({int(found[1]) for found in pages if found} >= {PAGE}, "they are not pages")
    return f"{len(asked)} requests"


if __name__ == "__main__":
    sys.exit(claims.main(globals(), Counted))
