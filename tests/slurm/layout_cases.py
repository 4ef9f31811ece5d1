# SPDX-License-Identifier: Apache-2.0
#
# layout_cases.py - where the results of jobs and of an array's tasks lie, and what their logs say of time and task.
# Part of try_containers.py, on its cluster.
import datetime
import os

from cluster_client import BASE, control

IMAGE = "nvcr.io/team/layout:1"


def brought(client, job):
    """What `get` brings, as names below the folder."""
    where = f"{client.folder}/brought-{job}"
    client.call("get", job, where)
    return sorted(os.path.relpath(os.path.join(folder, name), where) for folder, _, names in os.walk(where)
                  for name in names)


def results_of_a_container_are_kept_undeclared(here):
    control("add-image", "nvcr.io", "team/layout:1")
    job = here.submit("echo x >/results/foo && echo y >{results_dir}/bar && test -s /results/bar", image=IMAGE,
                        config={"a": 1})
    here.wait(job)
    assert here.status(job)["status"] == "Complete", here.log(job)
    assert brought(here, job) == ["bar", "foo"], brought(here, job)


def each_task_of_an_array_has_its_results(here):
    control("add-image", "nvcr.io", "team/layout:1")
    for more in ({"image": IMAGE}, {"outputs": ["/results"]}):
        job = here.submit("test -s {config_path} && cp {config_path} /results/spec && "
                            "echo $SLURM_ARRAY_TASK_ID >{results_dir}/n", config={"to": "/results/out"},
                            slurm={"array": "1-2"}, **more)
        here.wait(job)
        here.completed(job)
        assert brought(here, job) == ["task-1/n", "task-1/spec", "task-2/n", "task-2/spec"], brought(here, job)
        for task in "1", "2":
            with open(f"{BASE}/results/{job}/task-{task}/n", encoding="utf-8") as file:
                assert file.read() == f"{task}\n"
        with open(f"{BASE}/results/{job}/task-2/spec", encoding="utf-8") as file:
            assert ("to: /results/out" if "image" in more else f"{job}/task-2/out") in file.read()


def lines_of_a_log_have_their_time_and_their_task(here):
    job = here.submit("date '+first %s'; sleep 6; date '+last %s'", slurm={"array": "1-2"})
    here.wait(job)
    told = {}
    for line in here.call("logs", "-t", job).stdout.splitlines():
        when, task, text, truth = line.split()
        shown = datetime.datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp()
        told[task, text] = shown, int(truth)
    assert sorted(told) == [("1|", "first"), ("1|", "last"), ("2|", "first"), ("2|", "last")], told
    for task in "1|", "2|":                    # never too early, and no later than the next line
        (first, true_first), (last, true_last) = told[task, "first"], told[task, "last"]
        assert true_first - 1 <= first <= true_last + 1 and abs(last - true_last) <= 2, told
    assert here.log(job).count("\n2| ") == 2, here.log(job)
    assert "|" not in here.call("logs", job, "--rank", "2").stdout


def a_log_that_was_removed_is_said_to_be_gone(here):
    job = here.submit("echo said; exit 3", retry={"max": 0})
    here.wait(job)
    assert here.status(job)["status"] == "Error" and here.log(job).startswith("said\n")
    here.as_user("sh", "-c", f"rm -rf {BASE}/slurm-logs/tao-job-{job}*")
    done = here.call("logs", job, check=False)
    assert done.returncode == 66 and not done.stdout and "is gone" in done.stderr, done
    job = here.submit("exit 3", retry={"max": 0})
    here.wait(job)
    here.as_user("sh", "-c", f"rm -rf {BASE}/slurm-logs/tao-job-{job}*")
    told = here.call("why", job, check=False).stdout
    assert "is gone" in told and "end of the log" not in told, told


def a_place_of_results_names_its_host(here):
    job = here.submit("true")
    here.wait(job)
    place = here.call("results", job).stdout
    host = os.environ["SLURM_HOSTNAME"].split(",")[0]
    assert place.endswith(f"{host}:{BASE}/results/{job}\n"), place
    assert f"{host}:{BASE}/results/{job}" in here.call("rm", "--keep-results", job).stderr


