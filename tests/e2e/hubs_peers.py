#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real huggingface_hub and we see the same in the same stand-in.

    hubs_peers.py SIM_FOLDER STORAGE_FETCH VENV_FOLDER

That the library accepts the stand-in shows that the stand-in is like the hub; that both trees are
equal shows that we are like the library. It comes from PyPI into VENV_FOLDER; exit status 77
(skipped) when it cannot be had.
"""
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from hub_scene import HF_PLANTS, Peer, Stage, claim, finish, peer_python, tree  # noqa: E402

FETCH, VENV = sys.argv[2:4]
LIBRARY = "huggingface_hub==2.4.0"

# Runs inside the venv: list and download with the library, tell what it saw.
PEER = """
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError

def answer(repo, kind, revision, place):
    try:
        snapshot_download(repo, repo_type=kind, revision=revision, local_dir=place)
        entries = HfApi().list_repo_tree(repo, repo_type=kind, revision=revision, recursive=True)
        seen = {e.path: e.lfs.sha256 if e.lfs else e.blob_id for e in entries if hasattr(e, "size")}
        paths = HfApi().get_paths_info(repo, sorted(seen)[:3], repo_type=kind, revision=revision)
        return {"files": seen, "asked": [p.path for p in paths]}
    except (GatedRepoError, RepositoryNotFoundError, RevisionNotFoundError) as error:
        return {"error": type(error).__name__}
"""


def environment_of(stage, settings):
    return stage.environment(HF_ENDPOINT=stage.sim.at["hub"], HF_HUB_DISABLE_TELEMETRY="1",
                             HF_HUB_DISABLE_PROGRESS_BARS="1", HF_HUB_DISABLE_XET="1",
                             HF_HUB_DISABLE_UPDATE_CHECK="1", **settings)


def ask_peer(peer, stage, repo, kind, revision, settings):
    place = stage.place()
    answer = peer.ask(environment_of(stage, settings), repo, kind, revision, place)
    return answer, tree(place) if place.exists() else {}


def ask_us(stage, uri, settings):
    place = stage.place()
    done = subprocess.run([FETCH, uri, place, "7000"], capture_output=True, text=True, timeout=120,
                          env=stage.environment(HF_ENDPOINT=stage.sim.at["hub"], **settings))
    return done.returncode, tree(place) if place.exists() else {}


def compare(peer, stage):
    for repo, kind, revision, token, planted in (
            ("org/name", "model", "main", {}, "models/org/name"),
            ("org/name", "model", "refs/pr/1", {"HF_TOKEN": "hf_good"}, "models/org/name"),
            ("org/data", "dataset", "v1.0", {"HF_TOKEN": "hf_good"}, "datasets/org/data"),
            ("gated/name", "model", "main", {"HF_TOKEN": "hf_good"}, "models/gated/name"),
            ("old/name", "model", "main", {"HF_TOKEN": "hf_good"}, "models/org/name")):
        name = f"{kind} {repo}@{revision}"
        answer, theirs = ask_peer(peer, stage, repo, kind, revision, token)
        code, ours = ask_us(stage, f"hf_{kind}://{repo}@{revision}", token)
        claim(f"{name}: the library lists and downloads it", "error" not in answer and
              theirs == stage.planted(planted) and set(answer["files"]) == set(theirs), answer)
        claim(f"{name}: we download the same, byte for byte", code == 0 and ours == theirs,
              f"{code} {sorted(ours)} {sorted(theirs)}")


def compare_refusals(peer, stage):
    for repo, revision, token, error in (
            ("gated/name", "main", {"HF_TOKEN": "hf_plain"}, "GatedRepoError"),
            ("private/name", "main", {}, "RepositoryNotFoundError"),
            ("org/nothing", "main", {"HF_TOKEN": "hf_good"}, "RepositoryNotFoundError"),
            ("org/name", "nothing", {}, "RevisionNotFoundError")):
        answer, _ = ask_peer(peer, stage, repo, "model", revision, token)
        code, _ = ask_us(stage, f"hf_model://{repo}@{revision}", token)
        claim(f"{repo}@{revision}: both are refused", answer.get("error") == error and code != 0, answer)


def main():
    python = peer_python(VENV, LIBRARY, "huggingface_hub")
    with Stage("sim_hf.py", HF_PLANTS) as stage:
        peer = Peer(python, PEER, environment_of(stage, {}))
        compare(peer, stage)
        compare_refusals(peer, stage)
        peer.close()
        complaints = stage.sim.order("report")["violations"]
        claim("the stand-in has nothing to complain about, of either", not complaints,
              "\n".join(complaints))
    finish()


main()
