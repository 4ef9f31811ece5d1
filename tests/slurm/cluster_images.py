# SPDX-License-Identifier: Apache-2.0
#
# cluster_images.py - container images for the test cluster, made from this machine's own programs.
import json
import os
import re
import shutil
import subprocess

from cluster_config import REGISTRY, UID, folder, run, write

PROGRAMS = ["awk", "bash", "sh", "cat", "chmod", "cp", "cut", "date", "dd", "env", "false", "grep", "head",
            "hostname", "id", "kill", "ln", "ls", "mkdir", "mkfifo", "mv", "nproc", "printenv", "printf", "pwd", "readlink",
            "rm", "sed", "seq", "setsid", "sleep", "sort", "stat", "tail", "test", "touch", "tr", "true", "uname",
            "wc", "whoami"]


def libraries(program):
    said = subprocess.run(["ldd", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return re.findall(r"(/\S+) \(0x", said.stdout)


def make_root(path, name):
    """A small root that can run shell scripts, and says which image it is in IMAGE_NAME."""
    for part in ("bin", "etc", "proc", "sys", "dev", "root", "home", "results"):
        folder(f"{path}/{part}")
    folder(path + "/tmp", 0o1777)
    folder(path + "/usr")
    os.symlink("../bin", path + "/usr/bin")
    for program in filter(None, map(shutil.which, PROGRAMS)):
        shutil.copy(program, path + "/bin/" + os.path.basename(program))
        for library in libraries(program):
            if not os.path.exists(path + library):
                os.makedirs(os.path.dirname(path + library), exist_ok=True)
                shutil.copy(library, path + library)
    write(path + "/etc/environment", f"PATH=/bin:/usr/bin\nIMAGE_NAME={name}\nWHO_WINS=image\n")
    write(path + "/etc/image", name + "\n")


def add_to_registry(registry, image):
    """cluster-control add-image REGISTRY IMAGE:TAG"""
    target = f"{REGISTRY}/{registry}/{image.replace('/', '+')}"
    shutil.rmtree(target, ignore_errors=True)
    make_root(target, image)


def make_squashfs(path):
    """cluster-control make-sqsh PATH"""
    shutil.rmtree(path + ".root", ignore_errors=True)
    make_root(path + ".root", os.path.basename(path))
    run("mksquashfs", path + ".root", path, "-no-progress", "-all-root", "-noappend", "-comp", "gzip",
        "-Xcompression-level", "1")
    shutil.rmtree(path + ".root")


def make_bundle(path, *mounts):
    """cluster-control make-bundle PATH [FOLDER...]: an OCI bundle of a static busybox, for the plain user"""
    for part in ("bin", "proc", "dev", "etc", "tmp", *(mount.lstrip("/") for mount in mounts)):
        folder(f"{path}/rootfs/{part}")
    box = path + "/rootfs/bin/busybox"
    shutil.copy(shutil.which("busybox"), box)
    for applet in subprocess.run([box, "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split():
        if applet != "busybox":
            os.symlink("busybox", f"{path}/rootfs/bin/{applet}")
    write(path + "/rootfs/etc/image", os.path.basename(path) + "\n")
    mapping = [{"containerID": 0, "hostID": UID, "size": 1}]
    write(path + "/config.json", json.dumps({
        "ociVersion": "1.0.2",
        "process": {"user": {"uid": 0, "gid": 0}, "args": ["sh"], "cwd": "/",
                    "env": ["PATH=/bin", "IMAGE_NAME=" + os.path.basename(path)]},
        "root": {"path": "rootfs"},
        "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                   {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]},
                   *({"destination": mount, "type": "bind", "source": mount, "options": ["rbind", "rw"]}
                     for mount in mounts)],
        "linux": {"uidMappings": mapping, "gidMappings": mapping,
                  "namespaces": [{"type": kind} for kind in ("pid", "mount", "user", "ipc", "uts")]}}))
    for folder_path, _, _ in os.walk(path):
        shutil.chown(folder_path, UID, UID)


def want_login(registry, login, password):
    """cluster-control want-login REGISTRY LOGIN PASSWORD"""
    write(f"{REGISTRY}/{registry}/.wants", f"{login} {password}\n")


def slow_imports(seconds):
    """cluster-control slow-imports SECONDS"""
    write(REGISTRY + "/.slow", seconds)
