# SPDX-License-Identifier: Apache-2.0
"""bed_control.py - `$K8S_BED/control VERB [WORD...]`: break, mend and change a bed from inside."""
import datetime
import signal
import subprocess
import sys

import bed_controllers
import bed_node
import bed_servers as servers
from bed_api import BED, Api
from bed_servers import Trouble, kubectl, state, stop, wait_for


AGAIN = {"kube-controller-manager": servers.start_controllers, "kube-scheduler": servers.start_scheduler, "kwok": servers.start_kwok,
         "jobset": lambda: bed_controllers.run_program("jobset"), "kueue": lambda: bed_controllers.run_program("kueue"),
         "kuberay": bed_controllers.run_kuberay}


def start_apiserver():
    """Its clients among the bed's parts start anew: they would ask again only after up to half a minute."""
    servers.start_apiserver()
    for name, start in AGAIN.items():
        if servers.is_alive(name):
            stop(name)
            start()


def restart_apiserver():
    stop("kube-apiserver")
    start_apiserver()


def compact():
    """The API server remembers the last changes, too; it forgets them with its process."""
    stop("kube-apiserver")
    subprocess.run([state()["kubemini"], "compact", servers.ETCD], check=True, capture_output=True)
    start_apiserver()


def add_node(name, gpus="8", more="{}"):
    servers.add_node(name, gpus, more)
    wait_for(f"node {name}", lambda: name in servers.ready_nodes(), "kwok")


def lose_node(name):
    """No lease and no status comes from it any more; its pods stay as they were. kwok sometimes misses that a node is
    not its own any more, on a busy machine: then it hears it again."""
    for seconds in (40, 40, 120):
        Api().patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"type": "kwok"}}})
        Api().patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"type": "lost"}}})
        try:
            wait_for(f"the loss of {name}", lambda: name not in servers.ready_nodes(), seconds=seconds)
            return
        except Trouble:
            if seconds == 120:
                raise


def mend_node(name):
    Api().patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"type": "kwok"}}})
    wait_for(f"node {name}", lambda: name in servers.ready_nodes(), "kwok")


def set_log(pod, path, namespace="default"):
    """A simulated pod says these lines from now on; lines added to FILE later are followed."""
    stamp = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    with open(path, encoding="utf-8") as lines:
        text = "".join(f"{stamp} stdout F {line.rstrip(chr(10))}\n" for line in lines)
    told = f"{servers.LOG}/pod-{namespace}-{pod}"
    servers.write(told, text)
    Api().post(f"/apis/kwok.x-k8s.io/v1alpha1/namespaces/{namespace}/logs",
               {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Logs", "metadata": {"name": pod},
                "spec": {"logs": [{"logsFile": told, "follow": True}]}})


def grant(user, role, namespace="default"):
    """A role of the cluster (view, edit, admin, or one that the test made) in one namespace; all: everywhere."""
    where = [] if namespace == "all" else [f"--namespace={namespace}"]
    kind = "clusterrolebinding" if namespace == "all" else "rolebinding"
    kubectl("create", kind, f"{user}-{role}", f"--clusterrole={role}", f"--user={user}", *where)


CONTROLS = {
    "stop-apiserver": (lambda: stop("kube-apiserver"), "the API server is away"),
    "start-apiserver": (start_apiserver, "and back"),
    "restart-apiserver": (restart_apiserver, "both"),
    "freeze-apiserver": (lambda: servers.send("kube-apiserver", signal.SIGSTOP), "it accepts connections and answers nothing"),
    "thaw-apiserver": (lambda: servers.send("kube-apiserver", signal.SIGCONT), "and answers again"),
    "start-other": (servers.start_other, "a second cluster with nothing in it, kubeconfig-other"),
    "stop-other": (lambda: stop("kube-apiserver-other"), "and it is gone"),
    "compact": (compact, "only the present is known: an older resourceVersion is answered 410"),
    "stop-scheduler": (lambda: stop("kube-scheduler"), "new pods stay where they are"),
    "start-scheduler": (servers.start_scheduler, "and are placed again"),
    "stop-controllers": (lambda: stop("kube-controller-manager"), "Jobs make no pods, nothing is collected"),
    "start-controllers": (servers.start_controllers, "and do again"),
    "stop-kubelet": (lambda: stop("kubelet"), "the real node is silent; its containers run on"),
    "start-kubelet": (bed_node.start_kubelet, "and is back"),
    "add-node": (add_node, "NAME [GPUS [JSON]]: one more simulated node; JSON: labels, taints, allocatable, annotations"),
    "lose-node": (lose_node, "NAME: a simulated node is silent; returns when that was noticed"),
    "mend-node": (mend_node, "NAME: and is back"),
    "crds": (bed_controllers.learn, "NAME...: the API server learns these kinds"),
    "with": (bed_controllers.start, "jobset|kueue|kuberay...: learns their kinds and starts their controllers"),
    "queue": (bed_controllers.add_queue, "NAME GPUS [NAMESPACE]: a LocalQueue of Kueue and what it needs"),
    "log": (set_log, "POD FILE [NAMESPACE]: what a simulated pod has said"),
    "grant": (grant, "USER ROLE [NAMESPACE|all]: by default in the namespace default"),
}


def control(words):
    if not words or words[0] not in CONTROLS:
        for verb, (_, help_text) in CONTROLS.items():
            print(f"{BED}/control {verb:18} {help_text}", file=sys.stderr)
        return 64
    try:
        CONTROLS[words[0]][0](*words[1:])
    except (Trouble, OSError, subprocess.CalledProcessError) as trouble:
        print(f"control: {trouble}", file=sys.stderr)
        return 70
    return 0
