#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a job wrote is kept, on a real platform: time limits, cancels, servers that refuse or are away.

    kept.py SLIPWAY KIND [CLAIM...]          KIND is local, docker, slurm or slurm-image

Docker and Slurm: inside tests/docker/engine or tests/slurm/cluster. Five of each stop are tried at once; `make soak` does
that ten times. The storage is tests/sim/held_bucket.py, in this process.
"""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../sim")]
from held_bucket import Bucket  # noqa: E402

SLIPWAY, KIND = os.path.abspath(sys.argv[1]), sys.argv[2]
ROUNDS = 5
PATIENCE = 240
IMAGE = "/media/lustre/kept.sqsh"

# Files while it runs, and one more when it is told to end.
SAVES = ("trap 'echo final >/results/final.ckpt; exit 0' TERM; i=0; while [ $i -lt 600 ]; do i=$((i+1)); "
         "echo $i >/results/s$i.txt; sleep 0.1; done")
TRAINS = "echo run >>/results/runs; echo model >/results/model"


class Place:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="slipway-kept-")
        self.bucket = Bucket()
        self.bucket.released.set()
        self.env = {**os.environ, "HOME": self.folder, "SLIPWAY_STATE_DIR": self.folder, "AWS_ACCESS_KEY_ID": "key",
                    "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "here", "AWS_ENDPOINT_URL": self.bucket.endpoint,
                    "SLIPWAY_COLLECT_PATIENCE_MS": "0"}

    def call(self, *words, check=True):
        done = subprocess.run([SLIPWAY, *words], env=self.env, cwd=self.folder, text=True, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=PATIENCE, check=False)
        assert not check or done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def submit(self, command, **more):
        document = {"name": "kept", "command": command, "outputs": {"/results": {"to": "s3://bucket/{id}/"}},
                    "platform": KIND.partition("-")[0], "retry": {"max": 0},
                    "secrets": ["AWS_ENDPOINT_URL", "SLIPWAY_COLLECT_PATIENCE_MS"], **more}
        if KIND == "docker":
            document.update(image=os.environ["SLIPWAY_TEST_IMAGE"], docker={"network": "host"})
        if KIND == "slurm-image":
            document["image"] = IMAGE
        path = os.path.join(self.folder, f"job-{time.monotonic_ns()}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file)
        return self.call("run", "-d", path).stdout.split()[0]

    def over(self, job):
        """Its status when it is over."""
        self.call("wait", job, check=False)
        return json.loads(self.call("status", job, "-o", "json").stdout)

    def until(self, what, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, what
            time.sleep(0.1)

    def kept(self, job):
        return {path.rpartition("/")[2] for path in self.bucket.objects if path.startswith(f"/bucket/{job}/")}

    def expect_all(self, job):
        """What the command wrote is there without a gap, and the manifest names it all."""
        kept = self.kept(job)
        last = max((int(name[1:-4]) for name in kept if name.endswith(".txt")), default=0)
        missing = {f"s{i}.txt" for i in range(1, last + 1)} | {"final.ckpt", "manifest.json"}
        assert last > 0 and not missing - kept, f"{job} lost {sorted(missing - kept)[:5]}\n{self.call('logs', job).stdout[-2000:]}"


def in_parallel(jobs, what):
    threads = [threading.Thread(target=what, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def no_time_limit_and_no_cancel_loses_a_file(place):
    limited = [place.submit(SAVES, time="3s") for _ in range(ROUNDS)]
    canceled = [place.submit(SAVES, time="5m", outputs={"/results": {"to": "s3://bucket/{id}/", "every": "1s"}})
                for _ in range(ROUNDS)]
    in_parallel(canceled, lambda job: place.until(f"{job} to write", lambda: any(
        name.endswith(".txt") for name in place.kept(job))))
    place.call("cancel", "-y", *canceled)
    for job in limited:
        seen = place.over(job)
        assert seen["reason"] == "time", seen
        place.expect_all(job)
    for job in canceled:
        assert place.over(job)["status"] == "Canceled", place.over(job)
        place.expect_all(job)


def only_the_outputs_are_brought_again_by_hand(place):
    place.bucket.refuses = True
    job = place.submit(TRAINS)
    seen = place.over(job)
    assert (seen["status"], seen["reason"], seen["exit_code"]) == ("Error", "outputs", 74), seen
    assert "retry --collect" in seen["suggestion"], seen
    place.bucket.refuses = False
    place.call("retry", "--collect", job)
    seen = place.over(job)
    assert (seen["status"], seen["exit_code"], seen["attempt"]) == ("Complete", 0, 2), seen
    assert place.bucket.objects[f"/bucket/{job}/runs"] == b"run\n", place.kept(job)


def only_the_outputs_are_brought_again_by_themselves(place):
    place.bucket.busy = 10 ** 9
    job = place.submit(TRAINS, retry={"max": 3, "wait": "1s"})
    place.until("a first failure", lambda: place.bucket.busy < 10 ** 9)
    place.until("the end of attempt 1", lambda: json.loads(
        place.call("status", job, "-o", "json").stdout)["attempt"] > 1)
    place.bucket.busy = 0
    seen = place.over(job)
    assert seen["status"] == "Complete" and seen["attempt"] > 1, seen
    assert place.bucket.objects[f"/bucket/{job}/runs"] == b"run\n", place.bucket.objects[f"/bucket/{job}/runs"]


def a_destination_that_refuses_is_found_before_the_command(place):
    place.bucket.refuses_uploads = True
    job = place.submit("echo ran")
    seen = place.over(job)
    place.bucket.refuses_uploads = False
    assert (seen["status"], seen["reason"]) == ("Error", "destination"), seen
    assert "ran" not in place.call("logs", job).stdout.split()
    assert not place.bucket.uploads


def an_output_of_no_files_is_a_warning(place):
    job = place.submit("true")
    seen = place.over(job)
    assert seen["status"] == "Complete" and "warning: 1 declared output is empty" in seen["message"], seen
    assert "WARNING: output" in place.call("logs", job).stdout
    assert "warning" in place.call("why", job).stdout


def every_rank_brings_its_own(place):
    job = place.submit("[ $NODE_RANK = 0 ] || sleep 2; echo $NODE_RANK >/results/of-$NODE_RANK", nodes=2)
    seen = place.over(job)
    assert seen["status"] == "Complete" and {"of-0", "of-1"} <= place.kept(job), (seen, place.kept(job))


def main():
    if KIND == "slurm-image" and not os.path.exists(IMAGE):
        subprocess.run(["cluster-control", "make-sqsh", IMAGE], check=True)
    place, failed = Place(), 0
    for claim in (no_time_limit_and_no_cancel_loses_a_file, only_the_outputs_are_brought_again_by_hand,
                  only_the_outputs_are_brought_again_by_themselves, a_destination_that_refuses_is_found_before_the_command,
                  an_output_of_no_files_is_a_warning, every_rank_brings_its_own):
        if sys.argv[3:] and claim.__name__ not in sys.argv[3:]:
            continue
        began = time.monotonic()
        try:
            claim(place)
            print(f"ok      {KIND}: {claim.__name__} ({time.monotonic() - began:.1f} s)", flush=True)
        except Exception:                # a failure of one claim says nothing of the next
            failed = 1
            print(f"FAILED  {KIND}: {claim.__name__}\n{traceback.format_exc()}", flush=True)
        place.bucket.refuses = place.bucket.refuses_uploads = False
        place.bucket.busy = 0
    return failed


sys.exit(main())
