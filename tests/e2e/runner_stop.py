#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the runner stops a command and still brings its outputs, and what the command can see of it, with real processes.

    runner_stop.py SIMS_FOLDER TOOLS_FOLDER RUNNER
"""
import atexit
import contextlib
import io
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path[:0] = sys.argv[1:3]
from claims_told import claim, finish  # noqa: E402
from held_bucket import Bucket  # noqa: E402

RUNNER = os.path.abspath(sys.argv[3])
PATIENCE_S = 60

# Counts what it hears; after TERM it saves for some time, in small steps, since TERM ends its `sleep`, too.
SAVES = """trap 'echo TERM >>heard' TERM; trap 'echo USR1 >>heard' USR1; echo up >>heard
until grep -q TERM heard; do sleep 0.05; done
end=$(($(date +%s%N) / 1000000 + {save_ms}))
while [ $(($(date +%s%N) / 1000000)) -lt $end ]; do sleep 0.05; done
echo SAVED >>heard"""


class Job:
    """A runner with a folder of its own."""

    def __init__(self, bucket=None, mode="all", grace_ms=3000, secrets=None, limits=None, open=False, **payload):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="slipway-stop-"))
        self.folder.chmod(0o777 if open else 0o700)
        payload = {"version": 2, "job_id": "job-1", "work_dir": f"{self.folder}/work", "grace_ms": grace_ms,
                   "workdir": str(self.folder), **payload}
        if bucket:
            payload["outputs"] = [{"path": f"{self.folder}/out", "to": "s3://bucket/out/"}]
        (self.folder / "payload.json").write_text(json.dumps(payload))
        environment = {**os.environ, "AWS_ENDPOINT_URL": bucket.endpoint if bucket else "http://127.0.0.1:9",
                       "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "here"}
        for name in ("TAO_RESULTS_ROOT", "S3_BUCKET_NAME", "NODE_RANK"):
            environment.pop(name, None)
        words, passed = [], ()
        if secrets:
            (self.folder / "secrets").write_bytes(secrets)
            passed = (os.open(self.folder / "secrets", os.O_RDONLY),)
            os.unlink(self.folder / "secrets")
            words = ["--secrets-fd", str(passed[0])]
        self.log = io.open(self.folder / "log", "w+b")
        self.process = subprocess.Popen(
            [RUNNER, mode, "--report", f"{self.folder}/report.json", *words, f"{self.folder}/payload.json"],
            env=environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, pass_fds=passed,
            preexec_fn=limits)
        for fd in passed:
            os.close(fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tell_all(signal.SIGKILL)
        self.process.wait()
        self.log.close()
        subprocess.run(["rm", "-rf", self.folder], check=False)

    def heard(self):
        path = self.folder / "heard"
        return path.read_text().split() if path.exists() else []

    def until(self, what, condition):
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"{what} never came; the log: {self.text()}"
            time.sleep(0.01)

    def until_heard(self, word):
        self.until(word, lambda: word in self.heard())

    def tell(self, number):
        os.kill(self.process.pid, number)

    def tell_all(self, number, runner=True):
        for pid in [*self.below(), *([self.process.pid] if runner else [])]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass                         # a `sleep` of the command that was over

    def below(self):
        """Every process below the runner, as a scheduler sees a job."""
        found, parents = [], {self.process.pid}
        for _ in range(4):
            for entry in pathlib.Path("/proc").iterdir():
                if not entry.name.isdigit() or int(entry.name) in found:
                    continue
                try:
                    stat = (entry / "stat").read_text()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if int(stat.rpartition(")")[2].split()[1]) in parents:
                    found.append(int(entry.name))
            parents.update(found)
        return found

    def over(self):
        return self.process.wait(PATIENCE_S)

    def report(self):
        return json.loads((self.folder / "report.json").read_text())

    def text(self):
        return (self.folder / "log").read_bytes().decode(errors="replace")


WRITES = "mkdir -p out; echo final >out/final; "



def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


# The longest wait of all begins first, and its end is looked at last.
stack = contextlib.ExitStack()
never_answers = stack.enter_context(Bucket())
atexit.register(stack.close)
held_up = stack.enter_context(Job(never_answers, command=WRITES + "true", grace_ms=500))
held_up.until("the upload", never_answers.asked.is_set)
held_up.tell(signal.SIGQUIT)

MANY = (signal.SIGTERM, signal.SIGTERM, signal.SIGQUIT, signal.SIGTERM)

with Job(command=SAVES.format(save_ms=2400), grace_ms=3000) as job:
    job.until_heard("up")
    for number in MANY:
        job.tell(number)
        job.until_heard("TERM")
    code = job.over()
    claim("however often the runner is stopped, the command gets one TERM and all of its grace",
          job.heard() == ["up", "TERM", "SAVED"] and code == 143, f"{job.heard()}, {code}")

with Job(command=SAVES.format(save_ms=300), grace_ms=3000) as job:
    job.until_heard("up")
    job.tell_all(signal.SIGTERM, runner=False)
    job.until_heard("TERM")
    job.tell(signal.SIGTERM)
    job.over()
    claim("a TERM that came to every process of the job is not passed on to the command once more",
          job.heard() == ["up", "TERM", "SAVED"] and job.report().get("stopped"), str(job.heard()))

with Job(command=SAVES.format(save_ms=0), grace_ms=3000) as job:
    job.until_heard("up")
    for count in (1, 2):
        job.tell(signal.SIGUSR1)
        job.until("USR1", lambda: job.heard().count("USR1") == count)
    job.tell(signal.SIGTERM)
    job.over()
    claim("other signals are passed on as they are sent", job.heard() == ["up", "USR1", "USR1", "TERM", "SAVED"],
          str(job.heard()))

with Bucket() as bucket, Job(bucket, command=WRITES + SAVES.format(save_ms=100), time_ms=500) as job:
    job.until("the upload", bucket.asked.is_set)
    begun = time.monotonic()
    while time.monotonic() < begun + 2.5 and job.process.poll() is None:      # past the runner's next looks at the clock
        time.sleep(0.05)
    bucket.released.set()
    code = job.over()
    claim("a time limit does not end the upload of the outputs",
          code == 124 and bucket.objects.get("/bucket/out/final") == b"final\n" and job.report().get("timed_out"),
          f"{code}, {list(bucket.objects)}, {job.text()}")

with Bucket() as bucket, Job(bucket, command=WRITES + SAVES.format(save_ms=100)) as job:
    job.until_heard("up")
    job.tell(signal.SIGTERM)
    job.until("the upload", bucket.asked.is_set)
    job.tell_all(signal.SIGTERM)
    job.tell_all(signal.SIGTERM)
    bucket.released.set()
    job.over()
    claim("nor do stops that come to every process while it goes on",
          bucket.objects.get("/bucket/out/final") == b"final\n" and "/bucket/out/manifest.json" in bucket.objects,
          f"{list(bucket.objects)}, {job.text()}")

for number, canceled in ((signal.SIGQUIT, True), (signal.SIGTERM, False)):
    with Bucket() as bucket, Job(bucket, command=WRITES + "true") as job:
        bucket.refuses = True
        job.until("the upload", bucket.asked.is_set)
        job.tell(number)
        bucket.released.set()
        code, report = job.over(), job.report()
        claim(f"{signal.Signals(number).name} while outputs are collected is reported, when they do not arrive",
              report.get("stopped") and bool(report.get("canceled")) == canceled and
              report.get("failed") == "collect" and report.get("error") == "CredentialError" and code == 143, f"{code}, {report}")

with Bucket() as bucket, Job(bucket, command=WRITES + "true") as job:
    job.until("the upload", bucket.asked.is_set)
    job.tell(signal.SIGQUIT)
    bucket.released.set()
    code, report = job.over(), job.report()
    claim("when they arrive in the time that is left, the stop came too late",
          code == 0 and not report.get("stopped") and "/bucket/out/manifest.json" in bucket.objects, f"{code}, {report}")

# ---- what others see of it ------------------------------------------------------------------------------------------

LOOKS = """{ for f in /proc/$$/fd/*; do case ${f##*/} in [012]) ;; *) [ ! -f $f ] || cat $f; echo;; esac; done
env; for p in $PPID /proc/[0-9]*/stat; do p=${p#/proc/}; p=${p%/stat}
case $(sed 's/.*) . \\([0-9]*\\) .*/\\1/' /proc/$p/stat 2>&-) in $PPID) ;; *) [ $p = $PPID ] || continue;; esac
tr '\\0' '\\n' </proc/$p/environ; done; } 2>&1 | grep -c "$LOOK_FOR"-value >heard; echo up >>heard; sleep 60"""

with Job(command=LOOKS, env={"LOOK_FOR": "canary"}, credentials=["STORAGE_KEY"],
         secrets=b"STORAGE_KEY=canary-value\0") as job:
    job.until_heard("up")
    claim("credentials that came by descriptor are in no environment of the runner's processes, nor is it still open",
          job.heard() == ["0", "up"], f"{job.heard()} {job.text()}")


def as_another_user():
    resource.setrlimit(resource.RLIMIT_CORE, (512 * 7, resource.RLIM_INFINITY))
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


umask = os.umask(0)
with Job(command="ulimit -c >heard; echo up >>heard; exec sleep 60", limits=as_another_user, open=True) as job:
    job.until("the command", lambda: any(name_of(pid) == "sleep" for pid in job.below()))
    ours = [pid for pid in [job.process.pid, *job.below()] if name_of(pid) != "sleep"]
    theirs = [pid for pid in job.below() if pid not in ours]
    claim("no process of ours can be dumped or looked into by its own user",
          len(ours) >= 2 and all(os.stat(f"/proc/{pid}/environ").st_uid == 0 for pid in ours), f"{ours}")
    claim("the command can, as everywhere, and its core limit is its own",
          theirs and all(os.stat(f"/proc/{pid}/environ").st_uid != 0 for pid in theirs) and job.heard()[0] == "7",
          f"{theirs} {job.heard()}")
os.umask(umask)


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


with Job(command="head -c 60000 /dev/zero >big; cat big big >bigger; echo $? >heard", limits=small_files) as job:
    code = job.over()
    claim("a file that grows too large ends the command as usual", job.heard() == [str(128 + signal.SIGXFSZ)],
          f"{code} {job.heard()} {job.text()}")

with Job(command="true", limits=small_files,
         config={"long": "x" * 100000}, config_format="json") as job:
    code, report = job.over(), job.report()
    claim("and the runner tells of it and goes on", code == 74 and report.get("failed") == "prepare", f"{code} {report}")

with stack:
    code, report = held_up.over(), held_up.report()
    claim("a server that never answers does not hold up a cancel for ever",
          code == 143 and report.get("canceled") and report.get("error") == "TimeoutError", f"{code}, {report}")

finish()
