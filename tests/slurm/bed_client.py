# SPDX-License-Identifier: Apache-2.0
#
# bed_client.py - a user of the test cluster: submits with slipway, and reads what the cluster says.
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

BASE = os.environ.get("SLURM_BASE_RESULTS_DIR", "")


def until(what, condition, seconds=90):
    """Waits for a condition with a deadline, and returns what it returned."""
    deadline = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come in {seconds} s")
        time.sleep(0.2)


def control(*words):
    subprocess.run(["cluster-control", *words], check=True)


class Client:
    """One slipway with a store of its own."""

    def __init__(self, program):
        self.program = os.path.abspath(program)
        self.home = tempfile.mkdtemp(prefix="slipway-client-")
        self.environment = dict(os.environ, SLIPWAY_STATE_DIR=self.home, HOME=self.home)

    def close(self):
        shutil.rmtree(self.home, ignore_errors=True)

    def slipway(self, *words, check=True):
        done = subprocess.run([self.program, *words], env=self.environment, cwd=self.home, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=300, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"slipway {' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def job_file(self, command, **more):
        document = {"name": "t", "command": command, "platform": "slurm", "time": "10m", **more}
        path = os.path.join(self.home, f"job-{time.monotonic_ns()}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return path

    def submit(self, command, **more):
        """Detached: when this returns, no process of slipway is left."""
        return self.slipway("run", "-d", self.job_file(command, **more)).stdout.split()[0]

    def status(self, job):
        return json.loads(self.slipway("status", job, "-o", "json").stdout)

    def log(self, job):
        return self.slipway("logs", job, check=False).stdout

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

    def over(self, job):
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
        return until("the job to run", look)

    def queue_history(self, job):
        """Slurm's ids of all jobs that ever had its name."""
        rows = self.as_user("sacct", "-n", "-X", "-P", "--name", f"tao-job-{job}", "-S", "now-1hour",
                            "--format=JobIDRaw").split()
        return sorted(set(rows), key=int)

    def had_ids(self, job, count):
        """Accounting comes a little late; and nothing of the job is left that could add to it."""
        until(f"{count} ids of {job}", lambda: len(self.queue_history(job)) >= count, 20)
        assert not self.in_queue(job) and len(self.queue_history(job)) == count, self.queue_history(job)

    def wait(self, job, seconds=300):
        """Until nothing of it is queued and it has had its last word (or was cancelled), without a client."""
        until(f"the end of {job}", lambda: not self.in_queue(job), seconds)

    def explain(self, job_names):
        for path in sorted(glob.glob(f"{BASE}/slurm-logs/*/main.*")) + sorted(glob.glob(f"{BASE}/meta/*/attempts")):
            if any(name in path for name in job_names):
                with open(path, encoding="utf-8", errors="replace") as file:
                    print(f"--- {path}\n{file.read()[-3000:]}")


def main(cases, make):
    """Runs the cases in order, tells each result, and goes on after a failure."""
    runner = os.path.join(os.environ.get("SLIPWAY_RUNNERS", ""), f"slipway-runner-{os.uname().machine}")
    if not os.path.exists(runner):
        print("skipped: `static/compile runner` makes the runner that is sent to the cluster")
        return 77
    wanted = sys.argv[2:]
    failed = []
    for case in cases:
        if wanted and case.__name__ not in wanted:
            continue
        client = make(sys.argv[1])
        submitted, submit = [], client.submit
        client.submit = lambda *a, **k: submitted.append(submit(*a, **k)) or submitted[-1]
        began = time.monotonic()
        try:
            case(client)
            print(f"ok      {case.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        except Exception:                                   # every case is told, whatever it raised
            failed.append(case.__name__)
            print(f"FAILED  {case.__name__}\n{traceback.format_exc()}", flush=True)
            client.explain(submitted)
        finally:
            client.close()
    print(f"{len(failed)} failed" if failed else "all passed")
    return 1 if failed else 0
