#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One thing is broken at a time: `preflight` names it and what mends it, and `run` agrees.

    one_thing_broken.py SLIPWAY KIND [CLAIM...]          KIND is local, docker, small (a full engine) or slurm

Docker: inside tests/docker/engine with tests/docker/registry; Slurm: inside tests/slurm/cluster. A row of a table is one
broken thing: the check that must fail, alone, and its words; and what `run` does with the same job:

    refuses   nothing is submitted, and the same words are said
    fails     it is submitted, and the job ends in Error
    waits     it is submitted, and stays in the queue
    starts    preflight knows more than run does: the job would begin, and go wrong later if at all
"""
import contextlib
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import typing

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, name) for name in ("../sim", "../docker", "../slurm", "..")]
from harness import claims  # noqa: E402
from harness.client import Client, expect  # noqa: E402
from held_bucket import Bucket  # noqa: E402

KIND = sys.argv[2]
AWAY = "http://127.0.0.1:9"              # nothing listens there


class Broken(typing.NamedTuple):
    what: str
    check: str                           # the row that fails, and the only one; or several, with commas between
    words: str                           # in its message or its fix, and in what `run` says
    job: dict = {}                       # keys of the job that differ from the one that works
    env: dict = {}
    run: str = "refuses"
    around: typing.Callable = None       # a context manager that breaks it, and mends it afterwards; gets `here`
    run_says: str = None                 # where `run` learns it from another than preflight


class Here(Client):
    """A client with a bucket of its own, and a job that works."""

    def __init__(self, program):
        super().__init__(program, SLIPWAY_WATCHER="off")
        self.bucket = Bucket()
        self.bucket.released.set()
        self.bucket.objects["/bucket/there"] = b"data"
        self.env.update(AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="secret", AWS_REGION="here",
                        AWS_ENDPOINT_URL=self.bucket.endpoint, SET_HERE="a value")
        self.good = {"name": "whole", "command": "true", "secrets": ["SET_HERE", "AWS_ENDPOINT_URL"], "retry": {"max": 0},
                     "inputs": {"/data": "s3://bucket/there"}, "outputs": {"/results": {"to": "s3://bucket/{id}/"}},
                     **SETTINGS()}

    def close(self):
        self.bucket.__exit__()
        super().close()

    def preflight(self, job, env):
        """Exit status, and the rows that failed."""
        done = self.call("preflight", self.file("job.json", job), "-o", "json", check=False, **env)
        found = json.loads(done.stdout) if done.stdout else {"checks": []}
        failed = [row for row in found["checks"] if row["state"] == "failed"]
        expect(done.returncode in (0, 1) and (done.returncode == 1) == bool(failed) and found["ok"] == (not failed),
               f"{done.returncode} is not what the rows say: {done.stdout}{done.stderr}")
        return failed, found["checks"]

    def run(self, job, env):
        return self.call("run", self.file("job.json", job), check=False, **env)

    def queue(self, job, env):
        """Submitted and left alone: how it is, and why. Then it is ended."""
        done = self.call("run", "-d", self.file("job.json", job), check=False, **env)
        if done.returncode != 0:
            return "refuses", done.stderr
        name = done.stdout.split()[0]
        seen = self.status(name)
        self.call("cancel", "-y", name)
        return "waits" if seen["status"] == "Pending" else "starts", json.dumps(seen)


def shown(rows):
    return "; ".join(f"{row['check']}: {row['message']} (fix: {row.get('fix')})" for row in rows)


def how_it_went(done):
    submitted = "submitted to" in done.stderr
    return "starts" if done.returncode == 0 else "fails" if submitted else "refuses", done.stdout + done.stderr


def differences(here, broken):
    """What is not as its row says; nothing is what a claim wants."""
    job = {key: value for key, value in {**here.good, **broken.job}.items() if value is not None}
    with (broken.around or (lambda _: contextlib.nullcontext({})))(here) as more:
        env = {**broken.env, **(more or {})}
        failed, rows = here.preflight(job, env)
        went, said = here.queue(job, env) if broken.run == "waits" else how_it_went(here.run(job, env))
    words = broken.words if broken.run_says is None else broken.run_says
    wrong = [] if ", ".join(row["check"] for row in failed) == broken.check else [f"failed: {shown(failed) or shown(rows)}"]
    if failed and broken.words not in shown(failed):
        wrong.append(f"'{broken.words}' is not in: {shown(failed)}")
    wrong += [f"no fix: {shown([row])}" for row in failed if not row.get("fix")]
    if went != broken.run:
        wrong.append(f"run {went} instead: {said}")
    elif broken.run == "refuses" and words not in said:
        wrong.append(f"run does not say '{words}': {said}")
    return [f"{broken.what}: {each}" for each in wrong]


# ---- the same on every platform ---------------------------------------------------------------------

@contextlib.contextmanager
def server(here, **how):
    """The bucket as it says, for a while."""
    for name, value in how.items():
        setattr(here.bucket, name, value)
    yield {}
    for name in how:
        setattr(here.bucket, name, False)


EVERYWHERE = [
    Broken("a secret that is not set", "secret NOT_SET_HERE", "NOT_SET_HERE", {"secrets": ["NOT_SET_HERE", "AWS_ENDPOINT_URL"]}),
    Broken("an input that is not in the bucket", "input s3://bucket/gone", "nothing found at",
           {"inputs": {"/data": "s3://bucket/gone"}}, run="fails"),
    Broken("an input that may not be read", "input s3://bucket/there", "403", {"outputs": None}, run="fails",
           around=lambda here: server(here, denies=True)),
    Broken("an output that may not be written", "output s3://bucket/{id}/", "AccessDenied", run="fails",
           around=lambda here: server(here, refuses_uploads=True)),
    Broken("storage without its keys", "input s3://bucket/there", "AWS_ACCESS_KEY_ID", {"outputs": None},
           env={"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, run="fails",
           around=lambda here: server(here, wants_keys=True)),
    Broken("a storage server that is not there", "input s3://bucket/there", "127.0.0.1:9", {"outputs": None},
           env={"AWS_ENDPOINT_URL": AWAY}, run="fails"),
]


# ---- local -------------------------------------------------------------------------------------------

@contextlib.contextmanager
def small_state(here):
    """A state folder with a file system of its own, in which little is free."""
    folder = f"{here.folder}/small"
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "small", folder], check=True)
    yield {"SLIPWAY_STATE_DIR": folder}
    subprocess.run(["umount", "-l", folder], check=True)


LOCAL = EVERYWHERE + [
    Broken("more CPUs than there are", "job", "4000 CPUs", {"cpus": 4000}),
    Broken("more memory than there is", "job", "of memory", {"memory": "4000TiB"}),
    Broken("more GPUs than there are", "job", "64 GPUs", {"gpus": 64}),
    Broken("GPUs of another type", "job", "1 GPU", {"gpus": "H900:1"}),
    Broken("an input path that is missing", "job", "/no/such", {"inputs": {"/data": "/no/such"}}),
    Broken("a mount that is missing", "job", "/no/such", {"mounts": ["/no/such:/x"]}),
    Broken("an output path that cannot be made", "job", "/etc/passwd", {"outputs": {"/results": {"to": "/etc/passwd/x"}}}),
    Broken("a working folder that is missing", "job", "/no/such", {"workdir": "/no/such"}),
    Broken("a launcher that local does not have", "job", "mpi", {"launcher": "mpi"}),
    Broken("a shell that is missing", "job", "/no/such", {"local": {"shell": "/no/such"}}),
    Broken("a program that is not in PATH", "program", "no-such-program", {"command": None, "argv": ["no-such-program"]},
           run="fails"),
    Broken("a full disk", "disk", "SLIPWAY_STATE_DIR",
           {"command": "head -c 20000000 /dev/zero >\"$SLIPWAY_RESULTS_DIR/large\""}, run="fails", around=small_state),
]


# ---- docker --------------------------------------------------------------------------------------------

REGISTRY = os.environ.get("SLIPWAY_TEST_REGISTRY", "")
LOGIN = {"DOCKER_REGISTRY": REGISTRY, "DOCKER_USERNAME": os.environ.get("SLIPWAY_TEST_REGISTRY_USER", ""),
         "DOCKER_PASSWORD": os.environ.get("SLIPWAY_TEST_REGISTRY_PASSWORD", "")}
PULLED = f"{REGISTRY}/private/busybox:one"


def foreign(_):
    import registry_api
    registry_api.offer("foreign", "s390x")
    return contextlib.nullcontext({})


@contextlib.contextmanager
def one_gpu(here):
    """What the engine's machine says of a GPU; the images of ENGINE are built for older ones."""
    here.file("bin/nvidia-smi", "#!/bin/sh\ncase $* in *compute_cap*) echo 9.0 ;; *) exit 9 ;; esac\n")
    os.chmod(f"{here.folder}/bin/nvidia-smi", 0o755)
    import engine_api
    status, said = engine_api.Engine(os.environ["DOCKER_HOST"].removeprefix("unix://")).ask(
        "POST", "/v1.40/images/create?fromSrc=-&repo=built&tag=old&changes=ENV%20TORCH_CUDA_ARCH_LIST%3D%227.0%208.0%22"
        "&changes=ENV%20PATH%3D%2Fbin", engine_api.busybox_tar(), {"Content-Type": "application/x-tar"})
    expect(status == 200 and b"error" not in said, f"{said}")
    yield {"PATH": f"{here.folder}/bin:{os.environ['PATH']}"}


def hour_ago(body):
    """A moment of the engine, an hour before it."""
    def earlier(match):
        moment = datetime.datetime.fromisoformat(match.group(1).decode()) - datetime.timedelta(hours=1)
        return b'"SystemTime":"' + moment.isoformat().encode()
    return re.sub(rb'"SystemTime":"([0-9-]+T[0-9:]+)', earlier, body)


@contextlib.contextmanager
def late_engine(here):
    import engine_faults
    socket = f"{here.folder}/late.sock"
    with engine_faults.Proxy(os.environ["DOCKER_HOST"].removeprefix("unix://"), f"unix://{socket}") as proxy:
        proxy.break_on("GET", "/info", "change", change=hour_ago)
        yield {"DOCKER_HOST": f"unix://{socket}"}


DOCKER = EVERYWHERE + [
    Broken("more CPUs than the engine has", "job", "4000 CPUs", {"cpus": 4000}),
    Broken("more memory than the engine has", "job", "of memory", {"memory": "4000TiB"}),
    Broken("more GPUs than the engine has", "number of GPUs", "3 GPUs",
           {"gpus": 3, "docker": {"network": "host", "gpu_devices": ["a", "b"]}}),
    Broken("a mount that the engine does not see", "mount /no/such", "/no/such", {"mounts": ["/no/such:/x"]}),
    Broken("an input path that the engine does not see", "mount /no/such", "/no/such", {"inputs": {"/data": "/no/such"}}),
    Broken("an output path that cannot be made", "job", "/etc/passwd", {"outputs": {"/results": {"to": "/etc/passwd/x"}}}),
    Broken("a launcher that Docker does not have", "job", "mpi", {"launcher": "mpi"}),
    Broken("an image that may not be pulled", "image", "no-such-image",
           {"image": "no-such-image:1", "docker": {"network": "host", "pull": "never"}}),
    Broken("a tag that the registry does not have", "image", "never", {"image": PULLED.replace(":one", ":never")}, LOGIN),
    Broken("a password that is wrong", "image", "DOCKER_PASSWORD", {"image": PULLED}, {**LOGIN, "DOCKER_PASSWORD": "wrong"}),
    Broken("a registry without its login", "image", "no credential", {"image": PULLED}),
    Broken("a registry that does not answer", "image", "registry.test:1", {"image": "registry.test:1/team/app:1"}, LOGIN),
    Broken("an image for another processor", "image architecture", "s390x", {"image": PULLED.replace(":one", ":foreign")},
           LOGIN, around=foreign, run_says="no matching manifest"),
    Broken("an engine that does not answer", "engine", "none.sock", env={"DOCKER_HOST": "unix:///none.sock"}),
    Broken("an image for older GPUs", "GPU architecture", "sm_90",
           {"image": "built:old", "gpus": 1, "docker": {"network": "host", "gpu_devices": ["a"], "runtime": "nvidia"}}, run="starts", around=one_gpu),
    Broken("an engine whose clock is an hour late", "clock", "behind this machine", run="starts", around=late_engine),
]

# On an engine with some MB of disk; there is no job that works.
SMALL = [
    Broken("a disk that is too small for the image", "disk", "to pull an image", {"image": f"{REGISTRY}/private/large:one"},
           LOGIN, run_says="no space left"),
]


# ---- slurm ---------------------------------------------------------------------------------------------

BASE = os.environ.get("SLURM_BASE_RESULTS_DIR", "")


@contextlib.contextmanager
def late_login(_):
    """The clock of the login hosts and nodes, an hour behind for those who ask `date`."""
    path = f"{os.environ['SLIPWAY_TEST_CLUSTER']}/bin/date"
    with open(path, "w", encoding="utf-8") as out:
        out.write("#!/bin/sh\n[ \"$*\" = +%s ] || exec /bin/date \"$@\"\nexec /bin/date -d -1hour +%s\n")
    os.chmod(path, 0o755)
    yield {}
    os.unlink(path)


@contextlib.contextmanager
def open_base(_):
    folder = f"{BASE}/open"
    os.makedirs(folder)
    os.chmod(folder, 0o777)
    yield {"SLURM_BASE_RESULTS_DIR": folder}


@contextlib.contextmanager
def small_base(_):
    folder = f"{BASE}/small"
    os.makedirs(folder, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m,mode=700", "small", folder], check=True)
    shutil.chown(folder, os.environ["SLURM_USER"])
    yield {"SLURM_BASE_RESULTS_DIR": folder}
    subprocess.run(["umount", "-l", folder], check=True)


SLURM = EVERYWHERE + [
    Broken("GPUs of another type", "Slurm", "GPUs of its nodes: gpu:8", {"gpus": "H100:2"}),
    Broken("more memory than a node has", "Slurm", "not available", {"memory": "900GiB"}),
    Broken("more nodes than there are", "Slurm", "Slurm rejected the job", {"nodes": 9}),
    Broken("more CPUs than a node has", "Slurm", "Slurm rejected the job", {"cpus": 5000}),
    Broken("a partition that is not there", "partition, Slurm", "nosuch", {"slurm": {"partition": ["nosuch"]}}),
    Broken("a partition that is down", "partition", "closed is down", {"slurm": {"partition": ["closed"]}}, run="waits"),
    Broken("a quality of service that is not there", "Slurm", "nvalid qos", {"slurm": {"qos": "nosuch"}}),
    Broken("an account that is not the user's", "account", "nosuch", {"slurm": {"account": "nosuch"}},
           run_says="Invalid account"),
    Broken("more time than the partition allows", "time, Slurm", "10:00", {"time": "2h", "slurm": {"partition": ["short"]}}),
    Broken("an image file that is missing", "image", "no-such.sqsh", {"image": f"{BASE}/no-such.sqsh"}),
    Broken("an input path that the cluster does not have", "paths on a node, paths", "no-such-input",
           {"inputs": {"/data": f"{BASE}/no-such-input"}}),
    Broken("a mount that the cluster does not have", "paths on a node, paths", "no-such-mount",
           {"image": "ubuntu:24.04", "mounts": [f"{BASE}/no-such-mount:/x"]}),
    Broken("an output path that cannot be made", "paths on a node, outputs", "/proc/no/such",
           {"outputs": {"/results": {"to": "/proc/no/such"}}}),
    Broken("a base folder that cannot be made", "base folder, shared folder on login2", "/proc/no",
           env={"SLURM_BASE_RESULTS_DIR": "/proc/no"}),
    Broken("a base folder that others may write to", "base folder", "others may write", around=open_base),
    Broken("a login host that is not there", "ssh nosuch.test", "nosuch.test", env={"SLURM_HOSTNAME": "nosuch.test"}),
    Broken("a key that is missing", "credential", "/no/such/key", env={"SSH_KEY_PATH": "/no/such/key"}),
    Broken("login hosts whose clock is an hour late", "clock", "behind this machine", run="starts", around=late_login),
    Broken("a disk that is nearly full", "space", "slurm.base_dir",
           {"command": "head -c 90000000 /dev/zero >\"$SLIPWAY_RESULTS_DIR/large\""}, run="fails", around=small_base),
]


# ---- the claim -------------------------------------------------------------------------------------------

TABLES = {"local": LOCAL, "docker": DOCKER, "small": SMALL, "slurm": SLURM}
SETTINGS = {
    "local": lambda: {"platform": "local"},
    "docker": lambda: {"platform": "docker", "image": os.environ["SLIPWAY_TEST_IMAGE"], "docker": {"network": "host"}},
    "small": lambda: {"platform": "docker", "inputs": {}, "outputs": {}},
    "slurm": lambda: {"platform": "slurm", "time": "5m"},
}[KIND]


def a_job_with_nothing_broken_passes_and_runs(here):
    if KIND == "small":
        return "there is none"
    failed, rows = here.preflight(here.good, {})
    expect(not failed, shown(failed))
    done = here.run(here.good, {})
    expect(done.returncode == 0, f"{done.stdout}{done.stderr}")
    return f"{len(rows)} checks"


def each_broken_thing_is_named_and_run_agrees(here):
    """SLIPWAY_ONLY: the first words of those to try."""
    table = [one for one in TABLES[KIND] if one.what.startswith(os.environ.get("SLIPWAY_ONLY", ""))]
    wrong = []
    for broken in table:
        found = differences(here, broken)
        print("\n".join([f"    {'FAILED' if found else broken.run:8} {broken.check:28} {broken.what}", *found]), flush=True)
        wrong += found
    expect(not wrong, f"{len(wrong)} of them are not")
    return f"{len(table)} things"


if __name__ == "__main__":
    words = [sys.argv[1], *sys.argv[3:]]
    sys.exit(claims.main(globals(), Here, words=words))
