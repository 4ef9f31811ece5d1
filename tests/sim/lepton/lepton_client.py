# SPDX-License-Identifier: Apache-2.0
"""lepton_client.py - the shortest client of the stand-in for Lepton, for its checks."""
import os
import pathlib
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from cloud_client import StandIn  # noqa: E402
from harness.client import expect, until  # noqa: E402

TOKEN, BASE, GROUP = "token-of-the-suite", "/api/v2/workspaces/wsp1", "grp-h100-a1b2"
IMAGE = os.environ.get("SLIPWAY_TEST_IMAGE", "busybox")


def body(name="train-1", command=None, metadata=None, container=None, **spec):
    return {"metadata": {"id": name, "name": name, **(metadata or {})},
            "spec": {"resource_shape": "cpu.tiny", **spec, "container": {
                "image": IMAGE, "command": ["/bin/sh", "-c", command or "true"], **(container or {})}}}


class Client(StandIn):
    def __init__(self, engine="", **settings):
        super().__init__(HERE / "server", engine, **settings)

    def ask(self, method, path, said=None, token=TOKEN):
        return self.say(method, BASE + path, said, token)

    def get(self, path, **query):
        status, answer = self.ask("GET", path + ("?" + urllib.parse.urlencode(query, doseq=True) if query else ""))
        expect(status == 200, f"{path} {query}: {status} {answer}")
        return answer

    def create(self, *words, **spec):
        """The id of a new job."""
        status, answer = self.ask("POST", "/jobs", body(*words, **spec))
        expect(status == 200, f"{status} {answer}")
        return answer["metadata"]["id"]

    def refused(self, status, method, path, said=None, *words, code=None):
        got, answer = self.ask(method, path, said)
        expect(got == status, f"{method} {path} {str(said)[:300]}: {status} was expected, and {got} {answer} came")
        expect(set(answer) == {"code", "message"} and all(word in answer["message"] for word in words), answer)
        expect(code in (None, answer["code"]), answer)

    def jobs(self, **query):
        """Names of the jobs in a list, whichever of its two shapes it has."""
        answer = self.get("/jobs", **query)
        return [job["metadata"]["name"] for job in (answer["jobs"] if isinstance(answer, dict) else answer)]

    def status(self, job):
        return self.get(f"/jobs/{job}", job_query_mode="alive_and_archive")["status"]

    def reach(self, job, *states):
        return until(lambda: (now := self.status(job))["state"] in states and now, f"{states}; it is {self.status(job)}")

    def lines(self, **query):
        """[(nanoseconds, line)] of a page, as they come."""
        return [(int(entry[0]), entry[1]) for stream in self.get("/logs", **query)["data"]["result"]
                for entry in stream["values"]]
