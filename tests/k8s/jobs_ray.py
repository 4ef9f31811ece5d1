# SPDX-License-Identifier: Apache-2.0
"""jobs_ray.py - `launcher: ray` through KubeRay's own operator, on nodes that only pretend: claims of tests/k8s/try-jobs.

The operator, the API server and the controllers are real; no Ray runs, so what a driver does at its end is written into
the status of its pod here. tests/k8s/jobs_ray_real.py has the rest.
"""
import json
import os

from jobs_client import expect, names, until, whole

RAY = "ray.io/v1"
LASTS = {"annotations": {"slipway.test/run-for": "1h"}}


def ray_job(here, check=True, options=None, **keys):
    """The id of a job whose pods run until something happens to them."""
    job = here.try_submit("true", launcher="ray", kubernetes={**LASTS, **(options or {})}, **keys)
    expect(not check or job.returncode == 0, f"{job.returncode}: {job.stderr}")
    return job.stdout.strip() if check else job


def the(here, job, role):
    """Its pods of that kind that are not being removed."""
    wanted = {"driver": ("slipway.role", "driver"), "head": ("ray.io/node-type", "head"),
              "worker": ("ray.io/node-type", "worker")}[role]
    return [pod for pod in here.pods(job) if pod["metadata"]["labels"].get(wanted[0]) == wanted[1] and
            "deletionTimestamp" not in pod["metadata"]]


def end(here, pod, code, **report):
    """The driver's pod as `slipway-runner relay` leaves it."""
    end_of = {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": "2026-01-01T00:00:00Z",
              "finishedAt": "2026-01-01T00:01:00Z", "message": json.dumps(report)}
    here.api.patch(f"/api/v1/namespaces/{here.namespace}/pods/{pod['metadata']['name']}/status", {"status": {
        "phase": "Failed" if code else "Succeeded", "containerStatuses": [{
            "name": "slipway", "image": "x", "imageID": "x", "ready": False, "restartCount": 0,
            "state": {"terminated": end_of}}]}})


def variables(pod):
    return {one["name"]: one for one in pod["spec"]["containers"][0]["env"]}


def the_operator_makes_the_cluster_and_then_the_driver(here):
    job = ray_job(here, nodes=3, gpus=1, cpus=2, secrets=["TOKEN"], env={"TOKEN": "kept-secret-canary"})
    here.until(job, "Running")
    head, workers, driver = the(here, job, "head"), the(here, job, "worker"), the(here, job, "driver")
    expect((len(head), len(workers), len(driver)) == (1, 2, 1), names(here.pods(job)))
    for pod in head + workers:
        main = pod["spec"]["containers"][0]
        expect(main["command"] == ["/.slipway/bin/slipway-runner"] and main["args"][-1] == "/.slipway/job/node.json", main)
        expect(main["resources"]["limits"]["nvidia.com/gpu"] == "1", main["resources"])
        start = variables(pod)["KUBERAY_GEN_RAY_START_CMD"]["value"]
        expect("ray start" in start and "--num-gpus=1" in start and "--num-cpus=2" in start, start)
        token = variables(pod)["RAY_AUTH_TOKEN"]
        expect("value" not in token and token["valueFrom"]["secretKeyRef"]["key"] == "auth_token", token)
    main = driver[0]["spec"]["containers"][0]
    expect(main["args"][:4] == ["relay", "--report", "/dev/termination-log", job], main["args"])
    expect("nvidia.com/gpu" not in whole(main["resources"]) and "slipway-secrets" not in whole(driver), main)
    expect(variables(driver[0])["RAY_JOB_SUBMISSION_ID"]["value"] == job, variables(driver[0]))
    parts = here.json("replicas", job)["replicas"]
    expect([part["pod"] for part in parts] == [driver[0]["metadata"]["name"], head[0]["metadata"]["name"],
                                               *names(workers)], parts)
    files = [one for one in here.list("configmaps") if one["metadata"]["name"] == job][0]["data"]
    expect({"payload.json", "plan.json", "driver.py", "node.json", "node.sh", "stop.sh"} <= set(files), list(files))
    shown = [whole(here.list(kind)) for kind in ("configmaps", "pods", "events", "services")] + \
        [whole(here.list(kind, RAY)) for kind in ("rayjobs", "rayclusters")]
    expect(not any("kept-secret-canary" in text for text in shown), "the secret is shown")
    here.call("cancel", "-y", job)
    expect(here.status(job)["status"] == "Canceled", here.status(job))
    until(lambda: not here.pods(job) and not here.list("rayjobs", RAY) and not here.list("rayclusters", RAY),
          "all of it goes")


def a_program_that_fails_ends_the_cluster_and_is_not_repeated(here):
    job = ray_job(here, nodes=2)
    here.until(job, "Running")
    end(here, the(here, job, "driver")[0], 3, job_id=job, rank=0, phase="over", exit_code=3)
    told = here.over(job)
    expect((told["status"], told["exit_code"], told["attempt"]) == ("Error", 3, 1), told)
    expect(told["message"] == "exited with code 3", told)
    until(lambda: not here.list("rayclusters", RAY), "the cluster ends with its job")
    until(lambda: not the(here, job, "head") and not the(here, job, "worker"), "its pods go")
    expect(len(the(here, job, "driver")) == 1, "the driver's pod keeps its log")
    here.call("rm", "-y", job)
    until(lambda: not here.list("rayjobs", RAY) and not here.pods(job), "what is left goes with the job")


def a_cluster_that_is_lost_is_no_fault_of_the_program(here):
    job = ray_job(here, retry={"max": 0})
    here.until(job, "Running")
    end(here, the(here, job, "driver")[0], 74, job_id=job, phase="lost", exit_code=74, message="no report")
    told = here.over(job)
    expect((told["status"], told["reason"], told["exit_code"]) == ("Error", "lost", None), told)
    expect("ERR_INFRA" in here.call("why", job, "-o", "json").stdout, here.why(job))


def an_image_that_the_head_cannot_pull_is_the_reason(here):
    job = here.submit("true", launcher="ray", kubernetes={"annotations": {"slipway.test/waiting": "ImagePullBackOff"}})
    told = until(lambda: (seen := here.status(job))["reason"].startswith("image") and seen, "the reason")
    expect(told["status"] == "Pending" and "rank 1" in told["message"], told)
    here.call("cancel", "-y", job)
    until(lambda: not here.pods(job), "its pods go")


def a_cluster_that_stays_is_made_once_and_another_shape_is_a_conflict(here):
    shape = here.file("cluster.json", {"platform": "kubernetes", "image": os.environ["K8S_IMAGE"], "kubernetes": LASTS})
    words = ("ray", "up", "tune", shape)
    first = here.call(*words, "-d").stdout.strip()
    expect(first.startswith("tune-"), first)
    here.until(first, "Running")
    expect(here.call(*words).stdout.strip() == first, "the same shape is the same cluster")
    other = here.call(*words, "--nodes", "2", "-d", check=False)
    expect(other.returncode == 68 and "ray down tune" in other.stderr, other.stderr)
    shown = here.call("ray", "status").stdout
    expect("tune" in shown and first in shown and "Running" in shown, shown)
    stranger = type(here)(here.program)
    stranger.env["TAO_K8S_NAMESPACE"] = here.namespace
    refused = stranger.call(*words, "-d", check=False)
    stranger.close()
    expect(refused.returncode == 68 and first in refused.stderr, refused.stderr)
    guests(here)
    here.call("ray", "down", "tune")
    expect(here.status(first)["status"] == "Canceled", here.status(first))
    until(lambda: not here.list("rayclusters", RAY), "the cluster goes")
    expect(here.call("ray", "down", "tune", check=False).returncode == 66, "it is gone")


def guests(client):
    """Jobs on the cluster that is up."""
    own = client.list("rayclusters", RAY)[0]["metadata"]["name"]
    guest = ray_job(client, ray_cluster={"name": "tune"})
    found = [one for one in client.list("rayjobs", RAY) if one["metadata"]["name"] == guest][0]["spec"]
    expect(found["clusterSelector"] == {"ray.io/cluster": own} and "rayClusterSpec" not in found, found)
    expect(found["backoffLimit"] == 0 and not found.get("suspend"), found)
    client.until(guest, "Running")
    expect(len(client.pods(guest)) == 1, names(client.pods(guest)))
    end(client, the(client, guest, "driver")[0], 5, job_id=guest, rank=0, phase="over", exit_code=5)
    expect(client.over(guest)["exit_code"] == 5, client.status(guest))
    expect(len(client.list("rayclusters", RAY)) == 1, "the cluster stays")
    secret = ray_job(client, check=False, ray_cluster={"name": "tune"}, secrets=["TOKEN"], env={"TOKEN": "kept-secret"})
    expect(secret.returncode == 65 and "'tune'" in secret.stderr, secret.stderr)
    missing = ray_job(client, check=False, ray_cluster={"name": "nowhere"})
    expect(missing.returncode == 66 and "ray up nowhere" in missing.stderr, missing.stderr)
