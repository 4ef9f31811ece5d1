# SPDX-License-Identifier: Apache-2.0
#
# layout_cases.py - where the results of jobs and of an array's tasks lie, and what their logs say of time and task.
# Part of try_containers.py, on its cluster.
import os

from bed_client import BASE, control

IMAGE = "nvcr.io/team/layout:1"


def brought(client, job):
    """What `get` brings, as names below the folder."""
    where = f"{client.home}/brought-{job}"
    client.slipway("get", job, where)
    return sorted(os.path.relpath(os.path.join(folder, name), where) for folder, _, names in os.walk(where)
                  for name in names)


def results_of_a_container_are_kept_undeclared(client):
    control("add-image", "nvcr.io", "team/layout:1")
    job = client.submit("echo x >/results/foo && echo y >{results_dir}/bar && test -s /results/bar", image=IMAGE,
                        config={"a": 1})
    client.wait(job)
    assert client.status(job)["status"] == "Complete", client.log(job)
    assert brought(client, job) == ["bar", "foo"], brought(client, job)


def each_task_of_an_array_has_its_results(client):
    control("add-image", "nvcr.io", "team/layout:1")
    for more in ({"image": IMAGE}, {"outputs": ["/results"]}):
        job = client.submit("test -s {config_path} && cp {config_path} /results/spec && "
                            "echo $SLURM_ARRAY_TASK_ID >{results_dir}/n", config={"to": "/results/out"},
                            slurm={"array": "1-2"}, **more)
        client.wait(job)
        assert client.status(job)["status"] == "Complete", client.log(job)
        assert brought(client, job) == ["task-1/n", "task-1/spec", "task-2/n", "task-2/spec"], brought(client, job)
        for task in "1", "2":
            with open(f"{BASE}/results/{job}/task-{task}/n", encoding="utf-8") as file:
                assert file.read() == f"{task}\n"
        with open(f"{BASE}/results/{job}/task-2/spec", encoding="utf-8") as file:
            assert ("to: /results/out" if "image" in more else f"{job}/task-2/out") in file.read()


CASES = [results_of_a_container_are_kept_undeclared, each_task_of_an_array_has_its_results]
