# SPDX-License-Identifier: Apache-2.0
"""jobs_client.py - the program before a bed, for tests/k8s/try-jobs."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
from bed_api import BED, Api, Refused  # noqa: E402
from harness.client import Client, Gate, expect, until  # noqa: E402

IMAGE = os.environ["K8S_IMAGE"]


def kubectl(*words, text=None):
    return subprocess.run(["kubectl", *words], check=True, text=True, stdout=subprocess.PIPE, input=text, timeout=120).stdout


def control(*words):
    subprocess.run([f"{BED}/control", *words], check=True)


class Here(Client):
    """A user with a namespace of its own, so that claims may count what is in it."""
    count = 0
    labels = {}                      # of the namespace

    def __init__(self, program, **env):
        super().__init__(program, tempfile.mkdtemp(prefix="jobs-", dir=os.environ["K8S_SHARED"]), SLIPWAY_WATCHER="off", **env)
        os.chmod(self.folder, 0o777)
        Here.count += 1
        self.namespace, self.api = f"n{os.getpid()}-{Here.count}", Api()
        self.env["TAO_K8S_NAMESPACE"] = self.namespace
        if not os.environ["K8S_REAL"]:                       # simulated pods run nothing
            self.env["SLIPWAY_RUNNERS"] = os.path.dirname(self.file("runners/slipway-runner-x86_64", "no runner"))
        self.make_namespace()

    def make_namespace(self):
        self.api.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                             "metadata": {"name": self.namespace, "labels": self.labels}})
        until(lambda: self.api.ask("GET", f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default")[0] == 200,
              "the namespace's account")

    def label_namespace(self, **labels):
        self.api.patch(f"/api/v1/namespaces/{self.namespace}", {"metadata": {"labels": {
            f"pod-security.kubernetes.io/{name}": value for name, value in labels.items()}}})

    def gate(self):
        return Gate(self.folder)

    def submit(self, *words, check=True, env=None, **keys):
        """Its id. Keys are those of a job file; words are the command, or one text for a shell."""
        done = self.try_submit(*words, env=env, **keys)
        expect(done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout.strip().splitlines()[-1]

    def try_submit(self, *words, env=None, **keys):
        argv = ["/bin/sh", "-c", *words] if len(words) == 1 else list(words)
        job = {"platform": "kubernetes", "image": IMAGE, "argv": argv, **keys}
        path = self.file(f"job-{len(os.listdir(self.folder))}.json", job)
        return self.call("run", "-d", path, check=False, **(env or {}))

    def list(self, plural, group="", selector=""):
        start = f"/apis/{group}" if group else "/api/v1"
        return self.api.get(f"{start}/namespaces/{self.namespace}/{plural}?labelSelector={selector}")["items"]

    def jobs(self):
        return self.list("jobs", "batch/v1")

    def pods(self, job):
        return self.list("pods", selector=f"slipway.id={job}")

    def why(self, job):
        return self.call("why", job).stdout

    def explain(self):
        try:
            return kubectl("get", "jobs,pods,events", "-n", self.namespace, "-o", "wide") + self.call("ps", "-a", check=False).stdout
        except Exception as trouble:                         # only a help
            return str(trouble)

    def close(self):
        try:
            self.api.delete(f"/api/v1/namespaces/{self.namespace}")
        except (OSError, Refused):
            pass
        super().close()


def names(objects):
    return sorted(one["metadata"]["name"] for one in objects)


def whole(objects):
    return json.dumps(objects)
