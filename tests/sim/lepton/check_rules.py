#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_rules.py - what the stand-in for Lepton refuses, and what its answers look like; no container is needed.

    check_rules.py [CLAIM...]
"""
import http.client
import json
import sys
import time

sys.dont_write_bytecode = True
from lepton_client import BASE, GROUP, TOKEN, Client, body  # noqa: E402
from harness import claims  # noqa: E402
from harness.client import expect, until  # noqa: E402

NS = 10**9


# ---- who asks, and how ------------------------------------------------------------------------------

def a_bad_or_expired_token_is_401_and_one_of_another_workspace_403(here):
    later = 4102444800000
    here.set(tokens=[{"value": TOKEN, "expires_at": later}, {"value": "old-token", "expires_at": 1},
                     {"value": "far-token", "expires_at": later, "workspaces": ["other"]}])
    for token, wanted in ((TOKEN, 200), ("old-token", 401), ("far-token", 403), ("guess", 401), (None, 401)):
        status, answer = here.ask("GET", "/workspace", token=token)
        expect(status == wanted and (status == 200 or set(answer) == {"code", "message"}), (token, status, answer))
    expect(here.get("/tokens")[1] == {"masked_value": "ol...en", "expires_at": 1}, here.get("/tokens"))


def another_workspace_is_not_found(here):
    expect(here.say("GET", "/api/v2/workspaces/guess/workspace", None, TOKEN)[0] == 404, "it is there")
    expect("display_name" in here.get(""), "the workspace has no name")


def the_origin_is_needed_where_it_is_configured(here):
    here.set(origin="https://gateway.example")
    here.refused(403, "GET", "/workspace", None, "Origin", code="StatusForbidden")
    for origin, wanted in (("https://gateway.example", 200), ("https://gateway.example/api", 403)):
        status, _, said = here.raw("GET", f"{BASE}/workspace", headers={"Authorization": f"Bearer {TOKEN}", "Origin": origin})
        expect(status == wanted, (origin, status, said))


def headers_and_bodies_must_be_right(here):
    own, typed = {"Authorization": f"Bearer {TOKEN}"}, {"Content-Type": "application/json"}
    for status, method, path, data, more in (
            (415, "POST", "/jobs", "{}", {}), (406, "GET", "/workspace", None, {"Accept": "text/html"}),
            (400, "POST", "/jobs", "{", typed), (400, "POST", "/jobs", '{"metadata":{},"metadata":{}}', typed),
            (422, "POST", "/jobs", "[]", typed), (413, "POST", "/jobs", "x" * (3 << 20) + "x", typed),
            (400, "GET", "/workspace", "{}", typed), (404, "GET", "/guess", None, {}), (405, "PUT", "/jobs", None, {}),
            (400, "GET", "/workspace?guess=1", None, {}), (400, "GET", "/jobs?page=1&page=2", None, {})):
        try:
            got, _, said = here.raw(method, BASE + path, data, {**own, **more})
        except (BrokenPipeError, ConnectionResetError):       # it answered before it had read all
            got, said = 413, b""
        expect(got == status, (path, data and data[:40], got, said))


# ---- bodies -----------------------------------------------------------------------------------------

def refused_field(here, said, field):
    here.refused(422, "POST", "/jobs", said, field, code="ValidationError")


def a_name_has_its_limits(here):
    for name in ("a" * 37, "Upper", "1st", "under_score", "ends-", "dot.ted", "run-by-lepton", ""):
        refused_field(here, body(name), "metadata.")
    refused_field(here, {**body(), "metadata": {}}, "metadata.name")
    refused_field(here, body(metadata={"id": "other"}), "metadata.id")
    for name in ("a" * 36, "a", "train-1"):
        here.create(name)
    for known in ("id", "name"):                     # either of them is enough
        expect(here.ask("POST", "/jobs", {**body(), "metadata": {known: "one-of-them"}})[0] == 200, known)


def labels_have_their_limits(here):
    for labels in ({"team/x": "a"}, {"a" * 64: "a"}, {"-a": "a"}, {"a-": "a"}, {"": "a"}, {"a": "a" * 64}, {"a": "b c"},
                   {"a": 1}, ["a"]):
        refused_field(here, body(metadata={"labels": labels}), "metadata.labels")
    here.create("labels", metadata={"labels": {"a" * 63: "a" * 63, "slipway.id": "x", "empty": ""}})


def variables_have_their_limits(here):
    most = 131072 - 1 - len("A=")
    for env, words in (({"name": "1A", "value": ""}, "name"), ({"name": "A B", "value": ""}, "name"),
                       ({"name": "LEPTON_JOB_NAME", "value": ""}, "reserved"), ({"name": "A"}, "either"),
                       ({"name": "A", "value": "1", "value_from": {"secret_name_ref": "S"}}, "either"),
                       ({"name": "A", "value": 1}, "value"), ({"name": "A", "value": None}, "value"),
                       ({"name": "A", "value": "x" * (most + 1)}, "bytes"), ({"value": "1"}, "name"),
                       ({"name": "A", "value_from": {"guess": "S"}}, "secret_name_ref")):
        refused_field(here, body(envs=[env]), words)
    refused_field(here, body(envs=[{"name": "A", "value": ""}] * 2), "twice")
    refused_field(here, body(envs=[{"name": f"A{i}", "value": "x" * 100000} for i in range(22)]), "more than")
    here.refused(413, "POST", "/jobs", body(envs=[{"name": f"A{i}", "value": "x" * 100000} for i in range(16)]))
    here.create("most", envs=[{"name": "A", "value": "x" * most}])


def a_command_has_its_limits(here):
    for command in ("sh -c true", [], ["x" * 131072], ["sh", 1], ["a\0b"]):
        refused_field(here, body(container={"command": command}), "spec.container.command")
    refused_field(here, body(container={"image": ""}), "spec.container.image")
    refused_field(here, body(container={"args": ["x"]}), "spec.container.args")
    here.create("long", container={"command": ["x" * 131071]})


def unknown_missing_null_and_mistyped_fields_are_refused(here):
    for spec, words in (({"guess": 1}, "spec.guess: is unknown"), ({"completions": "2"}, "spec.completions"),
                        ({"completions": True}, "spec.completions"), ({"completions": 0, "parallelism": 0}, "completions"),
                        ({"completions": 2}, "parallelism"), ({"envs": None}, "spec.envs"), ({"envs": {}}, "spec.envs"),
                        ({"ttl_seconds_after_finished": -1}, "ttl"), ({"ttl_seconds_after_finished": 1.5}, "ttl"),
                        ({"intra_job_communication": "true"}, "intra"), ({"max_failure_retry": -1}, "max_failure_retry"),
                        ({"shared_memory_size": "64"}, "shared_memory_size"), ({"log": {"guess": True}}, "spec.log.guess"),
                        ({"time_schedule": {"start_at": "now"}}, "start_at"), ({"stopped": 1}, "stopped"),
                        ({"resource_shape": "gpu.guess"}, "resource_shape"), ({"resource_shape": None}, "resource_shape")):
        refused_field(here, body(**spec), words)
    without = body()
    del without["spec"]["container"]
    refused_field(here, without, "spec.container: is required")
    refused_field(here, body(metadata={"visibility": "team"}), "metadata.visibility")
    refused_field(here, body(metadata={"owner": "me"}), "metadata.owner: is unknown")
    refused_field(here, body(container={"ports": [{"protocol": "TCP"}]}), "container_port")
    refused_field(here, body(container={"ports": [{"container_port": 65536}]}), "container_port")
    expect(not here.jobs(), "a job that was refused is there")


def what_needs_a_node_group_is_refused_without(here):
    for spec in ({"queue_config": {"priority_class": "mid-4000"}}, {"reservation_config": {"reservation_id": "rsv-1"}},
                 {"mounts": [{"from": "node-nfs:lustre", "mount_path": "/mnt/a"}]},
                 {"affinity": {"allowed_nodes_in_node_group": ["node-1"]}}):
        refused_field(here, body(**spec), next(iter(spec)))
    here.refused(404, "POST", "/jobs", body(affinity={"allowed_dedicated_node_groups": ["guess"]}), "guess")
    group = {"allowed_dedicated_node_groups": [GROUP]}
    for spec, words in (({"affinity": {**group, "allowed_nodes_in_node_group": ["guess"]}}, "allowed_nodes"),
                        ({"affinity": group, "queue_config": {"priority_class": "mid-4500"}}, "priority_class"),
                        ({"affinity": group, "reservation_config": {"reservation_id": "guess"}}, "reservation_id")):
        refused_field(here, body(**spec), words)
    here.create("fine", affinity=group, queue_config={"priority_class": "mid-4000", "can_be_preempted": True},
                reservation_config={"reservation_id": "rsv-1"})
    here.set(groups=[{"id": GROUP, "name": "h100", "quota_enabled": False, "nodes": {}, "volumes": [], "reservations": []}])
    refused_field(here, body(affinity=group, queue_config={"priority_class": "mid-4000"}), "quotas")


def mounts_are_checked(here):
    here.set(permissions={"lustre": [{"path_prefix": "/team/me"}, {"path_prefix": "/other", "allowed_users": ["bob"]}]})
    group = {"allowed_dedicated_node_groups": [GROUP]}

    def job(**mount):
        return body(affinity=group, mounts=[{"from": "node-nfs:lustre", "path": "/team/me", "mount_path": "/mnt/a", **mount}])
    for path in ("/", "/usr", "/usr/", "/usr//lib", "/etc/../etc", "/var"):
        refused_field(here, job(mount_path=path), "mount_path")
    for mount, words in (({"mount_path": "mnt"}, "mount_path"), ({"from": "nfs:lustre"}, "from"), ({"guess": 1}, "guess"),
                         ({"from": "node-local:lustre"}, "from"), ({"mount_options": {"read_only": "yes"}}, "read_only")):
        refused_field(here, job(**mount), words)
    for path in ("/", "/team", "/team/menace", "/other", "/team/me/../you"):
        here.refused(403, "POST", "/jobs", job(path=path), "permission", code="StatusForbidden")
    here.refused(404, "POST", "/jobs", job(**{"from": "node-nfs:guess"}), "guess")
    for path in ("/team/me", "/team/me/", "/team/me/deep"):
        expect(here.ask("POST", "/jobs", job(path=path))[0] == 200, path)
    twice = job()
    twice["spec"]["mounts"] *= 2
    refused_field(here, twice, "twice")
    permissions = here.get("/storage-permission/lustre", nodegroup_id=GROUP)
    expect([one["path_prefix"] for one in permissions] == ["/team/me", "/other"], permissions)
    here.refused(400, "GET", "/storage-permission/lustre", None, "nodegroup_id")
    here.refused(404, "GET", f"/storage-permission/guess?nodegroup_id={GROUP}")


# ---- jobs -------------------------------------------------------------------------------------------

def a_name_is_kept_and_is_no_key(here):
    ids = [here.create("train-1") for _ in range(2)]
    expect(len(set(ids)) == 2 and all(len(job) == len("train-1-cvd5") and job.startswith("train-1-") for job in ids), ids)
    until(lambda: len(here.jobs(q="TRAIN-1", job_query_mode="alive_and_archive")) == 2, "both are listed")
    job = here.get(f"/jobs/{ids[0]}")
    expect(job["metadata"]["name"] == "train-1" and job["status"]["job_name"] == ids[0], job)


def a_new_job_is_missing_from_lists_for_a_moment(here):
    here.set(list_delay_ms=10**9)
    job = here.create("late")
    expect(not here.jobs() and here.get(f"/jobs/{job}"), "it is listed at once")
    here.set(list_delay_ms=100)
    until(lambda: here.jobs() == ["late"], "it is listed")


def lists_have_pages_and_two_shapes(here):
    here.set(list_delay_ms=0)
    for i in range(7):
        here.create(f"job-{i}")
    pages = [here.jobs(page=page, page_size=3) for page in (1, 2, 3, 4)]
    expect([len(page) for page in pages] == [3, 3, 1, 0], pages)
    expect(sum(pages, []) == [f"job-{6 - i}" for i in range(7)], pages)
    shapes = {type(here.get("/jobs")) for _ in range(2)}
    expect(shapes == {dict, list}, shapes)
    for query in ("page=0", "page_size=501", "page_size=0", "page=x", "guess=1", "job_query_mode=archive_and_live"):
        here.refused(400, "GET", f"/jobs?{query}", code="InvalidRequest")


def lists_can_be_narrowed(here):
    here.set(list_delay_ms=0)
    group = {"allowed_dedicated_node_groups": [GROUP]}
    here.create("alpha", metadata={"labels": {"team": "a", "run": "1"}}, affinity=group)
    here.create("beta", metadata={"labels": {"team": "b"}})
    here.create("gamma")
    for query, wanted in (("team", "alpha beta"), ("team=a", "alpha"), ("team!=a", "beta gamma"), ("team in (a,b)", "alpha beta"),
                          ("team in (a,b),run", "alpha"), ("!team", "gamma"), ("team=a,run=2", "")):
        expect(sorted(here.jobs(query=query)) == wanted.split(), (query, here.jobs(query=query)))
    here.refused(400, "GET", "/jobs?query=a%20b")
    expect(here.jobs(q="LPH") == ["alpha"] and here.jobs(q="guess") == [], "q")
    expect(sorted(here.jobs(status=["queue", "start"])) == ["alpha", "beta", "gamma"] and not here.jobs(status="Run"), "status")
    here.refused(400, "GET", "/jobs?status=Run&job_query_mode=alive_and_archive", None, "archived")
    expect(here.jobs(node_groups="h100") == ["alpha"] and len(here.jobs(created_by="ann@example.com")) == 3 and
           not here.jobs(created_by="bob@example.com"), "node_groups, created_by")


def a_job_that_is_not_there_is_404(here):
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/events"), ("GET", "/replicas"), ("GET", "/failure-analysis"),
                         ("GET", "/replicas/guess/log")):
        here.refused(404, method, f"/jobs/guess{path}", code="ResourceNotFound")
    here.refused(404, "PATCH", "/jobs/guess", {"spec": {"stopped": True}})


def only_stopped_can_be_changed_and_only_once(here):
    job = here.create()
    for said in ({"spec": {"stopped": "yes"}}, {"spec": {}}, {"spec": {"stopped": True, "completions": 2}}, {}):
        here.refused(422, "PATCH", f"/jobs/{job}", said)
    here.refused(409, "PATCH", f"/jobs/{job}", {"spec": {"stopped": False}}, code="ResourceConflict")
    expect(here.ask("PATCH", f"/jobs/{job}", {"spec": {"stopped": True}})[0] == 200, "stop")
    here.reach(job, "Stopped")
    here.refused(409, "PATCH", f"/jobs/{job}", {"spec": {"stopped": True}})
    expect(here.ask("PATCH", f"/jobs/{job}", {"spec": {"stopped": False}})[0] == 200, "start again")
    expect(here.ask("DELETE", f"/jobs/{job}")[0] == 200, "delete")
    until(lambda: here.ask("GET", f"/jobs/{job}?job_query_mode=alive_and_archive")[0] == 404, "it is gone")


def labels_that_come_with_a_stop_take_the_place_of_those_there_are(here):
    job = here.create("labels", metadata={"labels": {"a": "1", "b": "2"}})
    stop = {"metadata": {"labels": {"a": "1", "c": "3"}}, "spec": {"stopped": True}}
    for wrong in ({"labels": {"a/b": "1"}}, {"name": "other", "labels": {}}, {}):
        here.refused(422, "PATCH", f"/jobs/{job}", {**stop, "metadata": wrong})
    here.set(patch_labels=False)
    here.refused(422, "PATCH", f"/jobs/{job}", stop, "metadata")
    here.set()
    expect(here.ask("PATCH", f"/jobs/{job}", stop)[0] == 200, "stop")
    expect(here.get(f"/jobs/{job}")["metadata"]["labels"] == {"a": "1", "c": "3"}, "its labels")


def answers_about_a_job_can_be_set(here):
    here.set(say={"stuck": {"state": "Starting", "reason": "ConfigError", "message": "mount point not found"},
                  "evicted": {"state": "Failed", "class": "ERR_INFRA", "node_events": [{"node_event_name": "gone", "message": ""}]}})
    stuck, evicted = here.create("stuck"), here.create("evicted")
    issue = here.get(f"/jobs/{stuck}/replicas")[0]["status"]["readiness_issue"]
    expect(issue["reason"] == "ConfigError" and here.status(stuck)["state"] == "Starting", issue)
    expect(here.get(f"/jobs/{evicted}/failure-analysis")["err_class"] == "ERR_INFRA", "its class")
    here.refused(404, "GET", f"/jobs/{stuck}/failure-analysis")


def a_stopped_workspace_takes_no_jobs(here):
    here.set(state="paused")
    here.refused(403, "POST", "/jobs", body(), "paused")
    expect(here.get("/workspace")["workspace_state"] == "paused", "its state")


# ---- machines and secrets ---------------------------------------------------------------------------

def machines_are_listed(here):
    groups = here.get("/dedicated-node-groups")
    expect(groups[0]["metadata"]["id"] == GROUP and here.get(f"/dedicated-node-groups/{GROUP}") == groups[0], groups)
    expect([volume["name"] for volume in groups[0]["spec"]["volumes"]] == ["lustre", "scratch"], groups)
    nodes = here.get(f"/dedicated-node-groups/{GROUP}/nodes")
    expect([node["spec"]["resource"]["gpu"]["total"] for node in nodes] == [1, 0], nodes)
    shapes = here.get("/shapes", node_groups=GROUP, purpose="job")
    expect({shape["spec"]["node_group_id"] for shape in shapes} == {GROUP}, shapes)
    expect("node_group_id" not in here.get("/shapes")[0]["spec"], "a shape of no group")
    here.refused(404, "GET", "/shapes?node_groups=guess")
    here.refused(400, "GET", "/shapes?purpose=guess")
    expect(here.get(f"/dedicated-node-groups/{GROUP}/reservations")[0]["metadata"]["id"] == "rsv-1", "reservations")


def secrets_are_posted_in_a_list_and_never_shown(here):
    secret = {"name": "NGC_KEY", "value": "very-secret"}
    here.refused(422, "POST", "/usersecrets", secret)
    for wrong in ([], [{"name": "A"}], [{"name": "A B", "value": "x"}], [{**secret, "guess": 1}], [{"name": "A", "value": 1}]):
        here.refused(422, "POST", "/usersecrets", wrong)
    here.refused(400, "POST", "/usersecrets", [{"name": "LEPTON_X", "value": "x"}], "reserved")
    expect(here.ask("POST", "/usersecrets", [secret])[0] == 201, "post")
    here.refused(409, "POST", "/usersecrets", [{"name": "NEW", "value": "x"}, secret], "already", code="ResourceConflict")
    listed = here.get("/usersecrets")
    expect([set(one) for one in listed] == [{"name", "tags", "owner", "visibility"}], listed)
    expect("very-secret" not in (here.folder / "requests").read_text(), "it is in the list of requests")
    expect(here.ask("DELETE", "/usersecrets/NGC_KEY")[0] == 200, "delete")
    here.refused(404, "DELETE", "/usersecrets/NGC_KEY")


def pull_secrets_are_not_put_in_place(here):
    secret = {"metadata": {"name": "nvcr", "id": "nvcr"}, "spec": {"registry_server": "https://nvcr.io", "username": "$oauthtoken",
                                                                  "password": "very-secret"}}
    for wrong in ({**secret, "guess": 1}, {"spec": secret["spec"]}, {**secret, "spec": {"username": "a"}},
                  {**secret, "metadata": {"name": "Upper"}}, {**secret, "spec": {**secret["spec"], "registry_server": "nvcr.io"}}):
        here.refused(422, "POST", "/imagepullsecrets", wrong)
    here.refused(400, "POST", "/jobs", body(image_pull_secrets=["nvcr"]), "nvcr")
    expect(here.ask("POST", "/imagepullsecrets", secret) == (201, ""), "post")
    here.refused(409, "POST", "/imagepullsecrets", secret, code="ResourceConflict")
    expect("very-secret" not in json.dumps(here.get("/imagepullsecrets")), "it is shown")
    here.create("pulls", image_pull_secrets=["nvcr"])
    expect(here.ask("DELETE", "/imagepullsecrets/nvcr")[0] == 200, "delete")
    here.refused(404, "DELETE", "/imagepullsecrets/nvcr")


# ---- logs and faults --------------------------------------------------------------------------------

def questions_for_logs_are_checked(here):
    job, now = here.create(), time.time_ns()
    both = f"start={now - NS}&end={now}"
    for query in ("", both, f"job={job}&job_history_name=x&{both}", f"job={job}&start={now}", f"job={job}&end={now}",
                  f"job={job}&start={now}&end={now}", f"job={job}&start={now}&end={now - 1}", f"job={job}&limit=10",
                  f"job={job}&{both}&limit=10001", f"job={job}&{both}&limit=0", f"job={job}&{both}&direction=up",
                  f"job={job}&start={now // NS}&end={now}", f"job={job}&start={now - 722 * 3600 * NS}&end={now}",
                  f"job={job}&{both}&timestamps=yes", f"job={job}&{both}&guess=1"):
        here.refused(400, "GET", f"/logs?{query}")
    for selector in ("job", "job_history_name", "replica"):
        here.refused(404, "GET", f"/logs?{selector}=guess&{both}")
    expect(here.lines(job=job, start=now - NS, end=now, direction="forward", limit=10, timestamps="true") == [], "lines")


def too_many_questions_are_answered_in_plain_text(here):
    here.set(busy_every=2)
    job = here.create()
    here.get("/logs", job=job)
    status, headers, said = here.raw("GET", f"{BASE}/logs?job={job}", headers={"Authorization": f"Bearer {TOKEN}"})
    expect(status == 429 and headers["Retry-After"] == "1" and headers["Content-Type"] == "text/plain" and
           not said.startswith(b"{"), (status, headers, said))


def faults_are_as_asked_for(here):
    here.set(list_delay_ms=0)
    here.create("there")
    for words, wanted in (("broken 1", (502, "text/html")), ("busy 1 calls", (429, "text/plain"))):
        here.fault(words)
        status, headers, _ = here.raw("GET", f"{BASE}/workspace", headers={"Authorization": f"Bearer {TOKEN}"})
        expect((status, headers["Content-Type"]) == wanted and here.get("/workspace"), words)
    here.fault("not-found-then-found")
    expect([here.jobs(), here.jobs()] == [[], ["there"]], words)
    here.fault("empty-list 2 calls")
    expect([here.jobs(), here.jobs(), here.jobs()] == [[], [], ["there"]], words)
    for words, path, said in (("down 1 calls", "/workspace", None), ("lose-answer", "/jobs", body("lost")), ("cut 1", "/tokens", None)):
        here.fault(words)
        try:
            answer = here.ask("POST" if said else "GET", path, said)
            expect(False, f"{words}: {answer}")
        except (http.client.HTTPException, ConnectionError):
            pass
    here.fault("")
    expect(sorted(here.jobs()) == ["lost", "there"], "what was lost was not done")


def requests_are_counted_without_their_bodies(here):
    here.create("counted", envs=[{"name": "A", "value": "in-the-body"}])
    here.refused(404, "GET", "/jobs/guess?job_query_mode=alive_only")
    expect(here.requests() == [["POST", f"{BASE}/jobs", "200"], ["GET", f"{BASE}/jobs/guess?job_query_mode=alive_only", "404"]],
           here.requests())


def one_that_was_killed_knows_what_it_knew(here):
    here.set(list_delay_ms=0)
    job = here.create("kept")
    here.ask("POST", "/usersecrets", [{"name": "S", "value": "x"}])
    here.kill()
    here.start_again()
    expect(here.jobs() == ["kept"] and here.get(f"/jobs/{job}") and len(here.get("/usersecrets")) == 1, "it does not")


if __name__ == "__main__":
    sys.exit(0 if claims.prove_all(claims.chosen(claims.claims_in(globals()), sys.argv[1:]), Client, 2) else 1)
