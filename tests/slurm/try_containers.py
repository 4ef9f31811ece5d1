# SPDX-License-Identifier: Apache-2.0
#
# try_containers.py - images, mounts and repositories on a real cluster, with stand-ins for Pyxis and enroot.
#
#   tests/slurm/cluster -- python3 tests/slurm/try_containers.py SLIPWAY [CASE...]
import json
import os
import subprocess
import sys

import layout_cases
from cluster_client import BASE, ROOT, control, main, until



def imports():
    try:
        with open(f"{ROOT}/registry/.imports", encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []


def ten_jobs_that_ask_together_import_once(here):
    control("add-image", "nvcr.io", "team/app:1")
    control("slow-imports", "3")
    before = len(imports())
    jobs = [here.submit("cat /etc/image; echo on $SLURMD_NODENAME", image="nvcr.io/team/app:1", cpus=8)
            for _ in range(10)]
    for job in jobs:
        here.wait(job)
    control("slow-imports", "0")
    assert [here.status(job)["status"] for job in jobs] == ["Complete"] * 10
    assert all("team/app:1" in here.log(job) for job in jobs)
    assert len(imports()) - before == 1, imports()
    with open(f"{BASE}/nvcr.io_team_app_1.sqsh", "rb") as file:
        assert file.read(4) == b"hsqs"
    nodes = {run["nodes"] for job in jobs for run in here.attempts(job) if run["event"] == "begin"}
    assert len(nodes) > 1, nodes                         # not only one node's word


CONVERTING = {"conversion_partition": "cpu", "conversion_memory_gb": 1}


def conversions(client):
    """Rows of accounting: what ran under the name of a conversion."""
    rows = client.as_user("sacct", "-n", "-X", "-P", "-S", "now-1hour", "--format=JobIDRaw,JobName,Partition")
    return [row.split("|") for row in rows.splitlines() if "|tao-sqsh-" in row]


def ten_jobs_wait_for_one_that_converts_in_its_own_partition(here):
    control("add-image", "nvcr.io", "team/apart:1")
    control("slow-imports", "4")
    before = len(imports())
    first = here.submit("cat /etc/image", image="nvcr.io/team/apart:1", slurm=CONVERTING)
    rows = until(lambda: conversions(here), "the conversion", 30)
    assert len(rows) == 1 and rows[0][2] == "cpu", rows
    assert "Dependency" in here.as_user("squeue", "-h", "-o", "%r", "-n", f"tao-job-{first}")
    here.env["SLURM_CONVERSION_PARTITION"] = "cpu"
    files = [here.job_file("cat /etc/image", image="nvcr.io/team/apart:1", slurm={"conversion_memory_gb": 1})
             for _ in range(9)]
    running = [subprocess.Popen([here.program, "run", "-d", file], env=here.env, cwd=here.folder, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL) for file in files]
    jobs = [first] + [process.communicate()[0].split()[0] for process in running]
    for job in jobs:
        here.wait(job)
    control("slow-imports", "0")
    assert [here.status(job)["status"] for job in jobs] == ["Complete"] * 10
    assert all("team/apart:1" in here.log(job) for job in jobs)
    assert len(imports()) - before == 1, imports()
    assert len(conversions(here)) == 1, conversions(here)      # and no job of ours waited with its nodes
    with open(f"{BASE}/nvcr.io_team_apart_1.sqsh", "rb") as file:
        assert file.read(4) == b"hsqs"
    again = here.submit("cat /etc/image", image="nvcr.io/team/apart:1", slurm=CONVERTING)
    here.wait(again)
    assert len(conversions(here)) == 1, "the image was there already"


def two_conversions_of_one_image_never_run_together(here):
    control("add-image", "nvcr.io", "team/twice:1")
    control("slow-imports", "2")
    before = len(imports())
    job = here.submit("cat /etc/image", image="nvcr.io/team/twice:1", slurm=CONVERTING)
    with open(f"{BASE}/meta/{job}.1/image.sbatch", encoding="utf-8") as file:
        script = file.read()
    # As if another here had looked at the queue a moment earlier.
    subprocess.run(["as-ann", "sbatch", "-Q"], input=script, text=True, check=True)
    here.wait(job)
    until(lambda: "tao-sqsh" not in here.as_user("squeue", "-h", "-o", "%j"), "both conversions")
    control("slow-imports", "0")
    assert "team/twice:1" in here.log(job), here.log(job)
    assert len(imports()) - before == 1, imports()


def latest_is_converted_anew_by_a_job_of_its_own(here):
    control("add-image", "nvcr.io", "team/moves:latest")
    before = len(imports())
    for count in (1, 2):
        job = here.submit("cat /etc/image", image="nvcr.io/team/moves",
                            slurm={**CONVERTING, "force_reconvert_latest": True, "require_sqsh": True})
        here.wait(job)
        assert "team/moves:latest" in here.log(job), here.log(job)
        assert len(imports()) - before == count, imports()
    with open(f"{BASE}/meta/{job}.1/image.sbatch", encoding="utf-8") as file:
        name = file.read().split("--job-name=")[1].split()[0]
    until(lambda: [row[1] for row in conversions(here)].count(name) == 2, "accounting")


def a_conversion_that_fails_is_the_jobs_evidence(here):
    job = here.submit("true", image="nvcr.io/team/gone:1", retry={"max": 0},
                        slurm={**CONVERTING, "require_sqsh": True})
    here.wait(job)
    status = here.status(job)
    assert status["status"] == "Error" and status["exit_code"] == 78, status
    assert "404 Not Found" in here.log(job), here.log(job)
    why = here.call("why", job, check=False).stdout
    assert "image" in why, why
    done = here.call("run", "-d", here.job_file("true", image="nvcr.io/team/gone:2",
                                                       slurm={"conversion_partition": "nosuch"}), check=False)
    assert done.returncode != 0 and "job that converts the image" in done.stderr, done.stderr
    assert here.as_user("squeue", "-h").strip() == ""


def a_conversion_waits_beside_what_the_job_waits_for_anyway(here):
    control("add-image", "nvcr.io", "team/after:1")
    number = here.as_user("sbatch", "--parsable", "-t", "1", "--wrap", "sleep 2; exit 1").split()[-1]
    job = here.submit("cat /etc/image", image="nvcr.io/team/after:1",
                        slurm={**CONVERTING, "dependency": f"afternotok:{number}"})
    said = here.as_user("scontrol", "show", "job", here.slurm_id(job))
    assert f"afternotok:{number}" in said and "afterany:" in said, said
    here.wait(job)
    assert "team/after:1" in here.log(job), here.log(job)


def a_job_canceled_while_it_converts_leaves_the_turn_to_the_next(here):
    control("add-image", "nvcr.io", "team/turn:1")
    control("slow-imports", "4")
    first = here.submit("true", image="nvcr.io/team/turn:1")
    until(lambda: [line for line in imports() if "team/turn" in line], "the import")
    second = here.submit("cat /etc/image", image="nvcr.io/team/turn:1")
    here.running_on(second)
    here.call("cancel", first)
    here.wait(second)
    control("slow-imports", "0")
    assert "team/turn:1" in here.log(second), here.log(second)
    assert len([line for line in imports() if "team/turn" in line]) == 2
    assert not [name for name in os.listdir(BASE) if ".part." in name]


def a_private_registry_wants_the_line_in_credentials(here):
    control("add-image", "private.example", "team/app:1")
    control("want-login", "private.example", "ann", "canary-password")
    job = here.submit("true", image="private.example/team/app:1", retry={"max": 0}, slurm={"require_sqsh": True})
    here.wait(job)
    assert "401 Unauthorized" in here.log(job), here.log(job)
    here.as_user("sh", "-c", "umask 077; mkdir -p ~/.config/enroot; echo 'machine private.example login ann "
                               "password canary-password' >> ~/.config/enroot/.credentials")
    job = here.submit("cat /etc/image", image="private.example/team/app:1")
    here.wait(job)
    assert "team/app:1" in here.log(job), here.log(job)


def a_login_is_brought_to_the_cluster_when_asked(here):
    control("add-image", "nvcr.io", "team/secret:1")
    control("want-login", "nvcr.io", "$oauthtoken", "canary-key-4711")
    try:
        here.env["NGC_KEY"] = "canary-key-4711"
        job = here.submit("cat /etc/image", image="nvcr.io/team/secret:1", slurm={"registry_login": True})
        here.wait(job)
        assert "team/secret:1" in here.log(job), here.log(job)
    finally:
        os.remove(f"{ROOT}/registry/nvcr.io/.wants")
    kept = f"{ROOT}/home/ann/.config/enroot/.credentials"
    assert os.stat(kept).st_mode & 0o777 == 0o600
    found = subprocess.run(["grep", "-rl", "canary-key-4711", BASE, here.folder], stdout=subprocess.PIPE, text=True,
                           check=False).stdout
    assert found == "", found                            # nowhere but in that file


def a_login_of_any_registry_is_brought_but_only_to_its_own(here):
    kept = f"{ROOT}/home/ann/.config/enroot/.credentials"
    for registry in ("one.example", "two.example:5000", "registry-1.docker.io"):
        control("add-image", registry, "team/key:1")
    here.env.update(DOCKER_USERNAME="ann", DOCKER_PASSWORD="canary-docker-4712")
    done = here.call("run", "-d", here.job_file("true", image="one.example/team/key:1",
                                                       slurm={"registry_login": True}), check=False)
    assert done.returncode != 0 and "DOCKER_REGISTRY=one.example" in done.stderr, done.stderr
    here.as_user("sh", "-c", f"umask 077; mkdir -p {os.path.dirname(kept)}; echo '# mine' >> {kept}")
    for image, registry, machine in (("one.example/team/key:1", "one.example", "one.example"),
                                     ("two.example:5000/team/key:1", "two.example:5000", "two.example"),
                                     ("team/key:1", "", "registry-1.docker.io")):
        here.env["DOCKER_REGISTRY"] = registry
        job = here.submit("cat /etc/image", image=image, slurm={"registry_login": True})
        here.wait(job)
        assert "team/key:1" in here.log(job), here.log(job)
        with open(kept, encoding="utf-8") as file:
            lines = file.read()
        assert f"machine {machine} login ann password canary-docker-4712\n" in lines and "# mine\n" in lines
        assert "canary-docker" not in done.stderr + here.log(job)
    assert os.stat(kept).st_mode & 0o777 == 0o600
    assert os.listdir(os.path.dirname(kept)) == [".credentials"], os.listdir(os.path.dirname(kept))
    said = here.call("preflight", here.job_file("true", image="three.example/team/key:1",
                                                       slurm={"registry_login": True}), "-p", "slurm", check=False)
    assert "registry_login sends them" in said.stdout + said.stderr, said.stdout + said.stderr
    found = subprocess.run(["grep", "-rl", "canary-docker-4712", BASE, here.folder], stdout=subprocess.PIPE, text=True,
                           check=False).stdout
    assert found == "", found


def an_image_that_does_not_exist_is_reported(here):
    job = here.submit("true", image="nvcr.io/team/nosuch:1", retry={"max": 0}, slurm={"require_sqsh": True})
    here.wait(job)
    status = here.status(job)
    assert status["status"] == "Error" and status["exit_code"] == 78, status
    assert "404 Not Found" in here.log(job), here.log(job)
    assert len([run for run in here.attempts(job) if run["event"] == "begin"]) == 1


def what_pyxis_says_about_an_image_is_cause_image(here):
    """For `why`, and for the job's own judgement on the cluster."""
    broken = f"{ROOT}/lustre/broken.sqsh"
    with open(broken, "w", encoding="utf-8") as file:
        file.write("not a squashfs")
    for image, words in ((broken, "failed to create container filesystem"),
                         ("nvcr.io/team/nosuch:2", "failed to import docker image")):
        job = here.submit("true", image=image, retry={"max": 0})
        here.wait(job)
        status = here.status(job)
        assert (status["status"], status["cause"]) == ("Error", "image"), status
        why = json.loads(here.call("why", job, "-o", "json").stdout)
        assert why["cause"] == "image" and "srun" not in json.dumps(why["evidence"]), why
        assert words in here.log(job), here.log(job)
        ended = [run for run in here.attempts(job) if run["event"] == "end"]
        assert [run["cause"] for run in ended] == ["image"], ended


def a_squashfs_file_of_one_s_own_is_used_as_it_is(here):
    control("make-sqsh", f"{ROOT}/lustre/own.sqsh")
    before = len(imports())
    job = here.submit("cat /etc/image", image=f"{ROOT}/lustre/own.sqsh")
    here.wait(job)
    assert "own.sqsh" in here.log(job) and len(imports()) == before


def a_job_that_can_never_be_scheduled_is_not_waited_for(here):
    done = here.call("run", here.job_file("true", nodes=3), check=False)
    assert done.returncode == 76 and "can never be scheduled" in done.stderr, done
    job = json.loads(here.call("ps", "-o", "json").stdout)["jobs"][0]["id"]
    assert here.status(job)["status"] == "Canceled" and not here.in_queue(job)


def a_failed_task_of_an_array_is_explained_by_its_own_log(here):
    job = here.submit('[ "$SLURM_ARRAY_TASK_ID" != 2 ] || { echo "ValueError: task 2 has no data" >&2; exit 4; }',
                        slurm={"array": "0-3"}, retry={"max": 0})
    here.ended(job)
    why = json.loads(here.call("why", job, "-o", "json").stdout)
    assert why["headline"] == "ValueError: task 2 has no data; task 2, exit code 4", why


def container_none_runs_on_the_node(here):
    job = here.submit("cat /etc/image 2>/dev/null || echo on the host", image="nvcr.io/team/app:1",
                        slurm={"container": "none"})
    here.wait(job)
    assert "on the host" in here.log(job), here.log(job)


def repository():
    """A bare repository that the user may read: main has two commits, the tag v1 is the first."""
    where = f"{ROOT}/lustre/code.git"
    if not os.path.exists(where):
        subprocess.run(["as-ann", "sh", "-ec", f"""
            export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
            git init -q -b main made; cd made
            echo one > file; git add file; git commit -qm one; git tag v1
            echo two > file; git commit -qam two; git clone -q --bare . {BASE}/code.git"""], check=True)
        os.rename(f"{BASE}/code.git", where)
    return "file://" + where


def a_repository_is_mounted_at_one_commit(here):
    url = repository()
    control("add-image", "nvcr.io", "team/app:1")
    job = here.submit("cat /opt/code/file; echo x > /opt/code/new 2>/dev/null && echo written || echo read-only; "
                        "ls /data", image="nvcr.io/team/app:1",
                        mounts=[f"git+{url}@v1:/opt/code", f"{ROOT}/lustre:/data:ro"])
    here.wait(job)
    log = here.log(job)
    assert here.status(job)["status"] == "Complete", here.status(job)
    assert "one" in log and "read-only" in log and "code.git" in log, log
    again = here.submit("cat /opt/code/file", image="nvcr.io/team/app:1", mounts=[f"git+{url}@v1:/opt/code"])
    here.wait(again)
    clones = [name for name in os.listdir(f"{BASE}/.cache/git") if not name.endswith(".lock")]
    assert len(clones) == 1, clones


def what_cannot_be_mounted_stops_the_submit(here):
    url = repository()
    for mount, says in ((f"git+{url}@nosuch:/opt/code", "no branch or tag 'nosuch'"),
                        ("git+file:///nosuch.git@main:/opt/code", "cannot read the repository"),
                        ("/nosuch/folder:/data", "no such path")):
        done = here.call("run", "-d", here.job_file("true", image="nvcr.io/team/app:1", mounts=[mount]),
                              check=False)
        assert done.returncode != 0 and says in done.stderr, done.stderr
    done = here.call("run", "-d", here.job_file("true", mounts=["/tmp:/data"]), check=False)
    assert "without a container" in done.stderr, done.stderr
    assert here.as_user("squeue", "-h").strip() == ""


def the_plan_shows_the_mounts(here):
    done = here.call("plan", here.job_file("true", image="nvcr.io/team/app:1",
                                                  mounts=["git+https://git.example.org/a/b@main:/opt/b"]))
    assert "https://git.example.org/a/b at main, cloned once into" in done.stdout, done.stdout


def exec_enters_the_container(here):
    control("add-image", "nvcr.io", "nvidia/tao:1")
    job = here.submit("cat /etc/image; sleep 300", image="nvcr.io/nvidia/tao:1", env={"MINE": "1"})
    until(lambda: "nvidia/tao:1" in here.log(job), "the container")
    done = here.call("exec", job, "--", "sh", "-c", "echo $MINE $IMAGE_NAME; [ -e /etc/image ] && echo inside")
    assert done.stdout.startswith("1 nvidia/tao:1\n") and done.stdout.endswith("inside\n"), done
    here.call("cancel", job)


if __name__ == "__main__":
    sys.exit(main({**globals(), **vars(layout_cases)}))
