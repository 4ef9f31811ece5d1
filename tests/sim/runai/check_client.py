#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_client.py - the program against the stand-in for run:ai: each way to a log, pauses, refusals, volumes.

    tests/docker/engine --host bucket.test=192.0.2.1 check_client.py SLIPWAY [CLAIM...]       (with SLIPWAY_RUNNERS)

What the contract suite asks of every platform is not asked again here.
"""
import base64
import json
import os
import pathlib
import random
import re
import sys
import tempfile
import urllib.parse

sys.dont_write_bytecode = True
import api_client  # noqa: E402
import held_bucket  # noqa: E402
from harness import claims  # noqa: E402
from harness.client import Client, Gate, expect, until  # noqa: E402

IMAGE, FOLDER = os.environ["SLIPWAY_TEST_IMAGE"], os.environ["SLIPWAY_TEST_ENGINE"]
SOCKET = os.environ["DOCKER_HOST"].removeprefix("unix://")
KUBECONFIG = """apiVersion: v1
kind: Config
current-context: suite
clusters: [{name: c, cluster: {server: "http://127.0.0.1:%d"}}]
users: [{name: u, user: {token: a-user-of-the-cluster}}]
contexts: [{name: suite, context: {cluster: c, user: u, namespace: other}}]
"""


class Listing(held_bucket.Handler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        asked = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        if "list-type" not in asked:
            return self.do_HEAD()
        start = path.rstrip("/") + "/"
        found = [(name[len(start):], body) for name, body in sorted(self.server.objects.items())
                 if name.startswith(start + asked.get("prefix", ""))]
        return self.answer(200, ("<ListBucketResult><IsTruncated>false</IsTruncated>" + "".join(
            f"<Contents><Key>{name}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;{len(body)}&quot;"
            f"</ETag><Size>{len(body)}</Size></Contents>" for name, body in found) + "</ListBucketResult>").encode())


class RunAI(Client):
    """`kube`: the program knows the address of the cluster's Kubernetes API."""
    def __init__(self, program, engine=SOCKET):
        super().__init__(program, tempfile.mkdtemp(dir=FOLDER), SLIPWAY_WATCHER="off", RUNAI_PROJECT="suite",
                         RUNAI_CLIENT_ID="client-of-the-suite", RUNAI_CLIENT_SECRET="secret-of-the-suite")
        os.chmod(self.folder, 0o755)
        self.cloud = api_client.Client(engine)
        self.url = f"http://127.0.0.1:{self.cloud.port}"
        self.bucket = held_bucket.Bucket("192.0.2.1")
        self.bucket.RequestHandlerClass = Listing
        self.bucket.released.set()
        self.env.update(RUNAI_BASE_URL=self.url, AWS_ACCESS_KEY_ID="key", AWS_SECRET_ACCESS_KEY="cny/7be0+k=",
                        AWS_REGION="here", AWS_ENDPOINT_URL=self.bucket.endpoint)
        for name in ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "AWS_CA_BUNDLE", "KUBECONFIG"):
            self.env.pop(name, None)

    def close(self):
        self.cloud.close()
        self.bucket.__exit__()
        super().close()

    def explain(self):
        logs = "".join(path.read_text(errors="replace")[-3000:] for path in sorted(self.cloud.folder.glob("runs/*/*.log")))
        return self.cloud.explain() + logs + "\n".join(" ".join(line)[:160] for line in self.cloud.requests()[-30:]) + "\n" + \
            "\n".join(f"{name}: {data[:600]}" for name, data in sorted(self.bucket.objects.items()))

    def job(self, command, runai=None, **more):
        return self.file("job.json", {"name": "suite", "platform": "runai", "image": IMAGE, "command": command,
                                      "retry": {"max": 0}, "runai": runai or {}, **more})

    def submit(self, command, runai=None, **more):
        return self.call("run", "-d", self.job(command, runai, **more)).stdout.split()[0]

    def refused(self, *words, runai=None, command="true", **more):
        done = self.call("run", "-d", self.job(command, runai, **more), check=False)
        expect(done.returncode != 0 and all(word in done.stderr for word in words), f"{words}: {done.stderr}")

    def body(self):
        [path] = (self.cloud.folder / "bodies").iterdir()
        return json.loads(path.read_text())

    def shown(self):
        return self.cloud.get("/api/v1/workloads")["workloads"][0]

    def phase(self, *phases):
        return until(lambda: self.shown()["phase"] in phases, f"{phases}")

    def gate(self):
        """(gate, volumes of a job that waits at it)"""
        folder = os.path.join(self.folder, "gates")
        os.makedirs(folder, exist_ok=True)
        return Gate(folder), {folder: folder}

    def said(self, job, *words):
        """The log of a job without the runner's own lines."""
        return re.sub(r"(?m)^slipway: .*\n", "", self.call("logs", *words, job).stdout)

    def batches(self):
        return [line for line in self.cloud.requests() if line[1] == "/api/v1/workloads/batch"]


STORED = {"outputs": {"/out": {"to": "s3://bucket/{id}/"}}}


# ---- the ways to a log ----------------------------------------------------------------------------------

def a_kubeconfig_leads_to_the_log_and_the_exit_code(here):
    here.cloud.set(kube_trusts=False, kube_tokens=["a-user-of-the-cluster"])
    path = here.file("kubeconfig", KUBECONFIG % here.cloud.port)
    os.chmod(path, 0o600)
    job = here.submit("echo one; echo two; exit 3", {"kubeconfig": path})
    seen = here.over(job)
    expect((seen["status"], seen["exit_code"]) == ("Error", 3), seen)
    expect(here.log(job) == "one\ntwo\n", here.log(job))
    expect(not [line for line in here.cloud.requests() if line[2] == "401"], "run:ai's token was tried")


def the_cluster_api_shows_the_log_of_a_job_that_runs(here):
    for settings in ({"frames": "text"}, {"frames": "binary"}, {"log_query": False}):
        here.cloud.set(kube_trusts=False, **settings)
        gate, volumes = here.gate()
        job = here.submit(f"echo one; echo two; {gate.wait}; exit 3", {"volumes": volumes,
                                                                       "kube_apiserver_url": here.url})
        here.until(job, "Running")
        until(lambda: here.call("logs", job, check=False).stdout == "one\ntwo\n", f"{settings}: {here.call('logs', job, check=False)}")
        gate.open()
        seen = here.over(job)
        expect((seen["status"], seen["exit_code"]) == ("Error", None), seen)
        expect(here.call("logs", job, check=False).stdout.startswith("one\ntwo\n"), "the copy is lost")


def the_results_store_has_the_log_and_the_exit_code(here):
    here.cloud.set(kube_trusts=False, domain="127.0.0.1:1")
    gate, volumes = here.gate()
    job = here.submit(f"echo one; {gate.wait}; printf 'two\\nthree\\n'; exit 3",
                      {"volumes": volumes, "kube_apiserver_url": here.url}, **STORED)
    here.until(job, "Running")
    until(lambda: here.said(job) == "one\n", "the first line while it runs")
    gate.open()
    seen = here.over(job)
    expect((seen["status"], seen["exit_code"]) == ("Error", 3), seen)
    expect(here.said(job) == "one\ntwo\nthree\n", repr(here.log(job)))
    expect(here.said(job, "--tail", "2") == "three\n", repr(here.said(job, "--tail", "2")))
    pieces = [name for name in here.bucket.objects if f"/.slipway/{job}/attempt-1/rank-0/" in name]
    expect(len([name for name in pieces if re.search(r"/\d{10}-\d{8}$", name)]) >= 2, pieces)
    here.call("rm", job)


def a_job_that_cannot_begin_says_why_through_the_store(here):
    here.cloud.set(domain="127.0.0.1:1")
    job = here.submit("true", inputs={"/data/x": "s3://bucket/not-there"}, **STORED)
    seen = here.over(job)
    expect(seen["status"] == "Error" and seen["exit_code"] == 74 and "not-there" in (seen["message"] or ""), seen)


def every_rank_has_its_log_in_the_store(here):
    here.cloud.set(domain="127.0.0.1:1")
    job = here.submit("echo rank $NODE_RANK; exit $NODE_RANK", nodes=2, **STORED)
    seen = here.over(job)
    expect((seen["status"], seen["exit_code"]) == ("Error", 1), seen)
    for rank in (0, 1):
        expect(here.said(job, "--rank", str(rank)) == f"rank {rank}\n", f"rank {rank}")


def a_canceled_job_gets_its_signal_and_keeps_its_log_in_the_store(here):
    here.cloud.set(domain="127.0.0.1:1")
    job = here.submit("trap 'echo stopped; exit 0' TERM; echo begun; while :; do sleep 0.1; done 2>/dev/null", **STORED)
    here.until(job, "Running")
    until(lambda: here.said(job) == "begun\n", "it runs")
    here.call("cancel", job)
    expect(here.status(job)["status"] == "Canceled", here.status(job))
    expect(here.said(job).startswith("begun\nstopped\n"), repr(here.log(job)))


def without_any_way_a_job_still_ends_and_its_log_is_asked_for_in_vain(here):
    here.cloud.set(domain="127.0.0.1:1")
    job = here.submit("exit 3")
    seen = here.over(job)
    expect((seen["status"], seen["exit_code"]) == ("Error", None), seen)
    done = here.call("logs", job, check=False)
    expect(done.returncode != 0 and "runai.kubeconfig" in done.stderr, done.stderr)


def a_job_whose_log_kubernetes_shows_brings_none(here):
    here.submit("true", {"kube_apiserver_url": here.url}, **STORED)
    names = [one["name"] for one in here.body()["spec"]["environmentVariables"]]
    expect("SLIPWAY_LOG" not in names, names)


# ---- pauses ---------------------------------------------------------------------------------------------

def a_suspended_job_is_paused_and_a_retry_resumes_it(here):
    gate, volumes = here.gate()
    job = here.submit(gate.wait, {"volumes": volumes, "kube_apiserver_url": here.url})
    here.until(job, "Running")
    here.cloud.ask("POST", f"/api/v1/workloads/trainings/{here.shown()['id']}/suspend")
    here.until(job, "Paused")
    here.phase("Stopped")
    expect("slipway retry" in here.status(job)["message"], here.status(job))
    here.call("retry", job)
    expect(len(here.batches()) == 1, "the batch route resumes it")
    here.until(job, "Running")
    gate.open()
    seen = here.over(job)
    expect((seen["status"], seen["attempt"]) == ("Complete", 1), seen)


def a_paused_job_can_be_canceled(here):
    job = here.submit("sleep 100", {"kube_apiserver_url": here.url})
    here.until(job, "Running")
    here.cloud.ask("POST", f"/api/v1/workloads/trainings/{here.shown()['id']}/suspend")
    here.until(job, "Paused")
    here.call("cancel", job)
    expect(here.status(job)["status"] == "Canceled", here.status(job))


# ---- args, volumes --------------------------------------------------------------------------------------

def args_are_split_in_either_way(here):
    for way in ("shell", "spaces"):
        here.cloud.set(split=way)
        job = here.submit("echo \"it's  $0\"; exit 3", {"kube_apiserver_url": here.url})
        seen = here.over(job)
        expect((seen["status"], seen["exit_code"]) == ("Error", 3), f"{way}: {seen}")
        expect(here.log(job).startswith("it's  "), here.log(job))


def results_of_a_user_who_may_not_write_to_the_root_are_in_the_volume(here):
    volume = pathlib.Path(here.folder, "volume")
    volume.mkdir()
    volume.chmod(0o777)
    options = {"volumes": {"/results": str(volume)}, "security": {"runAsUid": 1000, "runAsGid": 1000},
               "kube_apiserver_url": here.url}
    job = here.submit("echo kept > $SLIPWAY_RESULTS_DIR/a; echo also > {results_dir}/b", options, outputs={"/results": {}})
    expect(here.over(job)["status"] == "Complete", here.status(job))
    expect((volume / job / "a").read_text() == "kept\n" and (volume / job / "b").read_text() == "also\n", "its files")
    job = here.submit("echo lost > /results/a", options)
    seen = here.over(job)
    expect(seen["status"] == "Error" and "/results cannot lead to" in here.log(job), (seen, here.log(job)))


def the_root_finds_its_results_at_both_places(here):
    volume = pathlib.Path(here.folder, "volume")
    volume.mkdir()
    job = here.submit("echo kept > /results/a; cat $SLIPWAY_RESULTS_DIR/a", {
        "volumes": {"/results": str(volume)}, "kube_apiserver_url": here.url})
    expect(here.over(job)["status"] == "Complete" and (volume / job / "a").read_text() == "kept\n", here.status(job))


def a_claim_and_an_export_are_mounted(here):
    for name in ("claim", "export"):
        (pathlib.Path(here.folder) / name).mkdir()
        (pathlib.Path(here.folder) / name / "file").write_text(name)
    here.cloud.set(claims={"team": f"{here.folder}/claim"}, exports={"nfs.test:/a": f"{here.folder}/export"})
    job = here.submit("cat /data/file /nfs/file; ! touch /nfs/x", {
        "volumes": {"/data": "pvc:team", "/nfs": {"source": "nfs:nfs.test:/a", "read_only": True}},
        "kube_apiserver_url": here.url})
    expect(here.over(job)["status"] == "Complete" and here.log(job).startswith("claimexport"), here.log(job))


def an_image_that_cannot_be_pulled_is_named(here):
    job = here.submit("true", image="registry.test/not-there:1")
    seen = until(lambda: (now := here.status(job))["reason"] == "image-error" and now, here.status(job))
    expect(seen["status"] == "Pending" and "not-there" in seen["message"], seen)
    here.call("cancel", job)


# ---- claims about what is sent and said; jobs that wait for ever are enough --------------------------------

def no_gpu_is_said_and_a_policy_gives_none(here):
    here.cloud.set(policy_gpus=9)
    here.submit("true", gpus=0)
    expect(here.body()["spec"]["compute"]["gpuDevicesRequest"] == 0, here.body()["spec"]["compute"])


def refusals_of_the_service_reach_the_user(here):
    here.cloud.set(forbidden={"priorityClass": "is set by the administrator"})
    here.refused("is set by the administrator", "runai.priority", runai={"priority": "high"})
    here.cloud.set(pools=["default", "h100"])
    here.refused("there is no node pool a100", "runai.node_pools", runai={"node_pools": ["a100"]})
    here.env["RUNAI_CLIENT_SECRET"] = "another"
    here.refused("Invalid client or Invalid client credentials", "client-of-the-suite")
    here.env["RUNAI_CLIENT_SECRET"] = "secret-of-the-suite"
    here.env["RUNAI_PROJECT"] = "other"
    here.refused("sees no project 'other'")
    expect(here.cloud.get("/api/v1/workloads")["workloads"] == [], "something was made")


def what_is_too_long_is_named(here):
    here.refused("dgxcloud_max_args_chars", "the workload's args have 16 characters; 10 are allowed",
                 runai={"dgxcloud_max_args_chars": 10})
    here.refused("env.LONG", "9001", env={"LONG": "x" * 9001})
    here.file("code/big", base64.b64encode(random.Random(1).randbytes(1 << 20)).decode())
    here.refused("too large to send to run:ai", "code", code={"root": "code"})


def certificates_that_do_not_fit_stay_here_with_a_warning(here):
    random_bytes = random.Random(2).randbytes
    here.env["SSL_CERT_FILE"] = here.file("ca.pem", "".join(
        f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(random_bytes(1200)).decode()}-----END CERTIFICATE-----\n"
        for _ in range(560)))
    done = here.call("run", "-d", here.job("true", **STORED))
    expect("SSL_CERT_FILE" in done.stderr and "do not fit" in done.stderr, done.stderr)
    sizes = sum(len(one.get("value") or "") for one in here.body()["spec"]["environmentVariables"])
    expect(sizes < (900 << 10) + 30000, sizes)


def only_its_own_workload_is_adopted(here):
    for status in (409, 400):
        here.cloud.set(duplicate=status)
        here.cloud.fault("lose-answer 1")
        here.submit("true")
    made = [line for line in here.cloud.requests() if line[:2] == ["POST", "/api/v1/workloads/trainings"]]
    expect([line[2] for line in made] == ["202", "409", "202", "400"] or [line[2] for line in made] == ["202", "202"], made)
    expect(len(here.cloud.get("/api/v1/workloads")["workloads"]) == 2, "one for each")


def an_unknown_phase_ends_no_job_and_degraded_goes_on(here):
    job = here.submit("true")
    here.cloud.set(phase="Hibernating")
    until(lambda: here.status(job)["message"] == "run:ai says 'Hibernating'", "the word is shown")
    expect(here.status(job)["status"] == "Pending", here.status(job))
    here.cloud.set(phase="Degraded")
    until(lambda: here.status(job)["status"] == "Running", "Degraded is not the end")


def what_was_deleted_is_not_what_never_was(here):
    job = here.submit("true")
    here.cloud.ask("DELETE", f"/api/v1/workloads/trainings/{here.shown()['id']}")
    seen = here.over(job)
    expect(seen["status"] == "Error" and "deleted in run:ai" in seen["message"], seen)
    expect([line for line in here.cloud.requests() if "deleted=true" in line[1]], "the deleted were not asked for")


def a_quota_is_named(here):
    here.cloud.set(quota=4)
    job = here.submit("true", {"preemptibility": "non-preemptible"}, gpus=8)
    until(lambda: here.status(job)["reason"] == "quota", "the reason")
    expect("more than the project's quota" in here.status(job)["message"], here.status(job))
    found = json.loads(here.call("preflight", here.job("true", {"preemptibility": "non-preemptible"}, gpus=9), "-o", "json",
                                 check=False).stdout)
    expect([row["check"] for row in found["checks"] if row["ok"] is False] == ["quota"], found)


def main():
    program, words = sys.argv[1], sys.argv[2:]
    ran = [a_kubeconfig_leads_to_the_log_and_the_exit_code, the_cluster_api_shows_the_log_of_a_job_that_runs,
           the_results_store_has_the_log_and_the_exit_code, a_job_that_cannot_begin_says_why_through_the_store,
           every_rank_has_its_log_in_the_store, a_canceled_job_gets_its_signal_and_keeps_its_log_in_the_store,
           without_any_way_a_job_still_ends_and_its_log_is_asked_for_in_vain, a_suspended_job_is_paused_and_a_retry_resumes_it,
           a_paused_job_can_be_canceled, args_are_split_in_either_way, an_image_that_cannot_be_pulled_is_named,
           results_of_a_user_who_may_not_write_to_the_root_are_in_the_volume, the_root_finds_its_results_at_both_places,
           a_claim_and_an_export_are_mounted]
    sent = [a_job_whose_log_kubernetes_shows_brings_none, no_gpu_is_said_and_a_policy_gives_none,
            refusals_of_the_service_reach_the_user, what_is_too_long_is_named, only_its_own_workload_is_adopted,
            certificates_that_do_not_fit_stay_here_with_a_warning, an_unknown_phase_ends_no_job_and_degraded_goes_on,
            what_was_deleted_is_not_what_never_was, a_quota_is_named]
    held = [claims.prove_all(found, lambda: RunAI(program, engine))
            for all_of_them, engine in ((ran, SOCKET), (sent, "")) if (found := claims.chosen(all_of_them, words))]
    return 0 if held and all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
