# SPDX-License-Identifier: Apache-2.0
#
# try_jobs.py - jobs on a real cluster: what is submitted runs once, and what is told about it is true.
#
#   tests/slurm/cluster --nodes 4 --set EnforcePartLimits=ANY --partition 'paid AllowAccounts=vision,language' -- \
#       python3 tests/slurm/try_jobs.py SLIPWAY [CASE...]
import json
import os
import re
import subprocess
import sys
import threading
import time

from bed_client import BASE, Client, control, main, until

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../sim"))
import holding  # noqa: E402


def seen(client, job, status):
    """Until the job is so, for a client that looks again and again."""
    return until(f"{job} {status}", lambda: (lambda s: s if s["status"] == status else None)(client.status(job)))


def refused(client, *words, **more):
    done = client.slipway("run", "-d", client.job_file(*words, **more), check=False)
    assert done.returncode != 0, done.stdout
    return done.stderr


# ---- ranks

TALK = """import os, socket
address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
if os.environ["NODE_RANK"] == "0":
    server = socket.create_server(address)
    other, _ = server.accept()
    print("rank 0 heard", other.recv(100).decode(), os.environ["WORLD_SIZE"], os.environ["WORKER_ADDRS"])
else:
    for _ in range(100):
        try:
            socket.create_connection(address).sendall(("rank " + os.environ["NODE_RANK"]).encode())
            break
        except OSError:
            import time; time.sleep(0.1)
"""


def two_nodes_find_each_other(client):
    path = f"{BASE}/talk.py"
    with open(path, "w", encoding="utf-8") as file:
        file.write(TALK)
    job = client.submit(f"python3 {path}", nodes=2)
    seen(client, job, "Complete")
    assert "rank 0 heard rank 1 2 n" in client.log(job), client.log(job)


def frameworks_do_not_believe_that_slurm_started_them(client):
    job = client.submit("echo \"[$SLURM_NTASKS$SLURM_PROCID$SLURM_LOCALID$RANK] $SLURM_JOB_NAME $SLURM_NODEID\"",
                        nodes=2)
    seen(client, job, "Complete")
    assert "[] bash 0" in client.log(job), client.log(job)


# ---- things that break

def a_controller_that_restarts_changes_no_job(client):
    job = client.submit("echo up; sleep 8")
    until("the command", lambda: "up" in client.log(job))      # Slurm says Running before srun has asked it
    seen(client, job, "Running")
    control("stop-controller")
    try:
        away = client.slipway("status", job, "-o", "json", check=False)
        assert "Running" in away.stdout, away.stdout + away.stderr
    finally:
        control("start-controller")
    assert seen(client, job, "Complete")["exit_code"] == 0


def a_login_lost_after_sbatch_gives_one_job(client):
    control("fault", "lose-after")
    done = client.slipway("run", "-d", "--id", "lost-after", client.job_file("sleep 1"), check=False)
    assert done.returncode == 69, (done.returncode, done.stderr)
    client.slipway("run", "-d", "--id", "lost-after", client.job_file("sleep 1"))
    seen(client, "lost-after", "Complete")
    client.had_ids("lost-after", 1)


def a_login_lost_before_sbatch_gives_one_job_in_the_end(client):
    control("fault", "lose-before")
    client.slipway("run", "-d", "--id", "lost-before", client.job_file("sleep 1"), check=False)
    # Until it is known that nothing was started, the first submit counts; then the same id starts it.
    until("one job of that id", lambda: client.slipway("run", "-d", "--id", "lost-before", client.job_file("sleep 1"),
                                                       check=False).returncode == 0 and
          client.status("lost-before")["status"] == "Complete", 180)
    client.had_ids("lost-before", 1)


def two_machines_that_submit_one_id_get_one_job(client):
    others = [Client(client.program) for _ in range(4)]
    threads = [threading.Thread(target=other.slipway, args=("run", "-d", "--id", "same-id",
                                                            other.job_file("sleep 1")),
                                kwargs={"check": False}) for other in others]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seen(others[0], "same-id", "Complete")
    client.had_ids("same-id", 1)
    for other in others:
        other.close()


def the_next_login_host_is_tried(client):
    control("cut", "login1")
    try:
        job = client.submit("echo here")
        seen(client, job, "Complete")
    finally:
        control("mend", "login1")


# ---- what Slurm does by itself

def a_cancel_by_hand_is_canceled(client):
    job = client.submit("sleep 300")
    seen(client, job, "Running")
    client.as_user("scancel", client.slurm_id(job))
    seen(client, job, "Canceled")


def a_pending_job_canceled_by_hand_is_canceled(client):
    job = client.submit("sleep 300", slurm={"begin": "now+1hour"})
    assert client.status(job)["status"] == "Pending" and "start" in client.status(job)["message"], client.status(job)
    client.as_user("scancel", client.slurm_id(job))
    seen(client, job, "Canceled")


def an_array_is_over_when_all_its_tasks_are(client):
    job = client.submit("echo \"task $SLURM_ARRAY_TASK_ID\"; [ $SLURM_ARRAY_TASK_ID != 2 ] || exit 3",
                        slurm={"array": "0-3"}, retry={"max": 0})
    told = seen(client, job, "Error")
    assert told["exit_code"] == 3, told
    assert "task 1\n" in client.slipway("logs", job, "--rank", "1").stdout


def an_array_can_be_canceled(client):
    job = client.submit("sleep 300", slurm={"array": "0-5%2"})
    seen(client, job, "Running")
    client.slipway("cancel", job)
    assert client.status(job)["status"] == "Canceled"
    assert not client.in_queue(job)


def a_dependency_is_waited_for(client):
    first = client.submit("sleep 3")
    second = client.submit("echo second", slurm={"dependency": f"afterok:{client.slurm_id(first)}"})
    told = client.status(second)
    assert told["status"] == "Pending" and told["reason"] == "dependency", told
    seen(client, second, "Complete")
    assert client.status(first)["status"] == "Complete"


def a_dependency_that_fails_ends_the_job(client):
    first = client.submit("sleep 2; exit 3", retry={"max": 0})
    second = client.submit("echo second", slurm={"dependency": f"afterok:{first}"})
    until("it waits", lambda: first in client.status(second)["message"])
    told = seen(client, second, "Error")
    assert told["reason"] == "dependency-failed" and first in told["message"], told
    assert first in client.slipway("why", second).stdout


def a_failed_step_is_never_complete(client):
    # A batch script of somebody else that hides the failure of its step, as the Python SDK's does.
    job = client.submit("true", slurm={"begin": "now+1hour"})
    number = client.as_user("sbatch", "--parsable", "-J", f"tao-job-{job}", "--wrap", "srun false; exit 0", "-o",
                            "/dev/null").strip()
    client.as_user("scancel", client.slurm_id(job))
    with open(f"{BASE}/meta/{job}.1/job", "w", encoding="utf-8") as file:
        file.write(number + "\n")
    until("its end", lambda: number not in client.as_user("squeue", "-h", "-o", "%A"))
    until("accounting", lambda: "FAILED" in client.as_user("sacct", "-n", "-j", number, "--format=State"))
    assert seen(client, job, "Error")["exit_code"] == 1


def parts_of_a_heterogeneous_job_are_one_job(client):
    # Of somebody else's making, as above: ours have equal nodes. The second part waits for the first to let go.
    job = client.submit("true", slurm={"begin": "now+1hour"})
    client.as_user("scancel", client.slurm_id(job))
    name = ("-J", f"tao-job-{job}")
    number = client.as_user("sbatch", "--parsable", *name, "-n1", "-o", "/dev/null", "--wrap", "srun --het-group=0,1 sleep 3",
                            ":", *name, "-n1").split(";")[0].strip()
    with open(f"{BASE}/meta/{job}.1/job", "w", encoding="utf-8") as file:
        file.write(number + "\n")
    until("both parts", lambda: len(client.as_user("squeue", "-h", "-t", "R", "-j", number, "-o", "%i").split()) == 2)
    assert f"{number}+1" in client.as_user("squeue", "-h", "-j", number, "-o", "%i")
    assert client.status(job)["status"] == "Running", client.status(job)
    assert seen(client, job, "Complete")["exit_code"] == 0


def accounting_that_is_away_changes_no_job(client):
    control("stop-accounting")
    try:
        ended = client.submit("exit 3", retry={"max": 0})
        killed = client.submit("sleep 300", retry={"max": 0})
        assert seen(client, ended, "Error")["exit_code"] == 3
        client.running_on(killed)
        kill_by_hand(client, killed)
        client.wait(killed)
        assert seen(client, killed, "Error")["exit_code"] is None           # the controller does not tell the code
    finally:
        control("start-accounting")


def set_memory_of_the_controller(seconds):
    with open("/etc/slurm/slurm.conf", encoding="utf-8") as file:
        text = re.sub(r"(?m)^MinJobAge=.*", f"MinJobAge={seconds}", file.read())
    with open("/etc/slurm/slurm.conf", "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["scontrol", "reconfigure"], check=True)


def what_the_controller_has_forgotten_is_in_the_accounting(client):
    set_memory_of_the_controller(2)
    try:
        job = client.submit("sleep 300", retry={"max": 0})
        client.running_on(job)
        kill_by_hand(client, job)                       # it leaves no word of its own
        until("the controller to forget it", lambda: client.slurm_id(job) not in
              client.as_user("squeue", "-h", "-t", "all", "-o", "%A").split(), 120)
    finally:
        set_memory_of_the_controller(300)
    assert not client.over(job)
    until("accounting", lambda: "Unknown" not in client.as_user("sacct", "-nX", "-j", client.slurm_id(job), "--format=End"))
    told = client.status(job)
    assert (told["status"], told["reason"], told["signal"]) == ("Error", "signal", 9), told


def a_status_file_that_says_failure_is_believed(client):
    job = client.submit("echo '{\"status\": \"FAILURE\"}' > {results_dir}/status.json", retry={"max": 0})
    assert seen(client, job, "Error")["reason"] == "status"


# ---- refused before anything is queued

def what_cannot_run_is_refused_with_the_reason(client):
    long = refused(client, "true", time="2h", slurm={"partition": ["short"]})
    assert "short 10:00" in long and "limit" in long, long
    assert "4 hours" in refused(client, "true", time="5h", slurm={"partition": ["polar", "grizzly"]})
    gone = refused(client, "true", inputs={"/data": f"{BASE}/no-such-input"})
    assert "no-such-input" in gone, gone
    assert "does not see" in refused(client, "true", inputs={"/data": "file:///etc/passwd"})
    assert "does not see" in refused(client, "true", inputs={"/data": "here.json"})
    assert "nosuch" in refused(client, "true", slurm={"partition": ["nosuch"]})


# ---- secrets of a job that had no last word

DEAF = "trap '' TERM; while :; do sleep 1; done"         # only a KILL ends it, and the batch script with it


def cancel_by_hand(client, job):
    client.as_user("scancel", client.slurm_id(job))


def kill_by_hand(client, job):
    client.as_user("scancel", "--batch", "--signal=KILL", client.slurm_id(job))


def lose_its_node(client, job):
    node = client.running_on(job)
    control("lose-node", node)
    until("the end", lambda: not client.in_queue(job))
    control("start-node", node)


ENDINGS = {"canceled-pending": ("sleep 300", {"begin": "now+1hour"}, cancel_by_hand, "Canceled"),
           "canceled": ("sleep 300", {}, cancel_by_hand, "Canceled"),
           "canceled-deaf": (DEAF, {}, cancel_by_hand, "Canceled"),
           "killed": (DEAF, {}, kill_by_hand, "Error"),
           "node-lost": (DEAF, {"requeue": False, "nodelist": ["n4"]}, lose_its_node, "Error"),
           "time-limit": (DEAF, {"use_timeout": False, "signal_ahead": "0s", "exclude": ["n4"]}, lambda client, job: None, "Error")}


def secrets_go_with_the_job_however_slurm_ended_it(client):
    client.environment["T_TOKEN"] = "canary-of-the-endings"
    jobs = {}
    for name, (command, slurm, _, _) in ENDINGS.items():
        jobs[name] = client.submit(command, secrets=["T_TOKEN"], time="1m", retry={"max": 0}, slurm=slurm)
        assert os.stat(f"{BASE}/env/{jobs[name]}.secrets").st_mode & 0o777 == 0o600
    for name, (_, slurm, end, _) in ENDINGS.items():
        if "begin" not in slurm:
            client.running_on(jobs[name])
        end(client, jobs[name])
    for name, (_, _, _, status) in ENDINGS.items():
        client.wait(jobs[name])
        if name in ("killed", "node-lost"):
            assert os.path.exists(f"{BASE}/env/{jobs[name]}.secrets"), name      # nobody had the time
        told = seen(client, jobs[name], status)
        assert not os.path.exists(f"{BASE}/env/{jobs[name]}.secrets"), (name, told)


def secrets_of_an_array_go_with_its_last_task(client):
    client.environment["T_TOKEN"] = "canary-of-the-endings"
    job = client.submit('[ -n "$T_TOKEN" ]', secrets=["T_TOKEN"], slurm={"array": "0-3%2"})
    assert seen(client, job, "Complete")["exit_code"] == 0
    assert not os.path.exists(f"{BASE}/env/{job}.secrets")


# ---- which account is charged (the partition `paid` takes these two, and neither is the user's default)

def account_of(client, job):
    return client.as_user("squeue", "-h", "-t", "all", "-j", client.slurm_id(job), "-o", "%a").strip()


def give_account(name):
    """As the cluster's administrator."""
    for words in (["account", name], ["user", "ann", f"account={name}"]):
        subprocess.run(["sacctmgr", "-i", "-Q", "add", *words], check=True, stdout=subprocess.DEVNULL)


def the_account_is_found_or_asked_for(client):
    paid = {"partition": ["paid"]}
    told = refused(client, "true", slurm=paid)
    assert "nvalid account" in told and "accounts of ann: research" in told, told
    give_account("vision")
    job = until("the controller to know the account", lambda: client.slipway(
        "run", "-d", client.job_file("true", slurm=paid), check=False).stdout.split())[0]
    assert account_of(client, job) == "vision", account_of(client, job)
    seen(client, job, "Complete")
    give_account("language")
    told = refused(client, "true", slurm=paid)
    assert "language,research,vision" in told and "slurm.account" in told, told
    until("the named account", lambda: client.slipway("run", "-d", "--id", "by-language", client.job_file(
        "true", slurm={**paid, "account": "language"}), check=False).returncode == 0)
    assert account_of(client, "by-language") == "language"
    assert "nvalid account" in refused(client, "true", slurm={**paid, "account": "nobody"})


WANTS_ACCOUNT = """function slurm_job_submit(job, partitions, uid)
    if job.account == nil then
        slurm.log_user("an account is required here")
        return slurm.ESLURM_INVALID_ACCOUNT
    end
    return slurm.SUCCESS
end
function slurm_job_modify(job, record, partitions, uid)
    return slurm.SUCCESS
end
"""


def a_site_that_wants_an_account_named_gets_the_default(client):
    with open("/etc/slurm/job_submit.lua", "w", encoding="utf-8") as file:
        file.write(WANTS_ACCOUNT)
    with open("/etc/slurm/slurm.conf", encoding="utf-8") as file:
        before = file.read()
    with open("/etc/slurm/slurm.conf", "w", encoding="utf-8") as file:
        file.write(before + "JobSubmitPlugins=lua\n")
    control("restart-controller")
    try:
        assert "required" in client.as_user("sbatch", "--wrap", "true")
        job = client.submit("true")
        assert account_of(client, job) == "research"
        seen(client, job, "Complete")
    finally:
        with open("/etc/slurm/slurm.conf", "w", encoding="utf-8") as file:
            file.write(before)
        control("restart-controller")


def an_input_is_not_looked_for_when_told_so(client):
    job = client.submit("true", inputs={"/data/x": f"{BASE}/no-such-input"}, slurm={"check": False})
    assert seen(client, job, "Error")["exit_code"] == 74


# ---- beside a running job

def a_command_runs_beside_each_rank(client):
    job = client.submit("cd /tmp; sleep 300", nodes=2, gpus=2, env={"MINE": "a value; with 'signs'"})
    client.running_on(job)
    until("both ranks", lambda: client.slipway("exec", job, "--rank", "1", "--", "sh", "-c", "echo $MINE").stdout.strip() and
          client.slipway("exec", job, "--", "sh", "-c", "echo $MINE").stdout.strip())
    shown = 'echo "$NODE_RANK $SLURMD_NODENAME $MINE $PWD"; exit 75'
    nodes = client.as_user("scontrol", "show", "hostnames", client.running_on(job)).split()
    for rank in (0, 1):
        done = client.slipway("exec", job, "--rank", str(rank), "--", "sh", "-c", shown, check=False)
        assert done.stdout == f"{rank} {nodes[rank]} a value; with 'signs' /tmp\n", (done.stdout, done.stderr)
        assert (done.returncode, done.stderr) == (75, ""), done
    assert client.slipway("exec", job, "--rank", "2", "--", "true", check=False).returncode == 66
    fed = subprocess.run([client.program, "exec", job, "--", "sh", "-c", "wc -c; echo loud >&2"], text=True, env=client.environment,
                         input="x" * 300000, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    assert (fed.stdout.strip(), fed.stderr) == ("300000", "loud\n"), fed
    assert client.status(job)["status"] == "Running"
    client.slipway("cancel", job)


def what_was_said_since_is_told(client):
    job = client.submit("echo early; while [ ! -e {results_dir}/go ]; do sleep 0.2; done; echo late; sleep 300")
    client.running_on(job)
    times = f"{BASE}/meta/{job}.1/times"
    until("the first time", lambda: os.path.exists(times) and os.path.getsize(times))
    after = os.path.getmtime(times)
    until("a later second", lambda: time.time() > after + 2)
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with open(f"{BASE}/results/{job}/go", "w", encoding="utf-8"):
        pass
    until("the late word", lambda: "late" in client.log(job))
    assert client.slipway("logs", job, "--since", since).stdout == "late\n", client.slipway("logs", job, "--since", since).stdout
    assert client.slipway("logs", job, "--since", "1h").stdout == "early\nlate\n"
    client.slipway("cancel", job)


# ---- what a submit costs

def round_trips(client, *words):
    """What one slipway needs: one of them is the hello of its shell."""
    counters = os.path.join(client.home, "counters")
    client.environment["SLIPWAY_SSH_COUNTERS"] = counters
    done = client.slipway(*words)
    del client.environment["SLIPWAY_SSH_COUNTERS"]
    with open(counters, encoding="utf-8") as file:
        trips = sum(json.loads(line)["round_trips"] for line in file.read().splitlines())
    os.unlink(counters)
    return done, trips


def certificates_that_were_named_are_sent_once(client):
    mine = os.path.join(client.home, "mine.pem")
    with open(mine, "w", encoding="utf-8") as file:
        file.write("-----BEGIN CERTIFICATE-----\nTUlORQ==\n-----END CERTIFICATE-----\n")
    client.submit("true")                                          # the runner is there
    client.environment["SSL_CERT_FILE"] = mine
    path = client.job_file("true")
    first, with_them = round_trips(client, "run", "-d", path)
    second, without = round_trips(client, "run", "-d", path)
    del client.environment["SSL_CERT_FILE"]
    assert (with_them, without) == (4, 3), (with_them, without)       # hello, which cluster, and the submit
    names = set()
    for done in (first, second):
        with open(f"{BASE}/entrypoints/job_{done.stdout.split()[0]}.json", encoding="utf-8") as file:
            names.add(json.load(file)["ca"])
    assert len(names) == 1, names
    with open(mine, encoding="utf-8") as ours, open(f"{BASE}/entrypoints/{names.pop()}", encoding="utf-8") as theirs:
        assert ours.read() == theirs.read()


# ---- before the submit

# What is wrong, and the words that both say; a preflight says all of them, a run the first.
BAD_JOBS = [
    ({"gpus": "H100:2"}, ["GPUs of its nodes: gpu:8"]),
    ({"memory": "900GiB"}, ["not available"]),
    ({"slurm": {"partition": ["nosuch"]}}, ["nosuch"]),
    ({"slurm": {"qos": "nosuch"}}, ["nvalid qos"]),
    ({"time": "2h", "slurm": {"partition": ["short"]}}, ["10:00"]),
    ({"image": f"{BASE}/no-such.sqsh", "inputs": {"/data": f"{BASE}/no-such-input"},
      "outputs": {"/results": {"to": "/proc/no/such"}}}, ["no-such.sqsh", "no-such-input", "/proc/no/such"]),
    ({"image": "ubuntu:24.04", "mounts": [f"{BASE}/no-such-mount:/x"]}, ["no-such-mount"]),
    ({"secrets": ["NOT_SET_HERE"]}, ["NOT_SET_HERE"]),
]


def preflight_refuses_what_run_refuses(client):
    for wish, words in BAD_JOBS:
        path = client.job_file("true", **wish)
        said = client.slipway("preflight", path, check=False)
        assert said.returncode == 1 and all(word in said.stdout for word in words), (wish, said.stdout, said.stderr)
        run = client.slipway("run", "-d", path, check=False)
        assert run.returncode not in (0, 69) and words[0] in run.stderr, (wish, run.returncode, run.stderr)
    assert not client.as_user("squeue", "-h").strip(), client.as_user("squeue")


def preflight_refuses_what_slurm_would_queue_for_ever(client):
    for wish in ({"nodes": 9}, {"cpus": 5000}):
        said = client.slipway("preflight", client.job_file("true", **wish), check=False)
        assert said.returncode == 1 and "Slurm refused the job" in said.stdout, (wish, said.stdout)


def preflight_passes_what_runs(client):
    for wish in ({"gpus": 2, "memory": "1GiB"},
                 {"time": "2h", "slurm": {"partition": ["short", "batch"]},
                  "outputs": {"/results": {"to": f"{BASE}/new/folder"}}}):
        said = client.slipway("preflight", client.job_file("true", **wish), check=False)
        assert said.returncode == 0, (wish, said.stdout, said.stderr)


# ---- other clients

def a_job_is_adopted_by_its_id_alone(client):
    job = client.submit("sleep 2; exit 3", retry={"max": 0})
    other = Client(client.program)
    there = {row["id"]: row for row in json.loads(other.slipway("adopt", "--list", "-p", "slurm", "-o", "json").stdout)["jobs"]}
    assert there[job]["state"] in ("Pending", "Running") and there[job]["owner"] == "ann" and there[job]["created_at"], there
    other.slipway("adopt", job, "-p", "slurm")
    assert job not in other.slipway("adopt", "--list", "-p", "slurm").stdout
    assert seen(other, job, "Error")["exit_code"] == 3
    other.close()


def five_hundred_jobs_are_refreshed_in_one_call(client):
    count = int(os.environ.get("SLIPWAY_MANY", "500"))
    path = client.job_file("true", slurm={"begin": "now+1hour"})
    batches = [range(start, count, 4) for start in range(4)]

    def submit(numbers):
        for number in numbers:
            client.slipway("run", "-d", "--id", f"many-{number}", path)

    threads = [threading.Thread(target=submit, args=(numbers,)) for numbers in batches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done, trips = round_trips(client, "ps", "-o", "json", "--limit", str(count))
    told = json.loads(done.stdout)
    assert len([job for job in told["jobs"] if job["status"] == "Pending"]) == count, len(told["jobs"])
    assert trips == 2, trips                                                # hello, and one question
    client.as_user("scancel", "-u", "ann")


HELPERS = ("seen", "refused", "account_of", "give_account", "cancel_by_hand", "kill_by_hand", "lose_its_node",
           "set_memory_of_the_controller", "round_trips")
def status_tells_what_arrives_and_what_was_brought(client):
    def phase():
        return (client.status(job).get("runner") or {}).get("phase")

    with holding.Server() as server:
        job = client.submit("wc -c </in/big; sleep 6", inputs={"/in/big": server.uri})
        until("a heartbeat", lambda: phase() == "prepare")
        assert "inputs are fetched" in client.slipway("status", job).stdout, client.slipway("status", job).stdout
        server.release()
        until("the command", lambda: phase() == "running")
        client.wait(job)
    told = seen(client, job, "Complete")["runner"]
    assert (told["exit_code"], told["in"]) == (0, {"files": 1, "bytes": holding.SIZE}), told
    assert "1 file in, 97.6 KiB" in client.slipway("status", job).stdout


CASES = [value for name, value in list(globals().items())
         if callable(value) and getattr(value, "__module__", "") == __name__ and name not in HELPERS]

if __name__ == "__main__":
    sys.exit(main(CASES, Client))
