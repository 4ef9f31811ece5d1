#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a command left is brought, by one rank or several, now or in a later attempt; with real runners.

    runner_collect.py SIMS_FOLDER TOOLS_FOLDER RUNNER
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path[:0] = sys.argv[1:3]
from claims_told import claim, finish  # noqa: E402
from held_bucket import Bucket  # noqa: E402

RUNNER = os.path.abspath(sys.argv[3])


class Place:
    """A job's folder, and runners that work in it."""

    def __init__(self, bucket, **payload):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="slipway-collect-"))
        self.endpoint = bucket.endpoint if bucket else "http://127.0.0.1:9"
        self.payload = {"version": 2, "job_id": "job-1", "work_dir": f"{self.folder}/work", "workdir": str(self.folder),
                        "grace_ms": 1000, "outputs": [{"path": f"{self.folder}/out", "to": "s3://bucket/out/"}], **payload}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, attempt=1, rank=0, ranks=1, mode="all", **environment):
        (self.folder / f"payload-{rank}.json").write_text(json.dumps(self.payload))
        known = {**os.environ, "AWS_ENDPOINT_URL": self.endpoint, "AWS_ACCESS_KEY_ID": "key",
                 "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "here", "SLIPWAY_ATTEMPT": str(attempt),
                 "NODE_RANK": str(rank), "NNODES": str(ranks), **environment}
        known.pop("TAO_RESULTS_ROOT", None)
        known.pop("S3_BUCKET_NAME", None)
        return subprocess.Popen([RUNNER, mode, "--report", f"{self.folder}/{attempt}-{rank}.json",
                                 f"{self.folder}/payload-{rank}.json"], env=known, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def run(self, **how):
        process = self.start(**how)
        text = process.communicate(timeout=120)[0]
        return process.returncode, text, self.report(how.get("attempt", 1), how.get("rank", 0))

    def report(self, attempt=1, rank=0):
        return json.loads((self.folder / f"{attempt}-{rank}.json").read_text())


def opened():
    bucket = Bucket()
    bucket.released.set()
    return bucket


TRAINS = "echo run >>trained; mkdir -p out; echo model >out/model; exit {code}"
RANKS = "[ $NODE_RANK = 0 ] || sleep 1; mkdir -p out; echo $NODE_RANK >out/rank-$NODE_RANK; "

# These take longest: they begin first, and their ends are looked at last.
stack = contextlib.ExitStack()
late_bucket, no_bucket = stack.enter_context(opened()), stack.enter_context(opened())
late_bucket.busy, no_bucket.busy = 12, 1000000      # more often than one request is repeated
late = stack.enter_context(Place(late_bucket, command=TRAINS.format(code=0)))
never = stack.enter_context(Place(no_bucket, command=TRAINS.format(code=0)))
late_runner, never_runner = late.start(), never.start(SLIPWAY_COLLECT_PATIENCE_MS="0")

# ---- only the outputs are repeated ----------------------------------------------------------------------------------

for trained, code in ((0, 0), (3, 3)):
    with opened() as bucket, Place(bucket, command=TRAINS.format(code=trained)) as place:
        bucket.refuses = True
        first = place.run()
        bucket.refuses = False
        again = place.run(attempt=2, SLIPWAY_COLLECT_ONLY=str(trained))
        claim(f"outputs that were refused are brought later, and a command that ended with {trained} is not run again",
              first[0] == (trained or 74) and first[2]["failed"] == "collect" and again[0] == code and
              (place.folder / "trained").read_text() == "run\n" and bucket.objects.get("/bucket/out/model") == b"model\n"
              and json.loads(bucket.objects["/bucket/out/manifest.json"])["exit_code"] == trained,
              f"{first} {again} {list(bucket.objects)}")

with opened() as bucket, Place(bucket, command="true") as place:
    code, text, report = place.run(attempt=2, SLIPWAY_COLLECT_ONLY="0")
    claim("outputs that are not here any more are no success", code == 74 and report["failed"] == "collect" and
          report["error"] == "NotFoundError" and "is not here" in text, f"{code} {text}")

# ---- before the command ---------------------------------------------------------------------------------------------

with opened() as bucket, Place(bucket, command=TRAINS.format(code=0)) as place:
    bucket.refuses_uploads = True
    code, text, report = place.run()
    claim("a destination that may not be written to is found before the command is run",
          code == 74 and report["failed"] == "probe" and report["error"] == "CredentialError" and
          not (place.folder / "trained").exists(), f"{code} {text} {report}")

with opened() as bucket, Place(bucket, command=TRAINS.format(code=0)) as place:
    code, text, report = place.run()
    claim("the look leaves nothing behind", code == 0 and bucket.looked == 1 and not bucket.uploads and
          set(bucket.objects) == {"/bucket/out/model", "/bucket/out/manifest.json"}, f"{text} {bucket.uploads}")

with Place(None, command=TRAINS.format(code=0)) as place:
    (place.folder / "taken").write_text("a file")
    place.payload["outputs"][0]["to"] = f"{place.folder}/taken/out/"
    code, text, report = place.run()
    claim("the same for a folder", code == 74 and report["failed"] == "probe" and
          not (place.folder / "trained").exists(), f"{code} {text} {report}")

# ---- nothing to bring -----------------------------------------------------------------------------------------------

for what, command in (("made", "true"), ("filled", "mkdir -p out")):
    with opened() as bucket, Place(bucket, command=command) as place:
        code, text, report = place.run()
        claim(f"an output that was never {what} is a warning", code == 0 and "WARNING: output" in text and
              report["out"]["empty"] == 1, f"{text} {report}")

# ---- several ranks --------------------------------------------------------------------------------------------------


def run_ranks(place, **how):
    all_ranks = [place.start(rank=rank, ranks=2, **how) for rank in (0, 1)]
    return [(process.communicate(timeout=120)[0], process.returncode) for process in all_ranks]


with opened() as bucket, Place(bucket, command=RANKS) as place:
    texts = run_ranks(place)
    claim("what ranks share is brought once, when the last of them is done",
          {"/bucket/out/rank-0", "/bucket/out/rank-1", "/bucket/out/manifest.json"} == set(bucket.objects) and
          [code for _, code in texts] == [0, 0] and sum(text.count("sent to") for text, _ in texts) == 1 and
          len(json.loads(bucket.objects["/bucket/out/manifest.json"])["files"]) == 2, f"{texts} {list(bucket.objects)}")

with opened() as bucket, Place(bucket, command=RANKS.replace("out", "out$NODE_RANK")) as place:
    place.payload["outputs"] = [{"path": f"{place.folder}/out{{rank}}", "to": "s3://bucket/{rank}/"}]
    texts = run_ranks(place)
    claim("a path with {rank} is brought by its rank", [code for _, code in texts] == [0, 0] and
          {"/bucket/0/rank-0", "/bucket/1/rank-1"} <= set(bucket.objects), f"{texts} {list(bucket.objects)}")

with opened() as bucket, Place(bucket, command=RANKS) as place:
    place.payload["outputs"][0]["own"] = True
    texts = run_ranks(place)
    claim("what each rank has for itself is brought by it, beside that of the first",
          {"/bucket/out/manifest.json", "/bucket/out/rank-1/manifest.json"} <= set(bucket.objects) and
          "/bucket/out/rank-1/rank-1" in bucket.objects, f"{texts} {list(bucket.objects)}")

with opened() as bucket, Place(bucket, command=RANKS + "[ $NODE_RANK = 0 ] || exit 3; sleep 60") as place:
    texts = run_ranks(place)
    claim("a rank that fails ends the others in their grace, and their outputs arrive", texts[1][1] == 3 and
          place.report(rank=0).get("failed_peer") == 1 and {"/bucket/out/rank-0", "/bucket/out/rank-1"} <= set(bucket.objects),
          f"{texts} {list(bucket.objects)}")

with opened() as bucket, Place(bucket, command=RANKS + "[ $NODE_RANK = 1 ] || kill -9 $PPID") as place:
    (place.folder / "1-0.json").write_text("{}")
    process = place.start(rank=1, ranks=2, SLIPWAY_SILENT_MS="1000")
    text = process.communicate(timeout=120)[0]
    claim("a dead rank does not keep the others from bringing what is there", process.returncode == 0 and
          "/bucket/out/rank-1" in bucket.objects, f"{text} {list(bucket.objects)}")

with opened() as bucket, Place(bucket) as place:
    place.payload.update(argv=["true"], outputs=[{"path": f"{place.folder}/out{{rank}}", "to": "s3://bucket/{rank}/"}])
    for rank in (0, 1):
        (place.folder / f"out{rank}").mkdir()
        (place.folder / f"out{rank}" / "model").write_text("x")
    process = place.start(ranks=2, mode="collect")
    text = process.communicate(timeout=120)[0]
    claim("a runner that collects for all ranks of a machine brings the outputs of each",
          {"/bucket/0/model", "/bucket/1/model"} <= set(bucket.objects), f"{text} {list(bucket.objects)}")

# ---- a server that is out of reach ----------------------------------------------------------------------------------

with stack:
    text, code = late_runner.communicate(timeout=240)[0], late_runner.returncode
    claim("a server that is out of reach for a while is waited for, in the same attempt",
          code == 0 and late_bucket.objects.get("/bucket/out/model") == b"model\n" and "trying again" in text,
          f"{code} {text}")
    never_runner.communicate(timeout=240)
    claim("and then told: the network was it", never_runner.returncode == 74 and
          never.report()["failed"] == "collect" and never.report()["error"] == "UnreachableError", f"{never.report()}")

finish()
