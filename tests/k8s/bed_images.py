# SPDX-License-Identifier: Apache-2.0
"""bed_images.py - images of a bed with a real node, made of local files and imported without a registry."""
import hashlib
import io
import json
import os
import sys
import tarfile

from bed_parts import HERE, folder_of

sys.path.insert(0, os.path.join(HERE, "../docker"))
from engine_api import busybox_tar  # noqa: E402

BUSYBOX, EMPTY, TINY = (f"slipway.test/{name}:1" for name in ("busybox", "empty", "tiny"))
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def layer(files):
    """A layer that holds these programs; with none, one that holds nothing."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o755
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


def config_of(content, command):
    return json.dumps({
        "architecture": ARCHITECTURES[os.uname().machine], "os": "linux",
        "config": {"Env": ["PATH=/bin"], **({"Cmd": command} if command else {})},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(content).hexdigest()]}}).encode()


def write_archive(path):
    """One archive with every image, as `ctr images import` takes it."""
    with open(f"{folder_of('tiny')}/tiny", "rb") as file:
        tiny = file.read()
    images = {BUSYBOX: (busybox_tar(), ["/bin/sh"]), EMPTY: (layer({}), None), TINY: (layer({"tiny": tiny}), ["/tiny"])}
    manifest, written = [], set()
    with tarfile.open(path, "w") as tar:
        def add(name, content):
            if name not in written:
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
                written.add(name)
            return name
        for name, (content, command) in images.items():
            config = config_of(content, command)
            manifest.append({"RepoTags": [name], "Config": add(hashlib.sha256(config).hexdigest() + ".json", config),
                             "Layers": [add(hashlib.sha256(content).hexdigest() + ".tar", content)]})
        add("manifest.json", json.dumps(manifest).encode())
