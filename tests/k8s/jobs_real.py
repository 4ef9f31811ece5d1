# SPDX-License-Identifier: Apache-2.0
"""jobs_real.py - what only a real kubelet shows: claims of tests/k8s/try-jobs."""
import base64
import hashlib
import os
import shutil
import subprocess

from bed_parts import folder_of
from jobs_client import expect, kubectl, names, until, whole

EMPTY = os.environ["K8S_IMAGE_EMPTY"]


def tiny_in(folder):
    """Code that is one static program."""
    os.makedirs(folder)
    shutil.copy(f"{folder_of('tiny')}/tiny", f"{folder}/tiny")
    os.chmod(f"{folder}/tiny", 0o755)
    return {"root": folder}


def the_runner_needs_nothing_in_the_image_and_no_rights(here):
    here.label_namespace(enforce="restricted", warn="restricted")
    code = tiny_in(f"{here.folder}/code")
    options = {"user": "65534:65534", "read_only": True}
    said = here.submit("./tiny", "say", "hello", image=EMPTY, code=code, kubernetes=options)
    expect(here.over(said)["status"] == "Complete", here.status(said))
    expect(here.log(said) == "hello\n", here.log(said))
    failed = here.submit("./tiny", "exit", "7", image=EMPTY, code=code, kubernetes=options, retry={"max": 0})
    told = here.over(failed)
    expect((told["status"], told["exit_code"]) == ("Error", 7), told)
    pod = here.pods(failed)[0]["spec"]
    main = pod["containers"][0]
    expect(main["image"] == EMPTY and main["command"][0].startswith("/.slipway/bin/") and "initContainers" not in pod, main)
    safe = main["securityContext"]
    expect(safe["readOnlyRootFilesystem"] and safe["capabilities"] == {"drop": ["ALL"]}, safe)
    expect({**pod["securityContext"], **safe}["runAsUser"] == 65534, pod["securityContext"])


def ranks_find_each_other_by_name(here):
    script = (f"echo rank $NODE_RANK of $NNODES > told; httpd -p $MASTER_PORT; cd {here.folder}; "
              "for at in $(echo $MASTER_ADDR,$WORKER_ADDRS | tr , ' '); do "
              "until wget -q -O - http://$at:$MASTER_PORT/told 2> /dev/null; do sleep 0.2; done; done; "
              "touch met-$NODE_RANK; until [ -e met-0 ] && [ -e met-1 ] && [ -e met-2 ]; do sleep 0.1; done")
    job = here.submit(script, nodes=3, mounts=[f"{here.folder}:{here.folder}"])
    expect(here.over(job, 60)["status"] == "Complete", here.log(job))
    for rank in range(3):
        said = here.call("logs", job, "--rank", str(rank)).stdout
        expect(sorted(said.split("\n")) == ["", "rank 0 of 3", "rank 1 of 3", "rank 2 of 3"], said)
    service = here.list("services")
    expect(names(service) == [job] and service[0]["spec"]["clusterIP"] == "None", service)
    here.call("rm", "-y", job)
    until(lambda: not here.list("services"), "the service goes with its job")


def the_first_rank_that_fails_ends_the_job(here):
    job = here.submit("[ $NODE_RANK != 1 ] || exit 5; sleep 1000", nodes=3, retry={"max": 0})
    told = here.over(job)
    expect((told["status"], told["exit_code"]) == ("Error", 5), told)
    expect("rank 1" in told["message"] + here.why(job), f"{told} {here.why(job)}")
    until(lambda: not any(pod["status"]["phase"] == "Running" for pod in here.pods(job)), "the other ranks end")


def an_image_that_is_not_there_is_waited_for_with_its_reason(here):
    job = here.submit("true", image="localhost:1/none/none:1")
    told = until(lambda: (seen := here.status(job))["reason"].startswith("image") and seen["reason"] != "image" and seen,
                 "the reason")
    expect(told["status"] == "Pending" and "localhost:1" in told["message"], told)
    said = here.why(job)
    expect("image" in said and "localhost:1" in said, said)
    here.call("cancel", "-y", job)
    expect(here.status(job)["status"] == "Canceled" and not here.pods(job), here.status(job))


def code_of_several_pieces_arrives_whole(here):
    content = os.urandom(2_500_000)
    os.makedirs(f"{here.folder}/big")
    with open(f"{here.folder}/big/bytes", "wb") as out:
        out.write(content)
    job = here.submit("sha256sum bytes", code={"root": f"{here.folder}/big"})
    expect(here.over(job)["status"] == "Complete", here.status(job))
    expect(here.log(job).split()[0] == hashlib.sha256(content).hexdigest(), here.log(job))
    pieces = [name for name in names(here.list("configmaps")) if name.startswith(f"{job}-code-")]
    expect(len(pieces) == 3, pieces)
    here.call("rm", "-y", job)
    until(lambda: not [name for name in names(here.list("configmaps")) if name.startswith(job)], "they go with their job")


def a_secret_is_seen_by_the_command_and_by_none_else(here):
    value, gate = "kept-secret-" + os.urandom(8).hex(), here.gate()
    job = here.submit(f"[ ${{#TOKEN}} = {len(value)} ] || exit 9; echo $TOKEN; {gate.wait}", secrets=["TOKEN"],
                      mounts=[f"{here.folder}:{here.folder}"], env={"TOKEN": value})
    here.until(job, "Running")
    own = [one for one in here.list("secrets") if one["metadata"]["name"] == job]
    expect(own and own[0]["metadata"]["ownerReferences"][0]["kind"] == "Job", own)
    expect(value in base64.b64decode(own[0]["data"]["secrets"]).decode(), "it is where it belongs")
    encoded = base64.b64encode(value.encode()).decode().rstrip("=")
    shown = [whole(here.list(kind)) for kind in ("configmaps", "pods", "events", "services")] + [whole(here.jobs())]
    shown.append(kubectl("describe", "jobs,pods,configmaps,secrets", "-n", here.namespace))
    shown.append(subprocess.run(["grep", "-rlF", value, here.env["SLIPWAY_STATE_DIR"]], text=True, check=False,
                                stdout=subprocess.PIPE).stdout)
    expect(not any(value in text or encoded in text for text in shown) and not shown[-1], "it is shown")
    gate.open()
    expect(here.over(job)["status"] == "Complete" and here.log(job) == "[redacted]\n", here.log(job))
    here.call("rm", "-y", job)
    until(lambda: not [one for one in here.list("secrets") if one["metadata"]["name"] == job], "it goes with its job")
