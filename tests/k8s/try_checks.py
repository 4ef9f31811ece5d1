#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""try_checks.py - capacity guard, preflight, inventory and the smallest rights, on simulated nodes.

    cluster --nodes 1 -- try_checks.py SLIPWAY PAGE [CLAIM...]

PAGE is docs/use/platforms/kubernetes.md: its roles are applied as they stand there. Each claim has nodes of its
own, told apart by the label `pool`.
"""
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..")]
from bed_api import BED, Api, audited  # noqa: E402
from harness import claims  # noqa: E402
from harness.client import Client, expect  # noqa: E402

PAGE = sys.argv[2]
IMAGE = os.environ.get("K8S_IMAGE", "registry.invalid/none:1")


class Here(Client):
    count = 0

    def __init__(self, program):
        super().__init__(program, SLIPWAY_WATCHER="off")
        Here.count += 1
        self.name, self.api = f"c{Here.count}", Api()

    def nodes(self, count, gpus=8, **more):
        """Nodes of this claim: more is labels, taints, allocatable."""
        more["labels"] = {"pool": self.name, **more.get("labels", {})}
        made = len([node for node in self.api.get("/api/v1/nodes")["items"]
                    if node["metadata"]["labels"].get("pool") == self.name])
        for index in range(made, made + count):
            control("add-node", f"{self.name}-{index}", str(gpus), json.dumps(more))

    def hold(self, node, gpus):
        """A pod that has been given so many GPUs of a node."""
        self.api.post("/api/v1/namespaces/kube-system/pods", {
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"holds-{node}"}, "spec": {
                "nodeName": node, "containers": [{"name": "main", "image": IMAGE, "resources": {
                    "limits": {"nvidia.com/gpu": str(gpus)}}}]}})

    def preflight(self, *words, options=None, user=None):
        """What was found, by the name of the check."""
        options = {"node_selector": {"pool": self.name}, **(options or {})}
        job = self.file("job.yaml", {"platform": "kubernetes", "image": IMAGE, "command": "true", "kubernetes": options})
        done = self.call("preflight", job, *words, "-o", "json", check=False, **as_user(user))
        expect(done.returncode in (0, 1), f"{done.returncode}: {done.stderr}")
        return {row["check"]: row for row in json.loads(done.stdout)["checks"]}


def as_user(user):
    return {"KUBECONFIG": f"{BED}/kubeconfig-{user}"} if user else {}


def control(*words):
    subprocess.run([f"{BED}/control", *words], check=True)


def apply(yaml):
    subprocess.run(["kubectl", "apply", "-f", "-"], input=yaml, text=True, check=True, stdout=subprocess.DEVNULL)


def delete(yaml):
    subprocess.run(["kubectl", "delete", "-f", "-"], input=yaml, text=True, check=True, stdout=subprocess.DEVNULL)


# ---- capacity

def what_can_never_fit_is_refused_with_the_numbers(here):
    here.nodes(2)
    here.nodes(1, 4, taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}])
    done = here.call("run", "-d", "-p", "kubernetes", "--image", IMAGE, "--gpus", "9", "--nodes", "2",
                     "--set", f"kubernetes.node_selector.pool={here.name}", "--", "true", check=False)
    expect(done.returncode != 0 and "needs 2 x 9 nvidia.com/gpu; the largest matching node has 8 nvidia.com/gpu" in done.stderr,
           done.stderr)
    expect("1 tainted" in done.stderr and "2 of " in done.stderr, done.stderr)
    jobs = here.api.get("/apis/batch/v1/namespaces/default/jobs")["items"]
    expect(not any(here.name in json.dumps(job["spec"]) for job in jobs), "something was sent")


def what_only_has_to_wait_passes(here):
    here.nodes(2)
    here.hold(f"{here.name}-0", 8)
    found = here.preflight("--gpus", "8", "--nodes", "2")["capacity"]
    expect(found["ok"] and "GPUs: 16, 8 free" in found["message"] and "1 of 2 pods fit now" in found["message"], found)
    control("lose-node", f"{here.name}-1")
    expect(here.preflight("--gpus", "8", "--nodes", "2")["capacity"]["ok"], "a node that is silent comes back")


def a_job_fits_now_on_free_nodes(here):
    here.nodes(1)
    found = here.preflight("--gpus", "4", "--nodes", "2")["capacity"]
    expect(found["ok"] and "fits now" in found["message"], found)


def a_toleration_opens_tainted_nodes(here):
    here.nodes(1, taints=[{"key": "team", "value": "x", "effect": "NoSchedule"}])
    expect(here.preflight("--gpus", "1")["capacity"]["ok"] is False, "a tainted node took it")
    tolerated = here.preflight("--gpus", "1", options={"tolerations": [{"key": "team", "operator": "Exists"}]})
    expect(tolerated["capacity"]["ok"], tolerated["capacity"])


def an_autoscaler_lets_it_through(here):
    here.nodes(1)
    found = here.preflight("--gpus", "64", options={"autoscaler": True})["capacity"]
    expect(found["ok"] and "autoscaler" in found["message"], found)


def other_devices_are_named(here):
    here.nodes(1, 0, allocatable={"nvidia.com/mig-1g.10gb": "7"})
    found = here.preflight("--gpus", "1", options={"gpu_resource": "amd.com/gpu"})["capacity"]
    expect(found["ok"] is False and "nvidia.com/mig-1g.10gb" in found["fix"] and "kubernetes.gpu_resource" in found["fix"], found)
    taken = here.preflight("--gpus", "7", options={"gpu_resource": "nvidia.com/mig-1g.10gb"})["capacity"]
    expect(taken["ok"], taken)


def a_gpu_type_means_the_models_that_hold_its_name(here):
    here.nodes(1, labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"})
    here.nodes(1, labels={"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"})
    found = here.preflight("--gpus", "h100:8")["capacity"]
    expect(found["ok"] and found["message"].startswith("1 of "), found)
    expect(here.preflight("--gpus", "b200:8")["capacity"]["ok"] is False, "there is no B200")


# ---- inventory

def inventory_tells_models_and_what_is_free(here):
    here.nodes(2, labels={"nvidia.com/gpu.product": f"GPU-{here.name}"})
    here.hold(f"{here.name}-0", 3)
    told = here.json("inventory", "kubernetes")["inventory"]
    model = next(row for row in told["gpu_models"] if row["gpu_type"] == f"GPU-{here.name}")
    expect((model["nodes"], model["gpus_total"], model["gpus_free"]) == (2, 16, 13), model)
    node = next(row for row in told["nodes"] if row["node"] == f"{here.name}-0")
    expect(node["gpus_free"] == 5 and node["state"] == "ready" and node["arch"] == "amd64", node)


# ---- preflight

def claims_of_volumes_are_looked_at(here):
    here.nodes(1)
    for name, mode in ((f"now-{here.name}", "Immediate"), (f"later-{here.name}", "WaitForFirstConsumer")):
        here.api.post("/apis/storage.k8s.io/v1/storageclasses", {
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": "none.invalid/none", "volumeBindingMode": mode})
        here.api.post("/api/v1/namespaces/default/persistentvolumeclaims", {
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": {
                "accessModes": ["ReadWriteOnce"], "storageClassName": name, "resources": {"requests": {"storage": "1Gi"}}}})
    found = here.preflight(options={"volumes": {
        "/a": f"pvc:now-{here.name}", "/b": f"pvc:later-{here.name}", "/c": f"pvc:none-{here.name}"}})
    expect(found[f"volume claim now-{here.name}"]["ok"] is False, found)
    expect(found[f"volume claim later-{here.name}"]["ok"] is True, found)
    expect("not there" in found[f"volume claim none-{here.name}"]["message"], found)


def what_a_job_names_must_be_there(here):
    here.nodes(1)
    found = here.preflight(options={"service_account": "none-here", "image_pull_secret": "none", "queue": "none",
                                    "priority_class": "none", "engine": "volcano"})
    for check in ("service account none-here", "pull secret none", "priority class none", "engine", "queue"):
        expect(found[check]["ok"] is False and found[check]["fix"], (check, found.get(check)))


def the_clock_of_the_api_server_is_looked_at(here):
    here.nodes(1)
    found = here.preflight()["clock"]
    expect(found["ok"] and found["message"].startswith("Kubernetes "), found)


def a_restricted_namespace_is_named(here):
    here.nodes(1)
    here.api.post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": here.name, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    expect("restricted" in here.preflight(options={"namespace": here.name})["namespace"]["message"], "it is not")
    found = here.preflight(options={"namespace": here.name, "security": "image"})["namespace"]
    expect(found["ok"] is False, found)
    gone = here.preflight(options={"namespace": f"{here.name}-none"})["namespace"]
    expect(gone["ok"] is False and "not there" in gone["message"], gone)


# ---- rights

def roles_of_the_page():
    with open(PAGE, encoding="utf-8") as page:
        return re.findall(r"^```yaml\n(apiVersion: rbac.*?)^```", page.read(), re.M | re.S)


@claims.alone
def the_smallest_rights_of_the_page_are_enough(here):
    role, cluster_role = roles_of_the_page()
    here.nodes(1)
    apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: train}\n")
    lacking = here.preflight("--nodes", "2", options={"namespace": "train"}, user="ann")["permissions"]
    expect(lacking["ok"] is False and "create jobs.batch" in lacking["message"], lacking)
    apply(role)
    found = here.preflight("--nodes", "2", "--gpus", "1", options={"namespace": "train"}, user="ann")
    expect(found["permissions"]["ok"], found["permissions"])
    expect(found["cluster permissions"]["ok"] is None and "capacity" not in found, found)
    apply(cluster_role)
    found = here.preflight("--nodes", "2", "--gpus", "1", options={"namespace": "train"}, user="ann")
    expect("cluster permissions" not in found and found["capacity"]["ok"], found)
    delete(cluster_role)
    delete(role)


@claims.alone
def roles_that_preflight_prints_are_enough(here):
    here.nodes(1)
    apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: train}\n")
    lacking = here.preflight("--gpus", "1", options={"namespace": "train"}, user="ann")
    yaml = "\n---\n".join(lacking[check]["fix"].split("\n", 1)[1] for check in ("permissions", "cluster permissions"))
    apply(yaml)
    found = here.preflight("--gpus", "1", options={"namespace": "train"}, user="ann")
    expect(found["permissions"]["ok"] and "cluster permissions" not in found, found)
    delete(yaml)


@claims.alone
def a_job_lives_and_dies_with_the_smallest_rights(here):
    here.env["SLIPWAY_RUNNERS"] = os.path.dirname(here.file("runners/slipway-runner-x86_64", "simulated pods run nothing"))
    apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: train}\n")
    role = roles_of_the_page()[0]
    apply(role)
    here.env.update(as_user("ann"))
    job = here.call("run", "-d", "-p", "kubernetes", "--image", IMAGE, "--nodes", "2", "--set", "kubernetes.namespace=train",
                    "--", "sleep", "60").stdout.split()[-1]
    for words in (("status", job), ("replicas", job), ("why", job), ("cancel", "-y", job), ("rm", "-y", job)):
        here.call(*words)
    asked = {(row["code"], row["verb"], row["resource"], row["subresource"]) for row in audited()
             if row["user"] == "ann" and row["namespace"] == "train"}
    expect((201, "create", "jobs", None) in asked or any(row[1:3] == ("create", "jobsets") for row in asked), asked)
    expect(not any(row[0] == 403 and row[2] != "namespaces" for row in asked), asked)
    delete(role)


if __name__ == "__main__":
    sys.exit(claims.main(globals(), Here, 3, [sys.argv[1], *sys.argv[3:]]))
