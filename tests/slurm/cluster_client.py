# SPDX-License-Identifier: Apache-2.0
#
# cluster_client.py - a user of the test cluster: submits with slipway, and reads what the cluster says.
import glob
import json
import os
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from harness import claims  # noqa: E402
from harness.client import FINAL, Client, Gate, until  # noqa: E402

BASE = os.environ.get("SLURM_BASE_RESULTS_DIR", "")
ROOT = os.environ.get("SLIPWAY_TEST_CLUSTER", "")


def control(*words):
    subprocess.run(["cluster-control", *words], check=True)


class SlurmClient(Client):
    """One slipway whose jobs go to the cluster."""

    def __init__(self, program):
        super().__init__(program)
        self.env["SLIPWAY_STATE_DIR"] = self.folder
        self.submitted = []

    def job_file(self, command, **more):
        document = {"name": "t", "command": command, "platform": "slurm", "time": "10m", **more}
        return self.file(f"job-{time.monotonic_ns()}.json", document)

    def submit(self, command, **more):
        """Detached: when this returns, no process of slipway is left."""
        job = self.call("run", "-d", self.job_file(command, **more)).stdout.split()[0]
        self.submitted.append(job)
        return job

    def gate(self):
        return Gate(BASE)

    def log(self, job):
        return self.call("logs", job, check=False).stdout

    # ---- what the cluster itself has

    def as_user(self, *words):
        done = subprocess.run(["as-ann", *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
        return done.stdout

    def attempts(self, job, task=""):
        """The lines of the record, as the batch script wrote them."""
        try:
            with open(f"{BASE}/meta/{job}.1{task}/attempts", encoding="utf-8") as file:
                return [json.loads(line) for line in file.read().splitlines()]
        except FileNotFoundError:
            return []

    def has_ended(self, job):
        return os.path.exists(f"{BASE}/meta/{job}.1/exit")

    def slurm_id(self, job):
        with open(f"{BASE}/meta/{job}.1/job", encoding="utf-8") as file:
            return file.read().strip()

    def in_queue(self, job):
        """Rows of squeue that are not over."""
        return self.as_user("squeue", "-h", "-o", "%A %T", "-n", f"tao-job-{job}").splitlines()

    def running_on(self, job):
        def look():
            rows = self.as_user("squeue", "-h", "-t", "R", "-o", "%N", "-n", f"tao-job-{job}").split()
            return rows[0] if rows and self.attempts(job) else None
        return until(look, "the job to run")

    def queue_history(self, job):
        """Slurm's ids of all jobs that ever had its name."""
        rows = self.as_user("sacct", "-n", "-X", "-P", "--name", f"tao-job-{job}", "-S", "now-1hour",
                            "--format=JobIDRaw").split()
        return sorted(set(rows), key=int)

    def had_ids(self, job, count):
        """Accounting comes a little late; and nothing of the job is left that could add to it."""
        until(lambda: len(self.queue_history(job)) >= count, f"{count} ids of {job}", 20)
        assert not self.in_queue(job) and len(self.queue_history(job)) == count, self.queue_history(job)

    def wait(self, job, seconds=300):
        """Until nothing of it is queued and it has had its last word (or was cancelled), without a client."""
        until(lambda: not self.in_queue(job), f"the end of {job}", seconds)

    def ended(self, job):
        """An array is, as soon as accounting knows: of tasks it may hear a moment after the queue is empty. Every other
        job has its end in its own record. Only looks: what is to happen without a client happens without this one."""
        def end():
            shown = self.status(job)
            return shown if shown["status"] in FINAL else None
        return until(end, f"the end of {job}")

    def completed(self, job):
        shown = self.ended(job)
        assert shown["status"] == "Complete", f"{json.dumps(shown, indent=1)}\n{self.log(job)}"

    def explain(self):
        """The logs and records of the jobs that it submitted."""
        said = ""
        for path in sorted(glob.glob(f"{BASE}/slurm-logs/*/main.*")) + sorted(glob.glob(f"{BASE}/meta/*/attempts")):
            if any(job in path for job in self.submitted):
                with open(path, encoding="utf-8", errors="replace") as file:
                    said += f"--- {path}\n{file.read()[-3000:]}\n"
        return said


def main(names, make=SlurmClient, at_once=1):
    """Every claim of a test program; 77 where there is no runner to send."""
    runner = os.path.join(os.environ.get("SLIPWAY_RUNNERS", ""), f"slipway-runner-{os.uname().machine}")
    if not os.path.exists(runner):
        print("skipped: `static/compile runner` makes the runner that is sent to the cluster")
        return 77
    return claims.main(names, make, at_once)
