#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_rules.py - what the stand-in for run:ai refuses, and what its lists look like; no container is needed.

    check_rules.py [CLAIM...]
"""
import base64
import json
import sys
import time

sys.dont_write_bytecode = True
from api_client import CLIENT, CLUSTER, Client, body  # noqa: E402
from harness import claims  # noqa: E402
from harness.client import expect, until  # noqa: E402


def a_token_is_a_jwt_with_its_end(here):
    for grant in (CLIENT, {"GrantType": "app_token", "AppId": "app-of-the-suite", "appSECRET": "secret-of-the-app"}):
        status, answer = here.ask("POST", "/api/v1/token", grant, None)
        middle = answer["accessToken"].split(".")[1]
        said = json.loads(base64.urlsafe_b64decode(middle + "=="))
        expect(status == 200 and said["exp"] - said["iat"] == answer["expiresIn"] == 3600, answer)
        expect(here.ask("GET", "/api/v1/clusters", token=answer["accessToken"])[0] == 200, "it is not taken")
        expect(here.ask("GET", "/api/v1/clusters", token=answer["refreshToken"])[0] == 401, "a refresh token is taken")


def a_refresh_token_is_good_once(here):
    grant = {"grantType": "refresh_token", "refreshToken": here.ask("POST", "/api/v1/token", CLIENT, None)[1]["refreshToken"]}
    expect(here.ask("POST", "/api/v1/token", grant, None)[0] == 200, "the first time")
    expect(here.ask("POST", "/api/v1/token", grant, None) == (
        401, {"error": "invalid_grant", "error_description": "Token is not active"}), "the second time")


def bad_secrets_are_refused_in_the_words_of_oauth(here):
    for wrong in ({"clientSecret": "guess"}, {"clientID": "other"}, {"clientSecret": ""}):
        status, answer = here.ask("POST", "/api/v1/token", {**CLIENT, **wrong}, None)
        expect(status == 401 and set(answer) == {"error", "error_description"}, (status, answer))


def a_grant_has_its_own_fields_and_no_others(here):
    for wrong in ({**CLIENT, "appID": "x"}, {"grantType": "client_credentials"}, {**CLIENT, "grantType": "guess"},
                  {**CLIENT, "clientSecret": 7}, []):
        expect(here.ask("POST", "/api/v1/token", wrong, None)[0] == 400, wrong)


def an_expired_wrong_or_missing_token_is_refused(here):
    here.set(token_s=1)
    token = here.ask("POST", "/api/v1/token", CLIENT, None)[1]["accessToken"]
    expect(here.ask("GET", "/api/v1/workloads", token=token)[0] == 200, "a fresh one")
    until(lambda: here.ask("GET", "/api/v1/workloads", token=token)[0] != 200, "expired")
    for wrong in (token, token[:-3] + "abc", "guess", "a.b.c", None):
        status, answer = here.ask("GET", "/api/v1/workloads", token=wrong)
        expect(status == 401 and answer["code"] == 401, (wrong, status, answer))


def headers_and_bodies_must_be_right(here):
    here.get("/api/v1/clusters")
    own = {"Authorization": f"Bearer {here.token}"}
    for status, method, path, data, more in (
            (415, "POST", "/api/v1/workloads/trainings", "{}", {}),
            (406, "GET", "/api/v1/clusters", None, {"Accept": "text/html"}),
            (400, "POST", "/api/v1/workloads/trainings", "{", {"Content-Type": "application/json"}),
            (400, "POST", "/api/v1/workloads/trainings", '{"name":"a","name":"b"}', {"Content-Type": "application/json"}),
            (404, "GET", "/api/v1/guess", None, {}), (404, "GET", "/api/v1/workloads/count", None, {}),
            (400, "GET", "/api/v1/clusters?guess=1", None, {})):
        got, _, said = here.raw(method, path, data, {**own, **more})
        expect(got == status, (path, data, got, said))


def a_body_is_taken_only_as_the_table_says(here):
    wrong = [
        (body(name="Upper"), "name"), (body(name="x" * 36), "name"), (body(name="under_score"), "name"),
        ({**body(), "projectId": 4501}, "projectId"), ({**body(), "clusterId": "guess"}, "clusterId"),
        ({**body(), "assets": {}}, "assets"), (body(guess=1), "spec.guess"), (body(image=""), "spec.image"),
        (body(command=["sh"]), "spec.command"), (body(environmentVariables={"A": "1"}), "spec.environmentVariables"),
        (body(environmentVariables=[{"name": "A", "value": 1}]), "spec.environmentVariables[0].value"),
        (body(environmentVariables=[{"name": "A"}]), "exactly one"),
        (body(environmentVariables=[{"name": "A", "value": "1", "secret": {"name": "s", "key": "k"}}]), "exactly one"),
        (body(environmentVariables=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]), "twice"),
        (body(environmentVariables=[{"name": "1A", "value": "1"}]), "name"), (body(labels={"a": "b"}), "spec.labels"),
        (body(compute={"gpuDevicesRequest": "8"}), "gpuDevicesRequest"), (body(compute={"gpuDevicesRequest": -1}), "gpuDevices"),
        (body(compute={"gpuDevicesRequest": 1, "gpuPortionRequest": 0.5}), "gpuRequestType"),
        (body(compute={"gpuDevicesRequest": 1, "gpuRequestType": "portion", "gpuPortionRequest": 2}), "gpuPortionRequest"),
        (body(compute={"cpuMemoryLimit": "20 G"}), "cpuMemoryLimit"), (body(restartPolicy="never"), "restartPolicy"),
        (body(priorityClass="train"), "priorityClass"), (body(storage={"pvc": [{"claimName": "c"}]}), "path"),
        (body(storage={"pvc": [{"path": "/data", "existingPvc": True}]}), "claimName"),
        (body(storage={"hostPath": [{"path": "relative", "mountPath": "/x"}]}), "path"),
        (body(imagePullSecrets=["a"]), "imagePullSecrets"), (body(backoffLimit=None), "backoffLimit"),
        (body(numWorkers=2), "numWorkers"), (body(args=""), "args")]
    for said, word in wrong:
        answer = here.refused(400, "trainings", said, word)
        expect(answer["complianceIssues"][0]["field"] and answer["details"], answer)
    expect(here.get("/api/v1/workloads")["workloads"] == [], "something was made")


def distributed_bodies_have_fields_of_their_own(here):
    good = {"distributedFramework": "PyTorch", "numWorkers": 2, "minReplicas": 2, "maxReplicas": 2}
    for wrong, word in (({"numWorkers": 0}, "numWorkers"), ({"distributedFramework": "Ray"}, "distributedFramework"),
                        ({"minReplicas": 3}, "numWorkers"), ({"distributedFramework": "MPI"}, "PyTorch"),
                        ({"parallelism": 2}, "parallelism"), ({"cleanPodPolicy": "Never"}, "cleanPodPolicy")):
        here.refused(400, "distributed", body(**{**good, **wrong}), word)
    here.refused(400, "distributed", {**body(**good), "masterSpecSameAsWorker": True, "masterSpec": {"image": "x"}}, "masterSpec")
    here.refused(400, "distributed", body(image="x"), "required")
    here.create("distributed", body(**good))


def long_values_are_refused(here):
    for most, said in (("args", {"args": "x" * 10001}), ("value", {"environmentVariables": [{"name": "A", "value": "x" * 10001}]})):
        here.refused(400, "trainings", body(**said), most, "10000")
    here.create("trainings", body(args="x" * 10000, environmentVariables=[{"name": "A", "value": "x" * 10000}]))


def an_object_that_etcd_would_refuse_is_refused(here):
    """A workload with a master has everything twice."""
    def chunks(count):
        return {"environmentVariables": [{"name": f"C_{i}", "value": "x" * 9000} for i in range(count)]}
    good = {"distributedFramework": "PyTorch", "numWorkers": 2}
    here.create("distributed", body("fits-once", **good, **chunks(100)))
    here.refused(422, "distributed", {**body("fits-not-twice", **good, **chunks(100)), "masterSpecSameAsWorker": True}, "too large")
    here.refused(422, "trainings", body("fits-not", **chunks(180)), "too large")


def a_name_is_unique_in_its_project(here):
    here.set(projects=["suite", "other"])
    number = here.create("trainings", body())
    here.refused(409, "trainings", body(), "already exists")
    here.refused(409, "workspaces", body(), "already exists")
    here.create("trainings", {**body(), "projectId": "4502"})
    here.set(projects=["suite", "other"], duplicate=400)
    here.refused(400, "trainings", body(), "already exists")
    prefixed = here.ask("POST", "/api/v1/workloads/trainings", {**body(), "useGivenNameAsPrefix": True})[1]
    expect(prefixed["name"] != "train-abcdefgh" == prefixed["requestedName"], prefixed)
    here.ask("DELETE", f"/api/v1/workloads/trainings/{number}")
    here.set(projects=["suite"])
    until(lambda: here.ask("GET", f"/api/v1/workloads/{number}")[0] == 404, "gone")
    here.create("trainings", body())                    # the name is free again


def a_policy_names_the_field(here):
    here.set(forbidden={"workingDir": "is set by the administrator"})
    answer = here.refused(400, "trainings", body(workingDir="/x"))
    expect(answer["complianceIssues"] == [{"field": "spec.workingDir", "details": "is set by the administrator",
                                           "rule": "canEdit"}], answer)


def unknown_projects_and_clusters_are_not_found(here):
    here.refused(404, "trainings", {**body(), "projectId": "7"})
    here.refused(404, "trainings", {**body(), "clusterId": CLUSTER.replace("7", "8")})


def lists_are_filtered_and_paged(here):
    for i in range(7):
        here.create("trainings" if i % 2 else "workspaces", body(f"job-{i}"))
    def names(**query):
        return [one["name"] for one in here.get("/api/v1/workloads", **query)["workloads"]]
    expect(names(filterBy="name==job-3") == ["job-3"], "equal")
    expect(names(filterBy="type==Training,name=^job") == ["job-1", "job-3", "job-5"], "two filters")
    expect(names(filterBy="name!@5,phase==Creating", sortBy="name", sortOrder="desc")[0] == "job-6", "order")
    page = here.get("/api/v1/workloads", offset=0, limit=3)
    expect(len(page["workloads"]) == 3 and page["next"] == 3, "the first page")
    expect("next" not in here.get("/api/v1/workloads", offset=6, limit=3), "the last page")
    for wrong in ("limit=501", "limit=0", "filterBy=id==x", "filterBy=name~x", "filterBy=name", "deleted=yes", "sortBy=guess",
                  "offset=-1", "guess=1"):
        expect(here.ask("GET", f"/api/v1/workloads?{wrong}")[0] == 400, wrong)
    here.set(projects=[f"p{i}" for i in range(120)])
    first = here.get("/api/v1/org-unit/projects")
    expect(len(first["projects"]) == first["next"] == 50, "projects come by fifty")
    found = here.get("/api/v1/org-unit/projects", filterBy="name==p119")["projects"]
    expect(found[0]["id"] == "4620" and found[0]["status"]["namespace"] == "runai-p119", found)


def lists_show_the_environment(here):
    here.create("trainings", body(environmentVariables=[{"name": "A", "value": "seen"},
                                                        {"name": "B", "secret": {"name": "s", "key": "k"}}]))
    listed = here.get("/api/v1/workloads")["workloads"][0]
    expect(listed["environmentVariables"] == {"A": "seen", "B": ""}, listed["environmentVariables"])
    here.set(list_environment=False)
    expect("environmentVariables" not in here.get("/api/v1/workloads")["workloads"][0], "it can be switched off")


def the_deleted_are_listed_by_themselves(here):
    gone, stays = here.create("trainings", body("gone")), here.create("trainings", body("stays"))
    expect(here.ask("DELETE", f"/api/v1/workloads/distributed/{gone}")[0] == 404, "of another kind")
    expect(here.ask("DELETE", f"/api/v1/workloads/trainings/{gone}")[0] == 202, "of its kind")
    until(lambda: here.ask("GET", f"/api/v1/workloads/{gone}")[0] == 404, "gone")
    ids = {word: [one["id"] for one in here.get("/api/v1/workloads", deleted=word)["workloads"]] for word in ("true", "false")}
    expect(ids == {"true": [gone], "false": [stays]}, ids)


def stopping_is_no_get(here):
    number = here.create("distributed", body(distributedFramework="PyTorch", numWorkers=1))
    for word in ("suspend", "resume"):
        expect(here.ask("GET", f"/api/v1/workloads/distributed/{number}/{word}")[0] == 405, word)
    expect(here.ask("POST", f"/api/v1/workloads/trainings/{number}/suspend")[0] == 404, "of another kind")
    expect(here.ask("POST", f"/api/v1/workloads/distributed/{number}/suspend")[0] == 202, "as it should be")
    here.reach(number, "Stopped")
    expect(here.ask("POST", f"/api/v1/workloads/distributed/{number}/resume")[0] == 202, "and back")


def a_batch_has_at_most_100_ids_and_an_answer_for_each(here):
    number, other = here.create("trainings", body()), CLUSTER
    status, answer = here.ask("POST", "/api/v1/workloads/batch", {"ids": [number, other], "action": "suspend"})
    expect(status == 200 and answer["succeeded"] == [number] and [one["id"] for one in answer["failed"]] == [other] and
           answer["failed"][0]["code"] == 404, answer)
    for wrong in ({"ids": [], "action": "delete"}, {"ids": [number], "action": "stop"}, {"ids": ["guess"], "action": "delete"},
                  {"ids": [number, number], "action": "delete"}, {"ids": [number], "action": "delete", "kind": "x"},
                  {"ids": [f"{CLUSTER[:-3]}{i:03d}" for i in range(101)], "action": "delete"}):
        expect(here.ask("POST", "/api/v1/workloads/batch", wrong)[0] == 400, wrong)


def credentials_are_never_shown_and_have_another_name_in_the_cluster(here):
    meta = {"name": "keys", "scope": "project", "projectId": 4501}
    for kind, spec in (("docker-registry", {"user": "u", "password": "hidden", "url": "r.test"}),
                       ("ngc-api-key", {"ngc_api_key": "hidden"}),
                       ("generic-secret", {"keyValuePairs": [{"key": "A", "value": "hidden"}]})):
        path, said = f"/api/v1/asset/credentials/{kind}", {"meta": {**meta, "name": f"keys-{kind}"}, "spec": spec}
        status, made = here.ask("POST", path, said)
        expect(status == 202 and "clusterInfo" not in made, (status, made))
        expect(here.ask("POST", path, said)[0] == 409, "twice")
        shown = here.get(f"{path}/{made['meta']['id']}")
        expect(shown["clusterInfo"]["resources"][0]["name"] not in ("keys", f"keys-{kind}"), shown)
        listed = here.get(path, name=f"keys-{kind}", projectId=4501)["entries"]
        expect([one["meta"]["id"] for one in listed] == [made["meta"]["id"]], listed)
        expect("hidden" not in json.dumps([made, shown, listed]), "a value is shown")
        for wrong in ({**said, "guess": 1}, {"meta": {**said["meta"], "projectId": "4501"}, "spec": spec}, {"meta": said["meta"]},
                      {"meta": {"name": "x", "scope": "project"}, "spec": spec}, {"meta": said["meta"], "spec": {"guess": 1}}):
            expect(here.ask("POST", path, wrong)[0] == 400, wrong)
        expect(here.ask("DELETE", f"{path}/{made['meta']['id']}")[0] in (202, 204), "delete")
        expect(here.ask("GET", f"{path}/{made['meta']['id']}")[0] == 404, "it is gone")


def a_new_workload_may_be_seen_late(here):
    here.set(lag=2)
    here.create("trainings", body())
    found = [len(here.get("/api/v1/workloads", filterBy="name==train-abcdefgh")["workloads"]) for _ in range(3)]
    expect(found == [0, 0, 1], found)


def faults_are_as_asked_for(here):
    here.get("/api/v1/clusters")
    here.fault("busy 1")
    status, headers, said = here.raw("GET", "/api/v1/clusters", headers={"Authorization": f"Bearer {here.token}"})
    expect(status == 429 and headers["Retry-After"] == "1" and headers.get_content_type() == "text/plain", (status, said))
    here.fault("broken 1")
    expect(here.ask("GET", "/api/v1/clusters")[0] == 502, "a proxy's page")
    here.create("trainings", body())
    here.fault("empty-list 1")
    expect([len(here.get("/api/v1/workloads")["workloads"]) for _ in range(2)] == [0, 1], "an empty list")
    here.fault("empty-list 1, then")
    expect(len(here.get("/api/v1/workloads", filterBy="name==train-abcdefgh")["workloads"]) == 1, "asked for by name")
    here.set(tokens_since=int(time.time()) + 1000)
    expect(here.ask("GET", "/api/v1/clusters")[0] == 401, "a token that was withdrawn")


def what_is_around_can_be_read(here):
    cluster = here.get("/api/v1/clusters")[0]
    expect(cluster["domain"] == f"127.0.0.1:{here.port}", cluster)
    expect(here.get("/api/v1/node-pools")["nodepools"][0]["name"] == "default", "node pools")
    for path in ("/api/v1/nodes", f"/api/v1/clusters/{CLUSTER}/nodes"):
        expect(here.get(path)["nodes"][0]["gpuInfo"]["gpuCount"] == 8, path)
    expect(here.ask("GET", "/cluster-api/status") == (200, "OK"), "the Cluster API")


if __name__ == "__main__":
    sys.exit(claims.main(globals(), Client, at_once=3, words=["", *sys.argv[1:]]))
