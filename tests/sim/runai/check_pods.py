#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_pods.py - workloads of the stand-in for run:ai really run: their pods, phases and logs.

    tests/docker/engine check_pods.py [CLAIM...]
"""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True
from api_client import HERE, Client, body  # noqa: E402
from harness import claims  # noqa: E402
from harness.client import expect, until  # noqa: E402

ONCE = {"restartPolicy": "Never", "backoffLimit": 0}


def script(here, text, **more):
    """A workload that runs a script from a folder of this machine."""
    (here.folder / "in").mkdir(exist_ok=True)
    (here.folder / "in/script").write_text(text)
    return {**ONCE, "command": "/bin/sh", "args": "/in/script",
            "storage": {"hostPath": [{"path": f"{here.folder}/in", "mountPath": "/in"}]}, **more}


def a_training_has_one_pod_with_the_variables_of_its_body_and_no_others(here):
    number = here.create("trainings", body(**script(here, "env >/in/env", environmentVariables=[
        {"name": "A", "value": "a 'b' \"c\" $d"}, {"name": "POD", "podFieldRef": {"path": "metadata.name"}}])))
    here.reach(number, "Completed")
    pods = here.get(f"/api/v1/workloads/{number}/pods")["pods"]
    expect([(pod["name"], pod["k8sPhase"]) for pod in pods] == [("train-abcdefgh-0-0", "Succeeded")], pods)
    env = set((here.folder / "in/env").read_text().splitlines())
    own = {line for line in env if not line.startswith(("PATH=", "HOME=", "HOSTNAME=", "PWD=", "SHLVL="))}
    expect(own == {"A=a 'b' \"c\" $d", "POD=train-abcdefgh-0-0"}, own)


def command_and_args_are_split_like_a_shell_or_at_spaces(here):
    quoted = {**ONCE, "command": "/bin/sh -c", "args": "'test -n \"$HOSTNAME\" && exit 0'"}
    here.reach(here.create("trainings", body("quoted", **quoted)), "Completed")
    here.set(split="spaces")
    here.reach(here.create("trainings", body("torn", **quoted)), "Failed")
    here.reach(here.create("trainings", body("plain", **script(here, "exit 0"))), "Completed")


def workers_of_a_distributed_one_find_each_other(here):
    text = 'for i in 0 1; do ping -c 1 -w 20 two-worker-$i >/dev/null || exit 9; done; echo "$RANK $WORLD_SIZE $MASTER_ADDR" >/in/$(hostname)'
    number = here.create("distributed", body("two", distributedFramework="PyTorch", numWorkers=2, **script(here, text)))
    here.reach(number, "Completed")
    for rank in (0, 1):
        said = (here.folder / f"in/two-worker-{rank}").read_text()
        expect(said == f"{rank} 2 two-worker-0\n", said)
    expect(len(here.get("/api/v1/workloads/pods", filterBy=f"workloadId=={number}")["pods"]) == 2, "its pods")


def a_failed_pod_fails_the_workload_and_the_policy_says_what_becomes_of_the_others(here):
    text = "case $(hostname) in *-1) exit 3;; esac; sleep 300"
    for policy, left in ((None, ["Running", "Failed"]), ("Running", ["Failed"])):
        more = {"cleanPodPolicy": policy, "terminationGracePeriodSeconds": 1} if policy else {}
        number = here.create("distributed", body(f"fails-{policy or 'none'}".lower(), distributedFramework="PyTorch", numWorkers=2,
                                                 **more, **script(here, text)))
        here.reach(number, "Failed")
        until(lambda: [pod["k8sPhase"] for pod in here.get(f"/api/v1/workloads/{number}/pods")["pods"]] == left, left)


def a_workload_is_tried_again_unless_it_says_otherwise(here):
    text = "echo x >>/in/tries; test $(wc -l </in/tries) = 3"
    again = {key: value for key, value in script(here, text).items() if key != "backoffLimit"}
    here.reach(here.create("trainings", body("again", **again)), "Completed")
    expect((here.folder / "in/tries").read_text() == "x\n" * 3, "tries")


def a_suspended_one_has_no_pods_and_no_log_and_can_be_resumed(here):
    number = here.create("trainings", body("stops", terminationGracePeriodSeconds=20,
                                           **script(here, "trap 'echo saved >>/in/saved; exit' TERM; echo up; while :; do sleep 0.1; done")))
    here.reach(number, "Running")
    until(lambda: here.log("stops-0-0")[1] == b"up\n", "its line")
    here.ask("POST", "/api/v1/workloads/batch", {"ids": [number], "action": "suspend"})
    here.reach(number, "Stopped")
    expect((here.folder / "in/saved").read_text() == "saved\n", "it had time to save")
    expect(here.get(f"/api/v1/workloads/{number}/pods")["pods"] == [], "its pods are gone")
    expect(here.log("stops-0-0")[0] == 404, "and their log")
    here.ask("POST", "/api/v1/workloads/batch", {"ids": [number], "action": "resume"})
    here.reach(number, "Running")


def secrets_reach_the_pod_by_their_name_in_the_cluster(here):
    made = here.ask("POST", "/api/v1/asset/credentials/generic-secret", {
        "meta": {"name": "own", "scope": "project", "projectId": 4501},
        "spec": {"keyValuePairs": [{"key": "K", "value": "v 1"}]}})[1]
    name = here.get(f"/api/v1/asset/credentials/generic-secret/{made['meta']['id']}")["clusterInfo"]["resources"][0]["name"]
    def variables(secret):
        return [{"name": "S", "secret": {"name": secret, "key": "K"}}]
    more = script(here, 'test "$S" = "v 1" && test "$(cat /keys/K)" = "v 1"')
    more["storage"]["secretVolume"] = [{"secret": name, "mountPath": "/keys"}]
    here.reach(here.create("trainings", body("good", environmentVariables=variables(name), **more)), "Completed")
    bad = here.create("trainings", body("bad", environmentVariables=variables("own"), **script(here, "true")))
    here.reach(bad, "Initializing")
    events = until(lambda: here.get(f"/api/v1/workloads/{bad}/events")["events"], "an event")
    expect('secret "own"' in events[0]["message"], events)


def an_image_or_a_claim_that_is_not_there_is_an_event(here):
    for name, more, word in (("image", {"image": "no-such:image"}, "pull image"),
                             ("claim", {"storage": {"pvc": [{"path": "/x", "existingPvc": True, "claimName": "none"}]}}, "none")):
        number = here.create("trainings", body(name, **{**script(here, "true"), **more}))
        here.reach(number, "Initializing")
        events = until(lambda: here.get(f"/api/v1/workloads/{number}/events")["events"], "an event")
        expect(word in events[0]["message"] and events[0]["type"] == "Warning", events)


def one_waits_until_gpus_are_free(here):
    gpus = {"compute": {"gpuDevicesRequest": 5}}
    first = here.create("trainings", body("first", **gpus, **script(here, "sleep 300", terminationGracePeriodSeconds=0)))
    here.reach(first, "Running")
    second = here.create("trainings", body("second", **gpus, **script(here, "true")))
    here.reach(second, "Pending")
    expect(here.get(f"/api/v1/workloads/{second}")["phaseReason"] == "OverLimit", "why")
    here.ask("DELETE", f"/api/v1/workloads/trainings/{first}")
    here.reach(second, "Completed")


def a_log_is_read_as_from_kubernetes(here):
    number = here.create("trainings", body("logs", **script(here, "for i in 1 2 3; do echo line $i; sleep 1; done; printf 'a\\0b\\r\\n'")))
    here.reach(number, "Running", "Completed")
    whole = b"line 1\nline 2\nline 3\na\0b\r\n"
    expect(here.log("logs-0-0", follow="true") == (200, whole), "followed to its end")
    here.reach(number, "Completed")
    expect(here.log("logs-0-0", tailLines=2)[1] == b"line 3\na\0b\r\n", "a tail")
    expect(here.log("logs-0-0", limitBytes=8)[1] == whole[:8], "its first bytes")
    lines = here.log("logs-0-0", timestamps="true")[1].split(b"\n")
    since = here.log("logs-0-0", sinceTime=lines[1].split()[0].decode())[1]
    expect(since in (whole[7:], whole) and len(lines[0].split()[0]) == 30, (since, lines))
    for status, pod, query in ((404, "none", {}), (400, "logs-0-0", {"container": "guess"}), (400, "logs-0-0", {"guess": 1}),
                               (400, "logs-0-0", {"follow": "yes"}), (400, "logs-0-0", {"sinceTime": "now"}),
                               (400, "logs-0-0", {"previous": "true"})):
        expect(here.log(pod, **query)[0] == status, (pod, query))
    here.set(kube_trusts=False)
    status, said = here.log("logs-0-0")
    expect(status == 401 and json.loads(said)["kind"] == "Status", said)


def a_log_comes_by_websocket_while_the_workload_runs(here):
    path = "/cluster-api/api/v1/suite/workloads/training/runai/frames/logs"
    text = "echo one; until test -e /in/go; do sleep 0.1; done; printf 'two \\377\\n'"
    for frames, kind, end in (("text", 1, b"two \xef\xbf\xbd\n"), ("binary", 2, b"two \xff\n")):
        here.set(frames=frames)
        (here.folder / "in").mkdir(exist_ok=True)
        (here.folder / "in/go").unlink(missing_ok=True)
        number = here.create("trainings", body("frames", **script(here, text)))
        here.reach(number, "Running")
        until(lambda: here.log("frames-0-0")[1] == b"one\n", "its line")
        got = here.frames(f"{path}?tail=1")
        expect(got == [(kind, b"one\n"), (8, b"\x03\xe8")], got)
        waiting = subprocess.Popen(["sh", "-c", f"sleep 1; touch {here.folder}/in/go"])
        got = here.frames(f"{path}?follow=true&pod=frames-0-0&container=frames")
        waiting.wait()
        expect(b"".join(piece for one, piece in got if one == kind) == b"one\n" + end, got)
        here.reach(number, "Completed")
        expect(here.frames(path) == 404, "it is over")
        here.ask("DELETE", f"/api/v1/workloads/trainings/{number}")
        until(lambda: here.ask("GET", f"/api/v1/workloads/{number}")[0] == 404, "gone")


def the_cluster_api_is_strict(here):
    number = here.create("trainings", body("strict", **script(here, "sleep 300", terminationGracePeriodSeconds=0)))
    here.reach(number, "Running")
    at = "/cluster-api/api/v1/{}/workloads/{}/{}/strict/logs{}"
    for status, words in ((404, ("other", "training", "runai", "")), (404, ("suite", "workspace", "runai", "")),
                          (400, ("suite", "training", "runai", "?guess=1")), (404, ("suite", "training", "runai", "?pod=guess")),
                          (400, ("suite", "training", "runai", "?since=5m"))):
        expect(here.frames(at.format(*words)) == status, words)
    expect(here.ask("GET", at.format("suite", "training", "runai", ""))[0] == 426, "no WebSocket")
    here.token = "guess"
    expect(here.frames(at.format("suite", "training", "runai", "")) == 401, "a wrong token")


def a_workload_is_deleted_by_itself_after_its_time(here):
    number = here.create("trainings", body("short", autoDeletionTimeAfterCompletionSeconds=1, **script(here, "true")))
    until(lambda: here.ask("GET", f"/api/v1/workloads/{number}")[0] == 404, "gone")
    expect(here.get("/api/v1/workloads", deleted="true")["workloads"][0]["id"] == number, "it is among the deleted")


def a_server_that_was_killed_knows_its_workloads(here):
    number = here.create("trainings", body("survives", **script(here, "echo one; sleep 3; echo two")))
    here.reach(number, "Running")
    here.server.kill()
    here.server.wait()
    here.server = subprocess.Popen([sys.executable, HERE / "server", here.folder, SOCKET, str(here.port)],
                                   start_new_session=True, env={"PATH": os.environ["PATH"]})
    until(lambda: reachable(here), "it answers")
    here.reach(number, "Completed")
    expect(here.log("survives-0-0")[1] == b"one\ntwo\n", here.log("survives-0-0"))


def reachable(client):
    try:
        return client.ask("GET", "/cluster-api/status")[0] == 200
    except OSError:
        return False


SOCKET = os.environ.get("DOCKER_HOST", "").removeprefix("unix://")

if __name__ == "__main__":
    sys.exit(claims.main(globals(), Client, at_once=2, words=[SOCKET, *sys.argv[1:]]))
