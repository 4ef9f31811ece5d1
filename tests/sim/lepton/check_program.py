#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_program.py - what the program makes of the answers of Lepton, seen through the program itself.

    ../../docker/engine check_program.py SLIPWAY [CLAIM...]       (with SLIPWAY_RUNNERS)

Most claims need no container: the stand-in says of a job what the claim wants (`say` of its settings). Claims with a
`Running` client have one that runs jobs in the engine that started us.
"""
import json
import os
import pathlib
import sys
import time

sys.dont_write_bytecode = True
from count_requests import Counted  # noqa: E402
from lepton_client import IMAGE, TOKEN  # noqa: E402
from harness import claims  # noqa: E402
from harness.client import FINAL, Client, expect, until  # noqa: E402

AGAIN = {"max": 1, "wait": "1s"}
OLD = 1000                               # seconds: more than lepton.stuck_after
EACH = 4                                 # questions about waiting jobs that one refresh may ask


class Here(Counted):
    def run(self, name="job", **more):
        """The id of a new job."""
        path = self.file(f"{name}.json", {"name": name, "image": "slipway-test:busybox", "command": "true", "platform": "lepton",
                                          **more})
        return self.call("run", "-d", path).stdout.split()[0]

    def refuses(self, *words, **more):
        """The words of a submit that is refused before anything was sent."""
        path = self.file("refused.json", {"name": "refused", "image": "slipway-test:busybox", "command": "true",
                                          "platform": "lepton", **more})
        before = len(self.cloud.requests())
        done = self.call("run", "-d", path, check=False)
        expect(done.returncode != 0 and all(word in done.stderr for word in words), f"{words}: {done.stdout}{done.stderr}")
        expect(not [line for line in self.cloud.requests()[before:] if line[0] == "POST"], "something was sent")

    def sent(self, name=None):
        """The jobs that are there by name, or one of them."""
        listed = self.cloud.get("/jobs", job_query_mode="alive_and_archive")
        jobs = {job["metadata"]["name"]: job for job in (listed["jobs"] if isinstance(listed, dict) else listed)}
        return jobs[name] if name else jobs

    def next_attempt(self, job):
        """Refreshes that act, until the second attempt was sent; returns its job."""
        until(lambda: self.call("watcher", "once", check=False) and (
            f"{job}-2" in self.sent() or self.status(job)["status"] in FINAL), "a second attempt")
        expect(f"{job}-2" in self.sent(), f"it ended: {self.json('why', job)}")
        return self.sent(f"{job}-2")

    def of_replicas(self, *words):
        return [one for one in self.asked(*words) if "/replicas" in one]

    def say(self, job, **said):
        self.settle(say={job: said})

    def settle(self, **settings):
        self.cloud.set(list_delay_ms=0, permissions={"lustre": [{"path_prefix": "/team/me"}]}, **settings)


# ---- failures ----------------------------------------------------------------------------------------

NODE_EVENT = {"node_event_name": "GPUXidError", "message": "Xid 79 on node-1"}


def the_analysis_of_lepton_is_part_of_the_verdict(here):
    job = here.run(retry={"max": 0})
    here.say(job, state="Failed", age=OLD, node="node-1", node_events=[NODE_EVENT], **{"class": "ERR_INFRA"})
    here.over(job)
    why = here.json("why", job)
    expect((why["status"], why["err_class"], why["cause"]) == ("Error", "ERR_INFRA", "gpu"), why)
    expect("GPUXidError: Xid 79 on node-1" in json.dumps(why["evidence"]), why)
    expect("GPUXidError" in here.call("why", job).stdout, "a person does not see it")


def a_failure_of_lepton_itself_is_tried_again(here):
    for said in ({"node_events": [{"node_event_name": "NodeNotReady", "message": ""}]}, {"node_events": []}):
        job = here.run(retry=AGAIN)
        here.say(job, state="Failed", age=OLD, **{"class": "ERR_INFRA"}, **said)
        expect(here.next_attempt(job)["metadata"]["labels"]["slipway.attempt"] == "2", job)


def a_failure_of_the_program_is_not(here):
    job = here.run(retry=AGAIN)
    here.say(job, state="Failed", age=OLD, node_events=[NODE_EVENT], **{"class": "ERR_PROGRAM"})
    expect(here.over(job)["status"] == "Error" and here.json("why", job)["err_class"] == "ERR_PROGRAM", here.json("why", job))
    expect(list(here.sent()) == [job], here.sent().keys())


def without_an_analysis_our_own_rules_decide(here):
    job = here.run(retry={"max": 0})
    here.settle(failure_analysis=False, say={job: {"state": "Failed", "age": OLD, "events": ["OOMKilling"]}})
    here.over(job)
    why = here.json("why", job)
    expect((why["err_class"], why["cause"]) == ("ERR_PROGRAM", "memory"), why)


def an_eviction_from_shared_machines_is_tried_again(here):
    here.env.pop("LEPTON_NODE_GROUP")
    for event in ("Evicted", "Preempted"):
        job = here.run(retry=AGAIN)
        here.say(job, state="Failed", age=OLD, events=["Pulled", event])
        here.next_attempt(job)
        first = here.status(job)["attempts"][0]
        expect(first["reason"] == "preempted", first)


# ---- jobs that wait ----------------------------------------------------------------------------------

def a_job_that_cannot_start_says_why_and_what_to_do(here):
    for reason, message, ours in (("ConfigError", "image pull failed: unauthorized", "image-error"),
                                  ("NoCapacity", "not scheduled", "no-capacity"),
                                  ("ConfigError", "mount point not found: /team/you", "mount"),
                                  ("SystemError", "the node is not healthy", "node-refused")):
        job = here.run()
        here.say(job, state="Starting", age=120, reason=reason, message=message, node="node-1")
        seen = here.status(job)
        expect((seen["status"], seen["reason"]) == ("Pending", ours) and message in seen["message"], seen)
        expect("slipway cancel" not in seen["message"], f"too early: {seen}")
        other = here.run()
        here.say(other, state="Starting", age=OLD, reason=reason, message=message, node="node-1")
        seen = here.status(other)
        expect("'slipway cancel', then 'slipway retry' --avoid-node node-1" in seen["message"], seen)
        expect(message in here.call("why", other).stdout and "slipway cancel" in here.call("why", other).stdout, "why")


def a_job_that_pulls_its_image_is_not_stuck(here):
    for reason, message, ours in (("InProgress", "pulling image", "image"), ("Queueing", "", "queue")):
        job = here.run()
        here.say(job, state="Starting", age=10 * OLD, reason=reason, message=message)
        seen = here.status(job)
        expect(seen["reason"] == ours and "slipway cancel" not in seen["message"], seen)


def a_stuck_job_is_sent_again_elsewhere_where_its_file_says_so(here):
    for reason, message, nodes in (("SystemError", "the node is not healthy", ["node-2"]),
                                   ("ConfigError", "mount point not found", ["node-2"]),
                                   ("ConfigError", "image pull failed", ["node-2"])):
        job = here.run(retry=AGAIN, lepton={"stuck": "resubmit"})
        here.say(job, state="Starting", age=OLD, reason=reason, message=message, node="node-1")
        second = here.next_attempt(job)
        expect(second["spec"]["affinity"]["allowed_nodes_in_node_group"] == nodes, second["spec"]["affinity"])
        expect(here.sent(job)["status"]["state"] == "Stopped", "the first one still waits")
        attempts = here.status(job)["attempts"]
        expect(len(attempts) >= 1 and attempts[0]["node"] == "node-1", attempts)


def without_capacity_there_is_no_node_to_avoid(here):
    job = here.run(retry=AGAIN, lepton={"stuck": "resubmit"})
    here.say(job, state="Queueing", age=OLD, reason="NoCapacity", message="not scheduled")
    expect("allowed_nodes_in_node_group" not in here.next_attempt(job)["spec"]["affinity"], "nodes")


def nodes_that_a_job_names_are_kept_but_for_the_bad_one(here):
    here.settle(groups=[{"id": "grp-h100-a1b2", "name": "h100", "quota_enabled": False, "reservations": [], "volumes": [],
                         "nodes": {"node-1": 1, "node-2": 1, "node-3": 1}}])
    job = here.run(retry=AGAIN, lepton={"stuck": "resubmit", "allowed_nodes": ["node-1", "node-3"]})
    before = json.loads((here.cloud.folder / "settings.json").read_text())
    here.cloud.set(**{**before, "say": {job: {"state": "Starting", "age": OLD, "reason": "SystemError", "node": "node-1"}}})
    expect(here.next_attempt(job)["spec"]["affinity"]["allowed_nodes_in_node_group"] == ["node-3"], "nodes")


def only_a_few_waiting_jobs_are_asked_about_and_each_one_seldom(here):
    many = 10
    jobs = [here.run(f"job{i}") for i in range(many)]
    expect(here.of_replicas("ps", "--all") == [], "a job that waits for a moment was asked about")
    here.settle(say={"*": {"state": "Starting", "age": 120, "reason": "ConfigError", "message": "mount point not found"}})
    rounds = [here.of_replicas("ps", "--all") for _ in range(5)]
    expect([len(one) for one in rounds] == [EACH, EACH, many - 2 * EACH, 0, 0], rounds)
    expect(len(set(sum(rounds, []))) == many, "one was asked about twice")
    seen = {job["id"]: job["reason"] for job in here.json("ps", "--all")["jobs"]}
    expect(seen == dict.fromkeys(jobs, "mount"), f"an answer was forgotten: {seen}")
    here.settle(say={"*": {"state": "Restarting", "age": 120, "reason": "InProgress", "message": "pulling image"}})
    expect(len(here.of_replicas("ps", "--all")) == EACH, "their state is another one, and none was asked about")
    return f"{many} jobs: {[len(one) for one in rounds]} requests"


# ---- stop from elsewhere -----------------------------------------------------------------------------

def elsewhere(here, job):
    """Another machine of the same user, which knows the job by its id."""
    other = Client(here.program, os.path.join(here.folder, "elsewhere"),
                   **{name: value for name, value in here.env.items() if name.startswith(("LEPTON_", "SLIPWAY_W", "SLIPWAY_R"))})
    other.call("adopt", "-p", "lepton", job)
    return other


def a_job_that_was_canceled_is_canceled_on_every_machine(here):
    job = here.run()
    other = elsewhere(here, job)
    here.call("cancel", job)
    expect(here.over(job)["status"] == "Canceled" and other.over(job)["status"] == "Canceled", other.status(job))
    labels = here.sent(job)["metadata"]["labels"]
    expect(labels["slipway.id"] == job and labels["slipway.stopped"] == "canceled", labels)


def a_service_that_takes_no_label_with_a_stop_stops_the_job(here):
    job = here.run()
    here.settle(patch_labels=False)
    other = elsewhere(here, job)
    here.call("cancel", job)
    expect(here.over(job)["status"] == "Canceled" and other.status(job)["status"] == "Paused", other.status(job))


# ---- who asks ----------------------------------------------------------------------------------------

def token_row(client, **env):
    report = json.loads(client.call("preflight", "-p", "lepton", "--image", IMAGE, "-o", "json", "--", "true", check=False, **env).stdout)
    rows = report["checks"] if isinstance(report, dict) else report
    return next(row for row in rows if row["check"] == "token"), rows


def the_token_comes_from_variables_alone_or_with_the_workspace(here):
    soon = int(time.time() + 5.5 * 3600) * 1000
    here.settle(tokens=[{"value": TOKEN, "expires_at": soon}, {"value": "to-an-old-one-te", "expires_at": 1}])
    for env in ({}, {"LEPTON_WORKSPACE_TOKEN": f"wsp1:{TOKEN}"}, {"LEPTON_WORKSPACE_TOKEN": "", "LEPTON_AUTH_TOKEN": TOKEN},
                {"LEPTON_WORKSPACE_TOKEN": f"wsp1:{TOKEN}", "LEPTON_WORKSPACE_ID": ""}):
        row, rows = token_row(here, **env)
        expect(row["ok"] and "expires in 5h" in row["message"], (env, rows))


def a_clock_that_is_an_hour_ahead_is_named(here):
    for ahead, ok in ((0, True), (3600, False)):
        here.settle(clock_ahead_s=ahead)
        row = next(row for row in token_row(here)[1] if row["check"] == "clock")
        expect(row["ok"] is ok and ("ahead of this machine" in row["message"]) is not ok, row)


def the_saved_login_of_the_official_client_is_read_and_never_written(here):
    url = here.env.pop("LEPTON_WORKSPACE_URL")
    for name in ("LEPTON_WORKSPACE_ID", "LEPTON_WORKSPACE_TOKEN"):
        here.env.pop(name)
    soon = int(time.time() + 5.5 * 3600) * 1000
    here.settle(tokens=[{"value": TOKEN, "expires_at": soon}])
    for folder, env in ((".cache/lepton", {}), ("moved", {"LEPTON_CACHE_DIR": os.path.join(here.folder, "moved")})):
        path = pathlib.Path(here.file(f"{folder}/workspace_info.yaml", (
            f"workspaces:\n  wsp1:\n    id: wsp1\n    url: {url}\n    display_name: Mine\n    auth_token: {TOKEN}\n"
            f"    token_expires_at: {soon}\ncurrent_workspace: wsp1\n")))
        path.chmod(0o400)
        before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(os.listdir(path.parent)))
        row, rows = token_row(here, **env)
        expect(row["ok"] and "expires in 5h" in row["message"], rows)
        expect(before == (path.read_bytes(), path.stat().st_mtime_ns, sorted(os.listdir(path.parent))), "it was written")
        path.unlink()


# ---- machines and volumes ----------------------------------------------------------------------------

TWO_GROUPS = [
    {"id": "grp-a", "name": "small", "quota_enabled": False, "nodes": {"a-1": 1}, "reservations": [],
     "volumes": [{"name": "lustre", "from": "nfs"}], "shapes": ["cpu.tiny", "cpu.large", "gpu.1xh100-sxm"]},
    {"id": "grp-b", "name": "large", "quota_enabled": False, "nodes": {"b-1": 8, "b-2": 8}, "reservations": [],
     "volumes": [{"name": "data-filestore", "from": "nfs"}], "shapes": ["cpu.small", "gpu.8xh100-sxm"]}]


def a_node_group_is_never_silently_another_one(here):
    here.env.pop("LEPTON_NODE_GROUP")
    here.settle(groups=TWO_GROUPS)
    here.refuses("no shape with 8 GPUs", "gpu.1xh100-sxm", gpus=8, lepton={"node_group": "small"})
    here.refuses("no node group 'lar'", "small, large", gpus=8, lepton={"node_group": "lar"})
    for group, wanted, more, shape in (("large", "grp-b", {"gpus": 8}, "gpu.8xh100-sxm"), ("grp-a", "grp-a", {"gpus": 1}, "gpu.1xh100-sxm"),
                                       ("small", "grp-a", {}, "cpu.tiny"), ("small", "grp-a", {"cpus": 4}, "cpu.large"),
                                       ("large", "grp-b", {"memory": "1GiB"}, "cpu.small")):
        spec = here.sent(here.run(**more, lepton={"node_group": group, "volumes": {}}))["spec"]
        expect(spec["affinity"] == {"allowed_dedicated_node_groups": [wanted]} and spec["resource_shape"] == shape, spec["resource_shape"])
    spec = here.sent(here.run(lepton={"node_group": "large"}))["spec"]
    expect(spec["mounts"][0]["from"] == "node-nfs:data-filestore", spec["mounts"])


def a_quota_and_a_workspace_without_shared_machines_are_respected(here):
    here.env.pop("LEPTON_NODE_GROUP")
    here.settle(quota=4)
    here.refuses("quota is 4", gpus=8)
    here.settle(dedicated_only=True)
    for remembered in pathlib.Path(here.folder).rglob(".facts-*"):
        remembered.unlink()
    here.refuses("no shared machines", "inventory", gpus=1)


def mounts_stay_within_what_is_permitted(here):
    here.cloud.set(list_delay_ms=0, permissions={"lustre": [{"path_prefix": "/bob", "allowed_users": ["bob@example.com"]},
                                                             {"path_prefix": "/team/me"}]})
    for source in ("lustre/team", "lustre/team/menace", "lustre/team/me/../you", "/other"):
        here.refuses("may not be mounted", "/team/me", lepton={"volumes": {"/data": source}})
    here.refuses("no volume 'guess'", lepton={"volumes": {"/data": "guess/x"}})
    for volumes, path in ((None, "/team/me"), ({"/data": "lustre/team/me/deep"}, "/team/me/deep"), ({"/data": "/team/me"}, "/team/me")):
        spec = here.sent(here.run(lepton={"volumes": volumes} if volumes else {}))["spec"]
        expect([mount["path"] for mount in spec["mounts"]] == [path], spec["mounts"])


def the_inventory_shows_machines_volumes_and_who_may_use_them(here):
    here.settle(groups=TWO_GROUPS)
    here.cloud.set(groups=TWO_GROUPS, permissions={"lustre": [{"path_prefix": "/team/me"}, {"path_prefix": "/all"}]}, unschedulable=["b-2"])
    text, found = here.call("inventory", "lepton").stdout, here.json("inventory", "lepton")
    found = found["inventory"]
    groups = {group["id"]: group for group in found["node_groups"]}
    expect((groups["grp-b"]["gpus_total"], groups["grp-b"]["gpus_free"], groups["grp-a"]["gpus_free"]) == (16, 8, 1), groups)
    volumes = {volume["volume"]: volume for volume in found["volumes"]}
    expect(volumes["lustre"]["permitted"] == ["/team/me", "/all"] and volumes["lustre"]["node_group"] == "grp-a", volumes)
    expect("data-filestore" in volumes and {"cpu.tiny", "gpu.8xh100-sxm"} <= {shape["shape"] for shape in found["shapes"]}, found)
    for word in ("large", "gpu.8xh100-sxm", "data-filestore", "/team/me"):
        expect(word in text, f"{word} is not in\n{text}")


# ---- logins for images -------------------------------------------------------------------------------

NVCR = "nvcr.io/nvidia/pytorch:25.08-py3"


def a_pull_secret_is_found_by_its_name_or_its_id(here):
    here.settle(pull_secrets={"team-nvcr": "ips-7f3a"})
    for given in ("team-nvcr", "ips-7f3a"):
        spec = here.sent(here.run(image=NVCR, lepton={"image_pull_secret": given}))["spec"]
        expect(spec["image_pull_secrets"] == ["team-nvcr"], spec["image_pull_secrets"])
    here.refuses("no pull secret 'guess'", image=NVCR, lepton={"image_pull_secret": "guess"})


def a_pull_secret_is_made_of_the_key_and_a_new_key_takes_its_place(here):
    def made(key):
        here.env["NGC_KEY"] = key
        before = len(here.cloud.requests())
        name = here.sent(here.run(image=NVCR))["spec"]["image_pull_secrets"]
        changes = [(method, path.rsplit("/", 1)[0 if method == "POST" else 1]) for method, path, _ in here.cloud.requests()[before:]
                   if "imagepullsecrets" in path and method != "GET"]
        there = [one["metadata"]["name"] for one in here.cloud.get("/imagepullsecrets")]
        expect(there == name, f"there are {there}, and the job uses {name}")
        return name[0], [method for method, _ in changes]
    first, changes = made("key-of-the-first-day")
    expect(changes == ["POST"], changes)
    expect(made("key-of-the-first-day") == (first, []), "the same key was sent twice")
    second, changes = made("key-of-the-next-day")
    expect(second != first and changes == ["DELETE", "POST"], (first, second, changes))
    kept = json.loads((here.cloud.folder / "pulls" / f"{second}.json").read_text())["spec"]
    expect((kept["registry_server"], kept["username"], kept["password"]) == ("https://nvcr.io", "$oauthtoken", "key-of-the-next-day"), "it")
    found = [path for path in pathlib.Path(here.folder).rglob("*") if path.is_file() and b"key-of-the" in path.read_bytes()]
    expect(not found and "key-of-the" not in json.dumps(here.sent()), f"the key is in {found}, or in a job")


# ---- jobs that really run ----------------------------------------------------------------------------

class Running(Here):
    engine = os.environ.get("DOCKER_HOST", "unix://")[len("unix://"):]

    def run(self, name="job", **more):
        return super().run(name, **{"image": IMAGE, **more})


def the_log_has_every_run_of_a_job_once_and_in_order(running):
    here = running
    job = here.run(command='echo "first line"; while [ ! -e /mnt/lustre/go ]; do sleep 0.1; done; echo "last line"', lepton={
        "volumes": {"/mnt/lustre": "lustre/team/me"}})
    remote = until(lambda: here.sent().get(job), "the job")["metadata"]["id"]
    until(lambda: "first line" in here.log(job), "its first line")
    here.cloud.ask("PATCH", f"/jobs/{remote}", {"spec": {"stopped": True}})
    here.cloud.reach(remote, "Stopped")
    here.until(job, "Paused")
    here.cloud.ask("PATCH", f"/jobs/{remote}", {"spec": {"stopped": False}})
    here.until(job, "Running")
    (here.cloud.folder / "volumes/lustre/team/me/go").touch()
    expect(here.over(job)["status"] == "Complete", here.status(job))
    lines = [line for line in here.log(job).splitlines() if line.endswith(" line")]
    expect(lines == ["first line", "first line", "last line"], here.log(job))
    expect([line for line in here.cloud.requests() if "job_history_name=" in line[1]], "the first run was not asked for by its name")


def a_job_whose_machine_was_taken_back_is_tried_again(running):
    here = running
    here.env.pop("LEPTON_NODE_GROUP")
    job = here.run(command="trap 'exit 143' TERM; echo up; while :; do sleep 0.1 & wait; done", retry=AGAIN)
    until(lambda: "up" in here.log(job), "its first line")
    here.settle(evict=[job])
    here.next_attempt(job)
    first = here.status(job)["attempts"][0]
    expect(first["reason"] == "preempted", first)
    here.call("cancel", job)


def make_running(program):
    here = Running(program)
    (here.cloud.folder / "volumes/lustre/team/me").mkdir(parents=True)
    return here


if __name__ == "__main__":
    program, *words = sys.argv[1:]
    held = [claims.prove_all(found, lambda: make(program), 2)
            for found, make in ((claims.chosen(claims.claims_in(globals()), words), Here),
                                (claims.chosen(claims.claims_in(globals(), "running"), words), make_running)) if found]
    sys.exit(0 if held and all(held) else 1)
