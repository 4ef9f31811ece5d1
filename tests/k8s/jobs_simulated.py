# SPDX-License-Identifier: Apache-2.0
"""jobs_simulated.py - jobs on nodes that only pretend, beside the real control plane: claims of tests/k8s/try-jobs."""
import base64
import json
import os
import shutil
import subprocess

from bed_api import BED, audited
from harness import claims
from jobs_client import control, expect, kubectl, names, until, whole

NODES = os.environ["K8S_NODES"].split()
JOBSET, KUEUE = "jobset.x-k8s.io/v1alpha2", "kueue.x-k8s.io/v1beta1"


def pretend(seconds="1s", **more):
    """How its pods behave."""
    steer = {"run-for": seconds, **{name.replace("_", "-"): str(value) for name, value in more.items()}}
    return {f"slipway.test/{name}": value for name, value in steer.items()}


def lasting(client, seconds="1h", options=None, steer=None, **keys):
    """The id of a job that runs so long."""
    return client.submit("true", kubernetes={"annotations": pretend(seconds, **(steer or {})), **(options or {})}, **keys)


def own_nodes(client, count, gpus, **more):
    """Simulated nodes of this claim alone, and the options that lead there."""
    for number in range(count):
        control("add-node", f"{client.namespace}-{number}", str(gpus), json.dumps({"labels": {"pool": client.namespace}, **more}))
    return {"node_selector": {"pool": client.namespace}}


def running(client, job, count, but=()):
    """Its pods that run, when they are so many and others than those."""
    found = [pod for pod in client.pods(job)
             if pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]]
    return found if len(found) == count and not uids(found) & uids(but) else None


def uids(objects):
    return {one["metadata"]["uid"] for one in objects}


# ---- which cluster

@claims.alone
def a_job_is_not_looked_for_on_another_cluster(here):
    config = f"{here.folder}/kubeconfig"
    shutil.copy(f"{BED}/kubeconfig", config)
    here.env["KUBECONFIG"] = config
    job = lasting(here)
    here.until(job, "Running")
    control("start-other")
    kubectl("--kubeconfig", f"{BED}/kubeconfig-other", "create", "namespace", here.namespace)
    with open(f"{BED}/kubeconfig-other", encoding="utf-8") as file:
        other = file.read()
    for place in (config, f"{here.folder}/elsewhere"):
        with open(place, "w", encoding="utf-8") as out:
            out.write(other)
        for _ in range(3):
            done = here.call("status", job, "-o", "json", check=False, KUBECONFIG=place)
            told = json.loads(done.stdout)
            expect(told["status"] == "Running", told)
            here.call("watcher", "once", check=False, KUBECONFIG=place)
        said = here.call("ps", check=False, KUBECONFIG=place)
        expect("Running" in said.stdout, said.stdout)
        if place == config:
            expect("another one answers there now" in done.stderr and "another one" in said.stderr, done.stderr + said.stderr)
        shutil.copy(f"{BED}/kubeconfig", config)
    control("stop-other")
    here.call("cancel", "-y", job)


@claims.alone
def an_api_server_that_is_away_changes_no_job(here):
    job = lasting(here, "20s")
    here.until(job, "Running")
    waiting = subprocess.Popen([here.program, "wait", job], env=here.env, cwd=here.folder, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    control("stop-apiserver")
    try:
        for _ in range(2):
            done = here.call("status", job, "-o", "json", check=False)
            told = json.loads(done.stdout)
            expect(told["status"] == "Running" and "did not answer" in done.stderr, f"{told} {done.stderr}")
    finally:
        control("start-apiserver")
    expect(waiting.wait(120) == 0, waiting.communicate())
    told = here.over(job)
    expect((told["status"], told["attempt"]) == ("Complete", 1), told)


# ---- room

def too_few_free_gpus_are_waited_for_with_the_numbers(here):
    options = own_nodes(here, 2, 8)
    first = lasting(here, options=options, gpus=8, nodes=2)
    here.until(first, "Running")
    second = lasting(here, "1s", options=options, gpus=4)
    told = until(lambda: (seen := here.status(second))["reason"] == "gpu-wait" and seen, "the reason")
    total = len(here.api.get("/api/v1/nodes")["items"])
    expect(told["status"] == "Pending" and f"0 of {total} nodes fit: " in told["message"], told)
    said = here.why(second)
    expect("2 have no free GPU" in said, said)
    here.call("cancel", "-y", first)
    expect(here.over(second)["status"] == "Complete", here.status(second))


def what_can_never_fit_is_refused_but_for_an_autoscaler(here):
    options = own_nodes(here, 2, 4)
    done = here.try_submit("true", gpus=8, kubernetes=options)
    expect(done.returncode != 0 and "needs 1 x 8 nvidia.com/gpu; the largest matching node has 4" in done.stderr, done.stderr)
    expect(not here.jobs() and not here.list("jobsets", JOBSET), "something was sent")
    job = here.submit("true", gpus=8, kubernetes={**options, "autoscaler": True})
    expect(here.status(job)["status"] == "Pending", here.status(job))
    control("add-node", f"{here.namespace}-big", "8", json.dumps({"labels": {"pool": here.namespace}}))
    expect(here.over(job)["status"] == "Complete", here.status(job))


# ---- what the server refuses

def a_refused_value_is_shown_with_its_key(here):
    wrong = {
        "kubernetes.node_selector": {"kubernetes": {"node_selector": {"pool": "not a value"}, "autoscaler": True}},
        "kubernetes.tolerations": {"kubernetes": {"tolerations": [{"key": "a", "operator": "Maybe"}]}},
        "kubernetes.labels": {"kubernetes": {"labels": {"team": "not a value"}}},
        "kubernetes.volumes": {"kubernetes": {"volumes": {"/data": "pvc:Not_A_Name"}}},
        "memory": {"memory": "1GiB", "kubernetes": {"requests": {"memory": "2Gi"}}},
    }
    for key, keys in wrong.items():
        done = here.try_submit("true", **keys)
        expect(done.returncode != 0 and key in done.stderr, f"{key}: {done.returncode} {done.stderr}")
        left = here.jobs() + here.list("pods") + [one for one in here.list("configmaps") if "slipway.id" in
                                                  one["metadata"].get("labels", {})]
        expect(not left, f"{key} left {names(left)}")


def a_priority_class_that_is_not_there_is_said(here):
    job = here.try_submit("true", kubernetes={"priority_class": "none-of-ours"})
    if job.returncode != 0:
        expect("none-of-ours" in job.stderr, job.stderr)
        return "(refused)"
    told = until(lambda: "none-of-ours" in (seen := here.status(job.stdout.split()[-1]))["message"] and seen, "the reason")
    expect(told["status"] == "Pending", told)
    return "(waits)"


# ---- JobSet

def several_nodes_are_a_jobset_where_there_are_jobsets(here):
    job = lasting(here, "2s", nodes=2)
    sets = here.list("jobsets", JOBSET)
    expect(names(sets) == [job], sets)
    told = here.over(job)
    expect((told["status"], told["attempt"]) == ("Complete", 1), told)
    here.call("rm", "-y", job)
    until(lambda: not here.list("jobsets", JOBSET) and not here.list("services") and not here.pods(job), "it is gone")


def a_program_error_does_not_restart_a_jobset(here):
    job = lasting(here, "1s", nodes=2, steer={"exit_code": 3, "fail_index": 1}, retry={"max": 2})
    told = here.over(job)
    expect((told["status"], told["exit_code"], told["attempt"], told["failed_replica"]) == ("Error", 3, 1, 1), told)


@claims.alone
def a_lost_node_restarts_the_whole_set(here):
    options = own_nodes(here, 3, 8)
    job = lasting(here, nodes=2, gpus=8, options=options, retry={"max": 3})
    first = until(lambda: running(here, job, 2), "both run")
    here.until(job, "Running")
    lost = first[0]["spec"]["nodeName"]
    control("lose-node", lost)
    kubectl("taint", "node", lost, "node.kubernetes.io/out-of-service=lost:NoExecute")    # as an administrator says it
    second = until(lambda: running(here, job, 2, but=first), "both run again")
    expect(lost not in {pod["spec"]["nodeName"] for pod in second}, "one is on the lost node")
    told = until(lambda: (seen := here.status(job))["attempt"] == 2 and seen["status"] == "Running" and seen, "the second attempt")
    expect(told["attempts"][0]["reason"] in ("node-lost", "evicted", "restarted"), told["attempts"])
    here.call("cancel", "-y", job)
    until(lambda: not here.pods(job), "nothing of it is left")


# ---- Kueue

def a_queue_holds_the_second_job_with_its_own_words(here):
    control("queue", here.namespace, "8", here.namespace)
    options = {"queue": here.namespace, "requests": {"cpu": "1", "memory": "1Gi"}}
    first = lasting(here, gpus=8, options=options)
    here.until(first, "Running")
    second = lasting(here, "1s", gpus=8, options=options)
    told = until(lambda: "quota" in (seen := here.status(second))["message"] and seen, "Kueue's words")
    expect((told["status"], told["reason"]) == ("Pending", "queue"), told)
    said = here.why(second)
    expect("quota" in said and "nvidia.com/gpu" in said, said)
    here.call("cancel", "-y", first)
    expect(here.over(second)["status"] == "Complete", here.status(second))


# ---- restarts without a client

def an_evicted_pod_begins_again_by_itself(here):
    job = lasting(here, "20s", retry={"max": 3})
    first = until(lambda: running(here, job, 1), "it runs")
    here.until(job, "Running")
    name = first[0]["metadata"]["name"]
    here.api.post(f"/api/v1/namespaces/{here.namespace}/pods/{name}/eviction", {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": here.namespace}})
    until(lambda: running(here, job, 1, but=first), "a new pod")
    told = until(lambda: (seen := here.status(job))["attempt"] == 2 and seen["status"] == "Running" and seen, "the second attempt")
    expect(told["attempts"][0]["reason"] in ("evicted", "restarted"), told["attempts"])
    expect(here.over(job)["status"] == "Complete" and here.status(job)["attempt"] == 2, here.status(job))


# ---- who asks

def plugin_config(client, life_s):
    """A kubeconfig whose user is spoken for by a program; it notes each of its runs."""
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {
        "token": os.environ["K8S_TOKEN"], "expirationTimestamp": "UNTIL"}}
    runs, script = f"{client.folder}/runs", client.file("plugin", "")
    client.file("plugin", f"#!/bin/sh\necho run >> {runs}\nuntil=$(date -u -d '+{life_s} seconds' +%Y-%m-%dT%H:%M:%SZ)\n"
                       f"sed \"s/UNTIL/$until/\" <<'END'\n{json.dumps(answer)}\nEND\n")
    os.chmod(script, 0o755)
    with open(f"{BED}/kubeconfig-token", encoding="utf-8") as file:
        config = json.load(file)
    config["users"][0]["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": script,
                                           "interactiveMode": "Never"}}
    client.env["KUBECONFIG"] = client.file("kubeconfig", config)
    return lambda: len(open(runs, encoding="utf-8").read().split()) if os.path.exists(runs) else 0


def a_plugin_speaks_once_for_many_calls(here):
    runs = plugin_config(here, 3600)
    job = lasting(here)
    asked = runs()
    expect(1 <= asked <= 2, f"a submit of many calls ran it {asked} times")
    here.until(job, "Running")
    before = runs()
    here.call("status", job)
    expect(runs() - before <= 2, f"a look ran it {runs() - before} times")
    here.call("cancel", "-y", job)


def a_credential_of_a_plugin_is_renewed_when_it_expires(here):
    runs = plugin_config(here, 2)
    job = lasting(here, "8s")
    before = runs()
    here.call("wait", job)
    expect(runs() - before >= 3, f"a credential that is over was used: {runs() - before} runs")


def a_user_without_rights_hears_why(here):
    here.env["KUBECONFIG"] = f"{BED}/kubeconfig-ann"
    done = here.try_submit("true")
    expect(done.returncode not in (0, 69, 70), f"{done.returncode} {done.stderr}")
    expect("forbidden" in done.stderr and '"ann"' in done.stderr and "slipway preflight" in done.stderr, done.stderr)
    expect(not here.jobs() and not here.list("configmaps", selector="slipway.id"), "something was made")
    found = here.call("preflight", "-p", "kubernetes", "--image", "x", check=False)
    expect("create jobs.batch" in found.stdout + found.stderr, found.stdout + found.stderr)


# ---- the watch

def listed(namespace):
    """Lists of ours in this namespace, but for those of one job, whose log is looked for once more at its end."""
    return [row["path"] for row in audited() if row["verb"] == "list" and row["namespace"] == namespace and
            row["agent"].startswith("slipway") and "slipway.id%3D" not in row["path"]]


def with_watcher(client):
    client.env.pop("SLIPWAY_WATCHER", None)
    client.env.pop("CI", None)
    client.env.setdefault("SLIPWAY_LIBEXEC_DIR", os.path.join(os.path.dirname(os.path.dirname(client.program)), "hook"))
    client.env["XDG_RUNTIME_DIR"] = f"{client.folder}/run"
    os.mkdir(f"{client.folder}/run", 0o700)


def stored(client, job):
    return json.loads(client.call("status", job, "--stored", "-o", "json").stdout)


@claims.alone
def a_watcher_hears_of_the_end_without_asking(here):
    with_watcher(here)
    try:
        first = lasting(here, "6s")
        until(lambda: stored(here, first)["status"] == "Running", "the watcher sees it run", 30)
        before = listed(here.namespace)
        until(lambda: stored(here, first)["status"] == "Complete", "the watcher sees its end", 60)
        expect(listed(here.namespace) == before, listed(here.namespace)[len(before):])
        second = lasting(here, "8s")
        until(lambda: stored(here, second)["status"] == "Running", "the second runs", 30)
        control("compact")
        until(lambda: stored(here, second)["status"] == "Complete", "its end is seen after a compaction", 60)
        said = here.call("ps", "-a").stdout
        expect("Running" not in said and "Pending" not in said, said)
    finally:
        here.call("watcher", "stop", check=False)


# ---- what is found again

def a_job_is_adopted_by_its_id_alone(here):
    job = lasting(here, "8s", name="adopted")
    here.until(job, "Running")
    here.env["SLIPWAY_STATE_DIR"] = f"{here.folder}/empty"
    expect(job in here.call("adopt", "--list", "-p", "kubernetes").stdout, "it is not listed")
    here.call("adopt", "-p", "kubernetes", job)
    told = here.status(job)
    expect(told["status"] == "Running" and told["name"] == "adopted", told)
    expect(here.over(job)["status"] == "Complete", here.status(job))


def gc_removes_what_a_lost_record_left(here):
    job = lasting(here, "1s")
    here.over(job)
    here.call("rm", "--forget", "-y", job)
    if not here.jobs():
        return "(rm removed it)"
    found = here.call("gc", "-o", "json").stdout
    expect(job in found, found)
    here.call("gc", "-y")
    until(lambda: not here.jobs() and not [name for name in names(here.list("configmaps")) if name.startswith(job)], "it is gone")
    return None


def gc_leaves_what_another_store_left(here):
    job = lasting(here, "1s")
    here.over(job)
    here.env["SLIPWAY_STATE_DIR"] = f"{here.folder}/empty"
    here.submit("true")                                  # so that this store knows the place
    expect(job in here.call("gc", "-y", "-o", "json").stdout, "it is not listed")
    expect(job in names(here.jobs()), "it was removed")


def gc_removes_helper_pods_whose_client_died(here):
    lasting(here, "1s")                                  # so that this store knows the place
    path = f"/api/v1/namespaces/{here.namespace}/pods"
    for name, steer in (("over", {"slipway.test/run-for": "1s"}), ("at-work", {})):
        here.api.post(path, {"apiVersion": "v1", "kind": "Pod", "metadata": {
            "name": name, "labels": {"slipway.shared": "helper"}, "annotations": steer},
            "spec": {"containers": [{"name": "slipway", "image": "x"}]}})
    until(lambda: here.api.get(f"{path}/over")["status"].get("phase") == "Succeeded", "it is over")
    found = here.json("gc")
    expect("over" in whole(found) and "at-work" not in whole(found), found)
    here.call("gc", "-y")
    until(lambda: names(here.list("pods", selector="slipway.shared=helper")) == ["at-work"], "only that one goes")


def gc_looks_for_caches_as_far_as_it_may(here):
    job = lasting(here, "1s")
    here.over(job)
    here.call("rm", "--forget", "-y", job)
    rules = [{"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["*"]},
             {"apiGroups": [""], "resources": ["pods", "configmaps"], "verbs": ["*"]}]
    place = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{here.namespace}"
    here.api.post(f"{place}/roles", {"metadata": {"name": "some"}, "rules": rules})
    here.api.post(f"{place}/rolebindings", {"metadata": {"name": "some"}, "subjects": [{"kind": "User", "name": "ann"}],
                                            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "some"}})
    user = {"KUBECONFIG": f"{BED}/kubeconfig-ann"}
    found = until(lambda: job in (done := here.call("gc", "--caches", check=False, **user)).stdout and done, "its leftovers")
    expect("slipway-runner-" not in found.stdout, found.stdout)
    here.call("gc", "-y", **user)
    until(lambda: not here.jobs(), "its leftovers go")
    here.call("gc", "--caches", "-y", **user)            # now that no job uses the runner
    until(lambda: not here.list("configmaps", selector="slipway.shared"), "the runner goes")


# ---- pull secrets

def a_pull_secret_is_named_after_its_content(here):
    options = {"annotations": pretend("1s"), "autoscaler": True}
    for key in ("key-of-one-user", "key-of-another", "key-of-one-user"):
        job = here.submit("true", image="nvcr.io/x/y:1", kubernetes=options, env={"NGC_KEY": key})
        pod = here.jobs()[0]["spec"]["template"]["spec"] if len(here.jobs()) == 1 else next(
            one for one in here.jobs() if one["metadata"]["name"] == job)["spec"]["template"]["spec"]
        used = pod["imagePullSecrets"][0]["name"]
        secret = next(one for one in here.list("secrets") if one["metadata"]["name"] == used)
        expect(secret["type"] == "kubernetes.io/dockerconfigjson" and used.startswith("slipway-pull-"), secret)
        config = json.loads(base64.b64decode(secret["data"][".dockerconfigjson"]))
        auth = base64.b64decode(config["auths"]["nvcr.io"]["auth"]).decode()
        expect(auth == f"$oauthtoken:{key}", "another login is in it")
        expect(key not in whole(here.jobs()) + whole(here.list("configmaps")), "the key is shown")
    made = [name for name in names(here.list("secrets")) if name.startswith("slipway-pull-")]
    expect(len(made) == 2, made)
