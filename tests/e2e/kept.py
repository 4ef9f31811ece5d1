#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a job wrote is kept, on a real platform: time limits, cancels, servers that refuse or are away.

    kept.py SLIPWAY KIND [CLAIM...]          KIND is local, docker, slurm or slurm-image

Docker and Slurm: inside tests/docker/engine or tests/slurm/cluster. Five of each stop are tried at once; `make soak` does
that ten times. The storage is tests/sim/held_bucket.py, in this process.
"""
import os
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../sim"), os.path.join(HERE, "..")]
from harness import claims  # noqa: E402
from harness.client import Client, until  # noqa: E402
from held_bucket import Bucket  # noqa: E402

SLIPWAY, KIND = os.path.abspath(sys.argv[1]), sys.argv[2]
ROUNDS = 5
PATIENCE = 240
IMAGE = "/media/lustre/kept.sqsh"

# Files while it runs, and one more when it is asked to end.
SAVES = ("trap 'echo final >/results/final.ckpt; exit 0' TERM; i=0; while [ $i -lt 600 ]; do i=$((i+1)); "
         "echo $i >/results/s$i.txt; sleep 0.1; done")
TRAINS = "echo run >>/results/runs; echo model >/results/model"


class KeptClient(Client):
    """A client whose jobs keep their outputs in a bucket of its own."""

    def __init__(self, program):
        super().__init__(program)
        self.bucket = Bucket()
        self.bucket.released.set()
        self.env.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret", AWS_REGION="here",
                        AWS_ENDPOINT_URL=self.bucket.endpoint, SLIPWAY_COLLECT_PATIENCE_MS="0")

    def submit(self, command, **more):
        document = {"name": "kept", "command": command, "outputs": {"/results": {"to": "s3://bucket/{id}/"}},
                    "platform": KIND.partition("-")[0], "retry": {"max": 0},
                    "secrets": ["AWS_ENDPOINT_URL", "SLIPWAY_COLLECT_PATIENCE_MS"], **more}
        if KIND == "docker":
            document.update(image=os.environ["SLIPWAY_TEST_IMAGE"], docker={"network": "host"})
        if KIND == "slurm-image":
            document["image"] = IMAGE
        return self.call("run", "-d", self.file(f"job-{time.monotonic_ns()}.json", document)).stdout.split()[0]

    def over(self, job, seconds=PATIENCE):
        """Its status when it is over."""
        self.call("wait", job, check=False, timeout=seconds)
        return self.status(job)

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


def no_time_limit_and_no_cancel_loses_a_file(here):
    limited = [here.submit(SAVES, time="3s") for _ in range(ROUNDS)]
    canceled = [here.submit(SAVES, time="5m", outputs={"/results": {"to": "s3://bucket/{id}/", "every": "1s"}})
                for _ in range(ROUNDS)]
    in_parallel(canceled, lambda job: until(lambda: any(name.endswith(".txt") for name in here.kept(job)),
                                            f"{job} does not write", PATIENCE))
    here.call("cancel", "-y", *canceled)
    for job in limited:
        seen = here.over(job)
        assert seen["reason"] == "time", seen
        here.expect_all(job)
    for job in canceled:
        assert here.over(job)["status"] == "Canceled", here.over(job)
        here.expect_all(job)


def only_the_outputs_are_brought_again_by_hand(here):
    here.bucket.refuses = True
    job = here.submit(TRAINS)
    seen = here.over(job)
    assert (seen["status"], seen["reason"], seen["exit_code"]) == ("Error", "outputs", 74), seen
    assert "retry --collect" in seen["suggestion"], seen
    here.bucket.refuses = False
    here.call("retry", "--collect", job)
    seen = here.over(job)
    assert (seen["status"], seen["exit_code"], seen["attempt"]) == ("Complete", 0, 2), seen
    assert here.bucket.objects[f"/bucket/{job}/runs"] == b"run\n", here.kept(job)


def only_the_outputs_are_brought_again_by_themselves(here):
    here.bucket.busy = 10 ** 9
    job = here.submit(TRAINS, retry={"max": 3, "wait": "1s"})
    until(lambda: here.bucket.busy < 10 ** 9, "no first failure", PATIENCE)
    until(lambda: here.call("watcher", "once") and here.status(job)["attempt"] > 1, "attempt 1 does not end", PATIENCE)
    here.bucket.busy = 0
    seen = here.over(job)
    assert seen["status"] == "Complete" and seen["attempt"] > 1, seen
    runs = here.bucket.objects.get(f"/bucket/{job}/runs")
    assert runs == b"run\n", f"{runs} {here.kept(job)} {seen} {here.call('logs', job).stdout}"


def a_destination_that_refuses_is_found_before_the_command(here):
    here.bucket.refuses_uploads = True
    job = here.submit("echo ran")
    seen = here.over(job)
    here.bucket.refuses_uploads = False
    assert (seen["status"], seen["reason"]) == ("Error", "destination"), seen
    assert "ran" not in here.call("logs", job).stdout.split()
    assert not here.bucket.uploads


def an_output_of_no_files_is_a_warning(here):
    job = here.submit("true")
    seen = here.over(job)
    assert seen["status"] == "Complete" and "warning: 1 declared output is empty" in seen["message"], seen
    assert "WARNING: output" in here.call("logs", job).stdout
    assert "warning" in here.call("why", job).stdout


def every_rank_brings_its_own(here):
    job = here.submit("[ $NODE_RANK = 0 ] || sleep 2; echo $NODE_RANK >/results/of-$NODE_RANK", nodes=2)
    seen = here.over(job)
    assert seen["status"] == "Complete" and {"of-0", "of-1"} <= here.kept(job), (seen, here.kept(job))


def what_each_rank_has_for_itself_is_brought_by_it(here):
    if KIND in ("local", "slurm"):
        return                           # no containers: all ranks have one folder
    job = here.submit("[ $NODE_RANK = 0 ] || sleep 2; mkdir -p /ckpt; echo $NODE_RANK >/ckpt/own", nodes=2,
                       outputs={"/ckpt": {"to": "s3://bucket/{id}/"}})
    seen = here.over(job)
    assert seen["status"] == "Complete", seen
    for name, text in (("own", b"0\n"), ("rank-1/own", b"1\n")):
        assert here.bucket.objects.get(f"/bucket/{job}/{name}") == text, sorted(here.bucket.objects)
    here.call("retry", "--collect", job)
    seen = here.over(job)
    assert seen["status"] == "Error" and "is not here" in seen["message"], seen


def main():
    if KIND == "slurm-image" and not os.path.exists(IMAGE):
        subprocess.run(["cluster-control", "make-sqsh", IMAGE], check=True)
    chosen = claims.chosen(claims.claims_in(globals()), sys.argv[3:])
    return 0 if claims.prove_all(chosen, lambda: KeptClient(SLIPWAY), 2, f"{KIND}: ") else 1


if __name__ == "__main__":
    sys.exit(main())
