# SPDX-License-Identifier: Apache-2.0
"""jobs_ray_real.py - a real Ray in pods of a real kubelet, made by KubeRay's own operator: claims of tests/k8s/try-jobs.

    SLIPWAY_TEST_RAY=VENV tests/k8s/cluster --real --with kuberay -- tests/docker/with-runner tests/k8s/try-jobs \\
        ray_real build/src/cli/slipway

VENV is a virtual environment with ray[default]. No image holds it: the folders of this machine that it needs are mounted.
Some minutes, and 3 GB of memory: run by hand; no suite runs it.
"""
import os
import subprocess
import sys

from jobs_client import HERE, expect, kubectl, names, until, whole

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "ray"))
from dashboard_paths import PATHS  # noqa: E402

VENV = os.path.realpath(os.environ.get("SLIPWAY_TEST_RAY", "/nowhere"))
RAY = "ray.io/v1"
SEES = """import ray, os
ray.init(address="auto")
print("nodes", len([node for node in ray.nodes() if node["Alive"]]), flush=True)
@ray.remote(num_cpus=0.5, scheduling_strategy="SPREAD")
def where():
    return len(os.environ.get("TOKEN", ""))
print("tokens", sorted(set(ray.get([where.remote() for _ in range(4)]))), flush=True)
"""


def python_home():
    """The interpreter's own folder, which the virtual environment leads to."""
    return os.path.dirname(os.path.dirname(os.path.realpath(f"{VENV}/bin/python3")))


def machine(client):
    """Options that show this machine's programs and Ray to pods."""
    if not os.path.exists(f"{VENV}/bin/ray"):
        print("skipped: SLIPWAY_TEST_RAY names no virtual environment with Ray")
        sys.exit(77)
    folders = {VENV, python_home(), "/usr", "/bin", "/lib", "/lib64", "/sbin", client.folder}
    return {"volumes": {path: {"source": path, "read_only": path != client.folder} for path in sorted(folders)}}


SETTINGS = {"PATH": f"{VENV}/bin:/usr/bin:/bin", "HOME": "/tmp", "RAY_DEDUP_LOGS": "0", "RAY_USAGE_STATS_ENABLED": "0"}


def ray_job(here, command, env=None, **keys):
    script = here.file("driver.py", SEES)
    path = here.file(f"job-{len(os.listdir(here.folder))}.json", {
        "platform": "kubernetes", "image": os.environ["K8S_IMAGE"], "launcher": "ray", "cpus": 0.5, "memory": "1GiB",
        "kubernetes": machine(here), "env": SETTINGS, "argv": ["/bin/sh", "-c", f"cp {script} /tmp/sees.py; {command}"], **keys})
    return here.call("run", "-d", path, **(env or {})).stdout.strip()


def asked(url, token):
    return subprocess.run(["curl", "-s", "-K", "-", url], input=f'header = "Authorization: Bearer {token}"\n', text=True,
                          stdout=subprocess.PIPE, check=False).stdout


def a_driver_sees_all_nodes_and_its_exit_code_is_the_jobs(here):
    value = "kept-secret-" + os.urandom(8).hex()
    job = ray_job(here, "python3 /tmp/sees.py && echo over && exit 3", nodes=2, secrets=["TOKEN"], env={"TOKEN": value},
                  retry={"max": 0})
    told = here.over(job, 900)
    said = here.call("logs", job, "--rank", "0").stdout
    expect((told["status"], told["exit_code"]) == ("Error", 3), f"{told} {said}")
    expect("nodes 2\n" in said and f"tokens [{len(value)}]\n" in said and said.endswith("over\n"), said)
    expect("entrypoint" not in said, said)
    until(lambda: not here.list("rayclusters", RAY), "the cluster ends with its job")
    expect(value not in whole(here.list("pods")) + whole(here.list("rayjobs", RAY)) + said, "the secret is shown")
    here.call("rm", "-y", job)


def a_cancel_lets_the_driver_end_in_order(here):
    mark = f"{here.folder}/ended"
    job = ray_job(here, f"trap 'echo told > {mark}; exit 0' TERM; echo begun; while :; do sleep 0.2; done", grace="20s")
    here.until(job, "Running", seconds=600)
    until(lambda: "begun" in here.call("logs", job, "--rank", "0").stdout, "the driver begins", 600)
    here.call("cancel", "-y", job)
    expect(here.status(job)["status"] == "Canceled", here.status(job))
    until(lambda: os.path.exists(mark), "the driver hears of it")
    until(lambda: not here.pods(job) and not here.list("rayclusters", RAY), "all of it goes")


def a_cluster_that_stays_takes_guests_and_ends_when_idle(here):
    shape = here.file("cluster.json", {"platform": "kubernetes", "image": os.environ["K8S_IMAGE"], "env": SETTINGS,
                                       "kubernetes": machine(here), "cpus": 0.5, "memory": "1GiB", "secrets": ["TOKEN"]})
    value = here.env["TOKEN"] = "kept-secret-" + os.urandom(8).hex()
    own = here.call("ray", "up", "tune", shape, "--idle", "30s", timeout=900).stdout.strip()
    with subprocess.Popen([here.program, "ray", "dashboard", "tune", "--local", "0"], env=here.env, stdout=subprocess.PIPE,
                          text=True) as tunnel:
        address = tunnel.stdout.readline().strip()
        mode = subprocess.run(["curl", "-s", f"{address}/api/authentication_mode"], text=True, stdout=subprocess.PIPE,
                              check=False).stdout
        shut = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"{address}/api/jobs/"], text=True,
                              stdout=subprocess.PIPE, check=False).stdout
        token = here.call("exec", own, "--", "sh", "-c", 'echo "$RAY_AUTH_TOKEN"').stdout.strip()
        answers = [asked(address + path, token) for path in PATHS]
        tunnel.terminate()
    expect(token and '"submission_id"' in "".join(answers), f"the dashboard answers: {answers}")
    shows = [path for path, text in zip(PATHS, answers) if value in text or token in text]
    expect(not shows, f"{shows} show a secret")
    expect("token" in mode and shut == "401", f"{mode} {shut}")
    guest = ray_job(here, "python3 /tmp/sees.py", ray_cluster={"name": "tune"})
    expect(here.over(guest, 600)["status"] == "Complete", here.log(guest))
    expect("nodes 1\n" in here.log(guest) and "entrypoint" not in here.log(guest), here.log(guest))
    expect(here.over(own, 600)["status"] == "Complete", here.status(own))
    until(lambda: not here.list("rayclusters", RAY), "the idle cluster goes")
    expect("idle" in here.log(own) and not names(here.list("rayclusters", RAY)), kubectl("get", "pods", "-A"))
