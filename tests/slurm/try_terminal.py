# SPDX-License-Identifier: Apache-2.0
#
# try_terminal.py - into jobs of a cluster: a terminal through ssh and srun, and ports that pass every byte at once.
#
#   tests/slurm/cluster --nodes 2 -- python3 tests/slurm/try_terminal.py SLIPWAY [CASE...]
import fcntl
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import termios

from cluster_client import BASE, control, main, until

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
import command_line  # noqa: E402

IMAGE = "/media/lustre/terminal.sqsh"
# Says a word without a line's end, and the next one when it was answered.
TALKS = """import socket
server = socket.create_server(("127.0.0.1", {port}))
print("listening", flush=True)
other, _ = server.accept()
other.sendall(b"who")
name = other.recv(100)
other.sendall(b"hello " + name)
other.recv(1)
"""


def terminal(client, *words):
    return command_line.Terminal([client.program, *words], {**client.env, "TERM": "xterm"}, client.folder)


def newest(client):
    return client.json("ps")["jobs"][0]


def kinds():
    """Without a container, and with one where there is an image."""
    if not os.path.exists(IMAGE):
        control("make-sqsh", IMAGE)
    return ([], ["--image", IMAGE])


def a_shell_on_the_terminal_is_a_job_with_its_exit_code(here):
    for kind in kinds():
        screen = terminal(here, "run", "-i", "-p", "slurm", "--name", "inter", "--env", "MINE=yes", *kind)
        screen.type("echo job:$SLIPWAY_JOB_ID:$MINE:$(stty size 2>/dev/null || echo 24 80):$SLURMD_NODENAME\n")
        screen.until(":yes:24 80:n")
        screen.type("test -t 0 && echo is-a-''terminal\n")
        screen.until("is-a-terminal")
        screen.type("exit 7\n")
        assert screen.end() == 7, screen.shown
        job = newest(here)
        assert (job["status"], job["exit_code"]) == ("Error", 7), job


def the_terminal_has_the_size_of_the_window(here):
    screen = terminal(here, "run", "-i", "-p", "slurm")
    screen.type("stty size\n")
    screen.until("24 80")
    fcntl.ioctl(screen.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    os.kill(screen.pid, signal.SIGWINCH)

    def grown():
        screen.type("stty size\n")
        screen.read(1)
        return b"40 100" in screen.shown
    until(grown, "the new size")
    screen.type("exit\n")
    assert screen.end() == 0, screen.shown


def ctrl_c_is_for_the_program(here):
    screen = terminal(here, "run", "-i", "-p", "slurm", "--", "sh", "-c",
                      "trap 'echo heard; exit 5' INT; echo be''gun; while :; do sleep 0.1; done")
    screen.until("begun")
    screen.type("\x03")
    screen.until("heard")
    assert screen.end() == 5, screen.shown


def closing_the_terminal_ends_the_job(here):
    screen = terminal(here, "run", "-i", "-p", "slurm", "--", "sh", "-c", "echo be''gun; sleep 300")
    screen.until("begun")
    job = newest(here)["id"]
    os.close(screen.fd)
    os.waitpid(screen.pid, 0)
    until(lambda: here.status(job)["status"] in ("Canceled", "Error"), "the end of the job")
    until(lambda: not here.in_queue(job), "an empty queue")


def exec_on_a_terminal_has_one(here):
    job = here.submit("sleep 300")
    here.running_on(job)
    screen = terminal(here, "exec", job, "--", "sh", "-c", "test -t 0 && test -t 1 && echo both; exit 3")
    screen.until("both")
    assert screen.end() == 3, screen.shown
    assert not list(pathlib.Path(f"{BASE}/meta/{job}.1").glob("exec.*"))
    here.call("cancel", job)


def files_of_a_container_without_tar_are_copied(here):
    kinds()
    job = here.submit("mkdir /tmp/box; echo one >/tmp/box/a; sleep 300", image=IMAGE)
    here.running_on(job)
    until(lambda: here.call("exec", job, "--", "sh", "-c", "[ -e /tmp/box/a ]", check=False).returncode == 0, "the file")
    assert here.call("exec", job, "--", "sh", "-c", "command -v tar", check=False).returncode != 0
    here.call("cp", f"{job}:/tmp/box", f"{here.folder}/box")
    assert pathlib.Path(here.folder, "box/a").read_text(encoding="utf-8") == "one\n"
    here.file("new", "two\n")
    here.call("cp", f"{here.folder}/new", f"{job}:/tmp/box/")
    assert here.call("exec", job, "--", "sh", "-c", "cat /tmp/box/new").stdout == "two\n"
    here.call("cancel", job)


def every_byte_of_a_port_comes_at_once(here):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = f"{BASE}/talks.py"
    with open(script, "w", encoding="utf-8") as file:
        file.write(TALKS.format(port=port))
    job = here.submit(f"python3 {script}")
    until(lambda: "listening" in here.log(job), "the server")
    forward = subprocess.Popen([here.program, "forward", job, f"{port}:0"], env=here.env, stdout=subprocess.PIPE, text=True)
    local = int(forward.stdout.readline().rsplit(":", 1)[-1])
    with socket.create_connection(("127.0.0.1", local), timeout=command_line.DEADLINE * 2) as mine:
        assert mine.recv(100) == b"who"
        mine.sendall(b"ann")
        assert mine.recv(100) == b"hello ann"
    here.wait(job)
    assert forward.wait(command_line.DEADLINE * 2) == 0


if __name__ == "__main__":
    sys.exit(main(globals()))
