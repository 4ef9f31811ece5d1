# SPDX-License-Identifier: Apache-2.0
"""bed_controllers.py - kinds and controllers of other projects, beside a bed on request.

The controllers are the projects' own programs. The API server reaches their webhooks by address, not through a
Service, with certificates of the bed's authority.
"""
import base64
import http.client
import json
import os
import shutil

import bed_keys
from bed_api import BED, Api
from bed_keys import PKI
from bed_parts import folder_of
from bed_servers import Trouble, start as start_server, start_controllers, stop as stop_server, wait_for, write

SYSTEM = "kueue-system"
JOBSET_PORT, KUEUE_PORT = 9443, 9444
HEALTH = {"jobset": 8081, "kueue": 8082, "kuberay": 8083}
CONFIG = {
    "jobset": {"apiVersion": "config.jobset.x-k8s.io/v1alpha1", "kind": "Configuration", "health": {
        "healthProbeBindAddress": f"127.0.0.1:{HEALTH['jobset']}"}, "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": JOBSET_PORT, "certDir": f"{BED}/jobset"}, "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False}},
    "kueue": {"apiVersion": "config.kueue.x-k8s.io/v1beta1", "kind": "Configuration", "namespace": SYSTEM, "health": {
        "healthProbeBindAddress": f"127.0.0.1:{HEALTH['kueue']}"}, "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": KUEUE_PORT, "certDir": f"{BED}/kueue"}, "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False}, "clientConnection": {"qps": 500, "burst": 1000},
        "integrations": {"frameworks": ["batch/job"]}},
}
# What the projects' installations ask the API server to send them: (path, group, version, resource, operations).
HOOKS = {
    "jobset": (JOBSET_PORT, (
        ("mutate", "jobset.x-k8s.io", "v1alpha2", "jobset", "jobsets", ("CREATE",)),
        ("validate", "jobset.x-k8s.io", "v1alpha2", "jobset", "jobsets", ("CREATE", "UPDATE")),
        ("mutate", "", "v1", "pod", "pods", ("CREATE",)),
        ("validate", "", "v1", "pod", "pods", ("CREATE",)))),
    "kueue": (KUEUE_PORT, (
        ("mutate", "batch", "v1", "job", "jobs", ("CREATE",)),
        ("validate", "batch", "v1", "job", "jobs", ("CREATE", "UPDATE")),
        ("mutate", "kueue.x-k8s.io", "v1beta1", "clusterqueue", "clusterqueues", ("CREATE",)),
        ("mutate", "kueue.x-k8s.io", "v1beta1", "resourceflavor", "resourceflavors", ("CREATE",)),
        ("mutate", "kueue.x-k8s.io", "v1beta1", "workload", "workloads", ("CREATE",)),
        ("validate", "kueue.x-k8s.io", "v1beta1", "clusterqueue", "clusterqueues", ("CREATE", "UPDATE")),
        ("validate", "kueue.x-k8s.io", "v1beta1", "resourceflavor", "resourceflavors", ("CREATE", "UPDATE")),
        ("validate", "kueue.x-k8s.io", "v1beta1", "workload", "workloads", ("CREATE", "UPDATE")))),
}
# With both, Kueue also sees each JobSet.
JOBSET_HOOKS = ("mutate", "jobset.x-k8s.io", "v1alpha2", "jobset", "jobsets", ("CREATE",)), \
    ("validate", "jobset.x-k8s.io", "v1alpha2", "jobset", "jobsets", ("CREATE", "UPDATE"))


# ---- kinds

def is_established(name):
    code, told = Api().ask("GET", f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}")
    return code == 200 and any(fact["type"] == "Established" and fact["status"] == "True"
                               for fact in told.get("status", {}).get("conditions") or [])


def learn(*names):
    """The API server knows the kinds when this returns; those that it knew stay as they are."""
    wanted = []
    for name in names:
        path = f"{folder_of('crds')}/{name}.json"
        if not os.path.exists(path):
            raise Trouble(f"no kinds of that name: {name} (tests/k8s/crds.txt)")
        with open(path, encoding="utf-8") as file:
            for kind in json.load(file):
                code, said = Api().ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", kind)
                if code not in (201, 409):
                    raise Trouble(f"{name}: {said}")
                wanted.append(kind["metadata"]["name"])
    for name in wanted:
        wait_for(name, lambda at=name: is_established(at), "kube-apiserver")


# ---- webhooks

def hook(port, row):
    action, group, version, kind, resources, operations = row
    with open(f"{BED}/ca.crt", "rb") as file:
        authority = base64.b64encode(file.read()).decode()
    path = f"/{action}-{group.replace('.', '-')}-{version}-{kind}"
    return {"name": f"{action}-{kind}.{group or 'core'}.bed.test", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Fail", "clientConfig": {"url": f"https://127.0.0.1:{port}{path}", "caBundle": authority},
            "rules": [{"apiGroups": [group], "apiVersions": [version], "resources": [resources], "operations": list(operations)}]}


def send_requests_to(name, port, rows):
    """Only when its controller answers: until then every such request would fail."""
    for action, kind in (("mutate", "MutatingWebhookConfiguration"), ("validate", "ValidatingWebhookConfiguration")):
        Api().post(f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s", {
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
            "webhooks": [hook(port, row) for row in rows if row[0] == action]})


# ---- the programs

def answers(port):
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        line.request("GET", "/readyz")
        return line.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        line.close()


def make_certificates(name):
    os.makedirs(f"{BED}/{name}")
    bed_keys.sign(f"{name}-hooks", f"/CN={name}", "extendedKeyUsage=serverAuth\nsubjectAltName=IP:127.0.0.1")
    for kind, end in (("crt", "tls.crt"), ("key", "tls.key")):
        shutil.copy(f"{PKI}/{name}-hooks.{kind}", f"{BED}/{name}/{end}")


def start_program(name, frameworks=()):
    config = json.loads(json.dumps(CONFIG[name]))
    if frameworks:
        config["integrations"]["frameworks"] = list(frameworks)
    bed_keys.make_client(name)
    make_certificates(name)
    write(f"{BED}/{name}/config.json", json.dumps(config))
    run_program(name)


def run_program(name):
    start_server(name, [f"{folder_of(name)}/{name}", f"--config={BED}/{name}/config.json", f"--kubeconfig={PKI}/{name}.conf"])
    wait_for(f"the controller of {name}", lambda: answers(HEALTH[name]), name)


def start_jobset():
    learn("jobset")
    start_program("jobset")
    send_requests_to("jobset", *HOOKS["jobset"])


def start_kueue(with_jobset):
    learn("kueue")
    Api().post("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})
    start_program("kueue", ["batch/job", *(["jobset.x-k8s.io/jobset"] if with_jobset else [])])
    port, rows = HOOKS["kueue"]
    send_requests_to("kueue", port, rows + (JOBSET_HOOKS if with_jobset else ()))


def run_kuberay():
    """It reaches dashboards through the API server: the names of Services mean nothing outside a pod."""
    start_server("kuberay", [f"{folder_of('kuberay')}/kuberay", f"--kubeconfig={PKI}/kuberay.conf", "--metrics-addr=0",
                             f"--health-probe-bind-address=127.0.0.1:{HEALTH['kuberay']}", "--enable-leader-election=false",
                             "--use-kubernetes-proxy"])
    wait_for("the controller of kuberay", lambda: answers(HEALTH["kuberay"]), "kuberay")


def start_kuberay():
    learn("kuberay")
    bed_keys.make_client("kuberay")
    run_kuberay()


def add_queue(name, gpus, namespace="default"):
    """A LocalQueue and what it needs; its jobs together have so many GPUs, and processors without end."""
    def make(path, kind, spec, of=None):
        Api().post(f"/apis/kueue.x-k8s.io/v1beta1/{path}", {
            "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": kind, "metadata": {"name": name, **({"namespace": of} if of else {})},
            "spec": spec})
    room = {"cpu": "100k", "memory": "1Pi", "nvidia.com/gpu": str(gpus)}
    make("resourceflavors", "ResourceFlavor", {})
    make("clusterqueues", "ClusterQueue", {"namespaceSelector": {}, "resourceGroups": [{
        "coveredResources": list(room),
        "flavors": [{"name": name, "resources": [{"name": key, "nominalQuota": most} for key, most in room.items()]}]}]})
    make(f"namespaces/{namespace}/localqueues", "LocalQueue", {"clusterQueue": name}, namespace)
    wait_for(f"the queue {name}", lambda: any(
        fact["type"] == "Active" and fact["status"] == "True" for fact in Api().get(
            f"/apis/kueue.x-k8s.io/v1beta1/namespaces/{namespace}/localqueues/{name}").get("status", {}).get("conditions", [])),
        "kueue")


def start(*names):
    unknown = set(names) - set(HEALTH)
    if unknown:
        raise Trouble(f"no controllers of that name: {', '.join(unknown)}")
    if "jobset" in names:
        start_jobset()
    if "kueue" in names:
        start_kueue("jobset" in names)
    if "kuberay" in names:
        start_kuberay()
    stop_server("kube-controller-manager")           # it looks for new kinds, whose objects it shall collect, every 30 s
    start_controllers()
