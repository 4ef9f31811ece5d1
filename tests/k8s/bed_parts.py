# SPDX-License-Identifier: Apache-2.0
"""bed_parts.py - what a bed is made of, and where it lies once it is built.

Each part has a folder of its own below the user's cache, named after the content of what it is built from:
every checkout of one user shares them, and a changed source is another part. SLIPWAY_TEST_K8S names another
place. HOME is not asked: tests have one of their own.
"""
import hashlib
import os
import pwd

HERE = os.path.dirname(os.path.realpath(__file__))
SOURCES = {"kubemini": ["kubemini"], "tiny": ["tiny.c"], "crds": ["crds.txt"], "jobset": ["jobset"], "kueue": ["kueue"],
           "kuberay": ["kuberay"]}


def cache():
    return os.environ.get("SLIPWAY_TEST_K8S") or \
        os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".cache/slipway-tests/k8s")


def files_of(part):
    for name in SOURCES[part]:
        path = os.path.join(HERE, name)
        if os.path.isdir(path):
            yield from (os.path.join(path, inside) for inside in sorted(os.listdir(path)))
        else:
            yield path


def version_of(part):
    known = hashlib.sha256(os.uname().machine.encode())
    for path in files_of(part):
        with open(path, "rb") as file:
            known.update(os.path.basename(path).encode() + b"\0" + file.read() + b"\0")
    return known.hexdigest()[:16]


def folder_of(part):
    return os.path.join(cache(), f"{part}-{version_of(part)}")


def is_built(part):
    return os.path.exists(os.path.join(folder_of(part), "built"))
