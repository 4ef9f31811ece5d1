#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face and NGC over https: whom we believe, and where tokens never go.

    hubs_secure.py SIM_FOLDER SLIPWAY

Hub and file host are different hosts of one stand-in; it writes down every credential that reaches the
file host, and the report at the end must be empty.
"""
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from hub_scene import HF_PLANTS, NGC_PLANTS, Stage, claim, finish, tree  # noqa: E402

SLIPWAY = sys.argv[2]
REFUSED = 76


def copy(stage, uri, settings, authority="ca", **more):
    place = stage.place()
    trusted = f"{stage.certificates}/{authority}.crt"
    done = subprocess.run([SLIPWAY, "cp", "-r", uri, place], capture_output=True, text=True, timeout=120,
                          env=stage.environment(SSL_CERT_FILE=trusted, **settings, **more))
    return done, place


def hub_over_https(name, program, plants, uri, planted, settings, addresses):
    with Stage(program, plants, secure=True) as stage:
        settings = {**settings, **{variable: stage.sim.at[at] for variable, at in addresses.items()}}
        done, place = copy(stage, uri, settings)
        claim(f"{name}: a model arrives over https, its files from another host",
              done.returncode == 0 and tree(place) == stage.planted(planted), done.stderr)
        done, place = copy(stage, uri, settings, authority="other")
        claim(f"{name}: a hub of an unknown authority is refused, with the remedy",
              done.returncode == REFUSED and "SSL_CERT_FILE" in done.stderr and
              stage.sim.at[next(iter(addresses.values()))].removeprefix("https://") in done.stderr, done.stderr)
        for secret in ("hf_good", "nvapi-good"):
            claim(f"{name}: {secret} is not in the message", secret not in done.stderr, done.stderr)
        stage.sim.faults({"where": "files", "what": "cut", "times": 2})
        done, place = copy(stage, uri, settings)
        claim(f"{name}: a body cut inside TLS is fetched again",
              done.returncode == 0 and tree(place) == stage.planted(planted), done.stderr)
        claim(f"{name}: ... and it was cut", not stage.sim.order("report")["unplayed"])
        before = stage.sim.order("report")["requests"]["files"]
        stage.sim.order("plain", True)
        done, place = copy(stage, uri, settings)
        report = stage.sim.order("report")
        claim(f"{name}: a file host without TLS is refused", done.returncode == REFUSED and "TLS" in done.stderr,
              done.stderr)
        claim(f"{name}: ... before anything is asked there", report["requests"]["files"] == before, str(report))
        claim(f"{name}: no credential reached the file host", not report["violations"],
              "\n".join(report["violations"]))


hub_over_https("hugging face", "sim_hf.py", HF_PLANTS, "hf_model://org/name", "models/org/name",
               {"HF_TOKEN": "hf_good"}, {"HF_ENDPOINT": "hub"})
hub_over_https("ngc", "sim_ngc.py", NGC_PLANTS, "ngc://nv/team1/net:1.0", "models/nv/team1/net/1.0",
               {"NGC_KEY": "nvapi-good"}, {"NGC_CLI_API_URL": "api", "NGC_CLI_AUTH_URL": "auth"})
finish()
