#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's own ngcsdk and we see the same in the same stand-in.

    hubs_peers_ngc.py SIM_FOLDER STORAGE_FETCH VENV_FOLDER

That the client accepts the stand-in shows that the stand-in is like NGC; that both trees are equal
shows that we are like the client. It comes from PyPI into VENV_FOLDER; exit status 77 (skipped)
when it cannot be had. The client speaks https to any host, so the stand-in does too.
"""
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from hub_scene import NGC_PLANTS, Peer, Stage, claim, finish, peer_python, tree  # noqa: E402

FETCH, VENV = sys.argv[2:4]
NEW_KEY, OLD_KEY = "nvapi-good", "bGVnYWN5LWtleQ=="
KINDS = {"model": "models", "resource": "resources"}

# Runs inside the venv: sign in, list and download with the client, tell what it saw. The answers
# are held against the limits the client knows of its server (isValid).
PEER = """
from ngcsdk import Client
from ngcbase.errors import NgcException

def look(kind, target, org, team, place):
    artifact, _, version = target.partition(":")
    client = Client()
    client.configure(org_name=org or None, team_name=team or None)
    here = getattr(client.registry, kind)
    about = here.info(artifact)
    latest = (about.model if kind == "model" else about.recipe).latestVersionIdStr
    version = version or latest
    whole = here.download_version(target, destination=place)
    files = list(here.list_files(f"{artifact}:{version}"))
    versions = here.list(artifact)
    some = here.download_version(target, destination=place + "/some", file_patterns=[files[-2:][0].path])
    if not all(answer.isValid() for answer in [about, here.info(f"{artifact}:{version}"), *files, *versions]):
        raise ValueError("an answer is not valid")
    return {"files": {f.path: [f.sizeInBytes, f.sha256_base64] for f in files},
            "versions": [v.versionId for v in versions], "latest": latest, "version": version,
            "ended": [whole.status, some.status], "whole": whole.path, "some": some.path}

def answer(*words):
    try:
        return look(*words)
    except (NgcException, ValueError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
"""


def settings(stage, key):
    """One environment for the client and for us."""
    trusted = f"{stage.certificates}/ca.crt"
    keys = {"NGC_CLI_API_KEY": key, "NGC_API_KEY": "nvapi-second"} if key else {}
    return stage.environment(NGC_CLI_API_URL=stage.sim.at["api"], NGC_CLI_AUTH_URL=stage.sim.at["auth"],
                             SSL_CERT_FILE=trusted, REQUESTS_CA_BUNDLE=trusted,
                             NGC_CLI_PROGRESS_BAR_STYLE="NONE", **keys)


class Peers:
    """The client reads its key when it is imported, so each key has a process of its own."""

    def __init__(self, python, stage):
        self.start = lambda key: Peer(python, PEER, settings(stage, key))
        self.by_key = {}

    def of(self, key):
        if key not in self.by_key:
            self.by_key[key] = self.start(key)
        return self.by_key[key]

    def close(self):
        for peer in self.by_key.values():
            peer.close()


def ask_peer(peers, stage, kind, target, key, team, guest=False):
    place = stage.place()
    (place / "some").mkdir(parents=True)
    return peers.of(key).ask(settings(stage, key), kind, target, "" if guest else "nv", team, place)


def ask_us(stage, target, key):
    place = stage.place()
    done = subprocess.run([FETCH, f"ngc://{target}", place, "7000"], env=settings(stage, key),
                          capture_output=True, text=True, timeout=120)
    return done, tree(place) if place.exists() else {}


def compare(peers, stage):
    for kind, target, key, team, version in (
            ("model", "nv/team1/net:1.0", NEW_KEY, "team1", "1.0"),
            ("model", "nv/team1/net:1.0", OLD_KEY, "team1", "1.0"),
            ("model", "nv/team1/net", OLD_KEY, "", "2.0"),
            ("model", "nv/solo:1.0+cu12 b", NEW_KEY, "", "1.0+cu12 b"),
            ("resource", "nv/recipes:1", NEW_KEY, "", "1"),
            ("resource", "nv/recipes:1", OLD_KEY, "", "1"),
            ("resource", "nv/team1/kit", NEW_KEY, "team1", "3"),
            ("model", "pub/tao/free:v1", NEW_KEY, "team1", "v1"),
            ("model", "pub/tao/free:v1", OLD_KEY, "", "v1"),
            ("model", "pub/tao/free:v1", None, "", "v1"),
            ("resource", "pub/guide", None, "", "v1"),
            ("resource", "pub/guide", OLD_KEY, "", "v1")):
        name = f"{kind} {target} with {key or 'no key'}"
        parts = target.partition(":")[0].split("/")
        planted = stage.planted("/".join([KINDS[kind], parts[0], parts[1] if len(parts) == 3 else "_", parts[-1],
                                          version]))
        answer = ask_peer(peers, stage, kind, target, key, team, guest=not key)
        claim(f"{name}: the client lists it", answer.get("version") == version and
              {path: size for path, (size, _) in answer["files"].items()} ==
              {path: len(content) for path, content in planted.items()} and version in answer["versions"], answer)
        claim(f"{name}: the client downloads it", "error" not in answer and tree(answer["whole"]) == planted and
              tree(answer["some"]) == {p: planted[p] for p in sorted(planted)[-2:][:1]} and
              answer["ended"] == ["Completed", "Completed"], answer)
        done, ours = ask_us(stage, target, key)
        claim(f"{name}: we download the same, byte for byte", done.returncode == 0 and ours == planted,
              f"{done.stderr} {sorted(ours)}")


def compare_config_file(python, stage):
    """Of the keys in the client's own file both use the current one."""
    config = stage.root / "home/.ngc/config"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"[nvapi-other]\napikey = nvapi-other\norg = x\n\n[CURRENT]\napikey = {NEW_KEY}\norg = nv\n")
    peers = Peers(python, stage)                   # a client that finds the file
    answer = ask_peer(peers, stage, "model", "nv/team1/net:2.0", None, "")
    peers.close()
    done, ours = ask_us(stage, "nv/team1/net:2.0", None)
    planted = stage.planted("models/nv/team1/net/2.0")
    claim("the key of the client's config file: the client uses it", "error" not in answer and
          tree(answer["whole"]) == planted, answer)
    claim("the key of the client's config file: so do we", done.returncode == 0 and ours == planted, done.stderr)
    config.unlink()


def compare_refusals(peers, stage):
    for kind, target, key, error, our_words in (
            ("model", "nv/team1/nothing:1", NEW_KEY, "ResourceNotFoundException", "no such model or resource"),
            ("resource", "nv/recipes:9", OLD_KEY, "ResourceNotFoundException", "no such model or resource"),
            ("model", "nv/team1/net:pending", NEW_KEY, "is not in state UPLOAD_COMPLETE", "UPLOAD_PENDING"),
            ("model", "nv/team1/terms:1", NEW_KEY, "accept terms", "not accepted"),
            ("resource", "nv/terms:1", OLD_KEY, "accept terms", "not accepted"),
            ("model", "nv/team1/net:1.0", "nvapi-bad", "Invalid SAK key", "NGC_CLI_API_KEY"),
            ("model", "nv/team1/net:1.0", "YmFk", "Invalid apikey", "NGC_CLI_API_KEY"),
            ("model", "nv/team1/net:1.0", None, "ResourceNotFoundException", "NGC_KEY")):
        name = f"{kind} {target} with {key or 'no key'}"
        answer = ask_peer(peers, stage, kind, target, key, "", guest=not key)
        done, ours = ask_us(stage, target, key)
        claim(f"{name}: the client is refused", error in answer.get("error", ""), answer)
        claim(f"{name}: so are we, and say why", done.returncode != 0 and our_words in done.stderr and not ours,
              done.stderr)


def main():
    python = peer_python(VENV, "ngcsdk==4.37.0", "ngcsdk")
    with Stage("sim_ngc.py", NGC_PLANTS, secure=True) as stage:
        peers = Peers(python, stage)
        compare(peers, stage)
        compare_config_file(python, stage)
        compare_refusals(peers, stage)
        peers.close()
        complaints = stage.sim.order("report")["violations"]
        claim("the stand-in has nothing to complain about, of either", not complaints, "\n".join(complaints))
    finish()


main()
