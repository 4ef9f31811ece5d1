#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face and NGC, end to end against the strict stand-ins, in good and bad weather.

    hubs.py SIM_FOLDER STORAGE_FETCH [SLIPWAY]

What arrives must be byte for byte what was planted, and the stand-ins must have nothing to
complain about: no token at the file host, nothing wrongly encoded, no unknown route. With the
program given, its `cp` does the same through the transfer engine.
"""
import http.client
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
from hub_scene import HF_PLANTS, NGC_PLANTS, Stage, claim, finish, tree  # noqa: E402

FETCH = sys.argv[2]
SLIPWAY = sys.argv[3] if len(sys.argv) > 3 else None
GOOD_HF = {"HF_TOKEN": "hf_good"}
NEW_KEY = {"NGC_KEY": "nvapi-good"}
OLD_KEY = {"NGC_API_KEY": "bGVnYWN5LWtleQ=="}
NOT_FOUND, CREDENTIAL, UNREACHABLE, CONFLICT, IO, UNSUPPORTED = 66, 77, 69, 68, 74, 78   # exit codes
WEATHER = ("429", "503", "drop")
HF_QUESTIONS = ("revision", "tree", "paths-info", "resolve", "small", "files")


class Hubs:
    """Runs our side of a scene."""

    def __init__(self, stage, engine):
        self.stage, self.engine = stage, engine
        at = stage.sim.at
        self.where = ({"HF_ENDPOINT": at["hub"]} if "hub" in at
                      else {"NGC_CLI_API_URL": at["api"], "NGC_CLI_AUTH_URL": at["auth"]})

    def run(self, uri, place, settings, *more):
        command = ([SLIPWAY, "cp", "-r", uri, place] if self.engine
                   else [FETCH, uri, place, *more])
        return subprocess.run(command, env=self.stage.environment(**self.where, **settings),
                              capture_output=True, text=True, timeout=120)

    def arrives(self, name, uri, planted, settings, *more):
        place = self.stage.place()
        done = self.run(uri, place, settings, *more)
        got = tree(place) if place.exists() else {}
        claim(name, done.returncode == 0 and got == self.stage.planted(planted),
              done.stderr + f"\ngot {sorted(got)}")

    def survives(self, name, uri, planted, settings, *more, faults):
        """The faults must have been played: weather that never came proves nothing."""
        self.stage.sim.faults(*faults)
        self.arrives(name, uri, planted, settings, *more)
        left = self.stage.sim.order("report")["unplayed"]
        claim(f"... and the fault did happen ({name})", not left, str(left))
        self.stage.sim.faults()

    def is_refused(self, name, uri, settings, code, *words):
        done = self.run(uri, self.stage.place(), settings)
        said = done.stderr
        claim(name, done.returncode == code and all(w in said for w in words) and
              "hf_good" not in said and "nvapi-good" not in said and "Signature" not in said, said)

    def is_clean(self, name):
        report = self.stage.sim.order("report")
        claim(name, not report["violations"], "\n".join(report["violations"]))


def engine_manners(hubs, uri, planted, settings):
    """What a user of cp and ls expects of any storage."""
    stage, place = hubs.stage, hubs.stage.place()
    wanted = stage.planted(planted)
    hubs.run(uri, place, settings)
    before = stage.sim.order("report")["requests"]["files"]
    done = hubs.run(uri, place, settings)
    after = stage.sim.order("report")["requests"]["files"]
    claim(f"{uri}: a second cp fetches nothing", done.returncode == 0 and before == after, done.stderr)
    (place / sorted(wanted)[0]).write_bytes(b"spoilt")
    done = hubs.run(uri, place, settings)
    claim(f"{uri}: a spoilt file is mended", tree(place) == wanted, done.stderr)
    environment = stage.environment(**hubs.where, **settings)
    name = next(n for n in sorted(wanted) if "/" in n and wanted[n])
    single = stage.place()
    done = subprocess.run([SLIPWAY, "cp", f"{uri}/{name}", single], env=environment,
                          capture_output=True, text=True, timeout=60)
    claim(f"{uri}: one file arrives", single.is_file() and single.read_bytes() == wanted[name],
          done.stderr)
    done = subprocess.run([SLIPWAY, "cp", f"{uri}/{name.split('/')[0]}", stage.place()],
                          env=environment, capture_output=True, text=True, timeout=60)
    claim(f"{uri}: a folder without -r says so", done.returncode != 0 and "folder" in done.stderr,
          done.stderr)
    done = subprocess.run([SLIPWAY, "ls", "-r", uri], env=environment, capture_output=True, text=True,
                          timeout=60)
    claim(f"{uri}: ls names every file", done.returncode == 0 and all(n in done.stdout for n in wanted),
          done.stdout + done.stderr)


def hugging_face(engine):
    with Stage("sim_hf.py", HF_PLANTS) as stage:
        hubs, sim = Hubs(stage, engine), stage.sim
        model, whole = "hf_model://org/name", "models/org/name"
        hubs.arrives("a public model arrives without a token", model, whole, {})
        hubs.arrives("a model arrives in ranges", model, whole, GOOD_HF, "1000")
        hubs.arrives("a dataset arrives", "hf_dataset://org/data", "datasets/org/data", GOOD_HF)
        hubs.arrives("a reference with slashes is understood", model + "@refs/pr/1", whole, {})
        hubs.arrives("a tag is understood", model + "@v1.0", whole, {})
        hubs.arrives("a renamed model is found", "hf_model://old/name", whole, GOOD_HF)
        hubs.arrives("a gated model opens to who was granted access", "hf_model://gated/name",
                     "models/gated/name", GOOD_HF)
        hubs.arrives("a private model opens to its owner", "hf_model://private/name",
                     "models/private/name", GOOD_HF)
        hubs.arrives("a folder arrives", model + "/deep/", whole + "/deep", {})

        hubs.is_refused("a gated model says so", "hf_model://gated/name", {"HF_TOKEN": "hf_plain"},
                        CREDENTIAL, "gated")
        hubs.is_refused("a private model asks for HF_TOKEN", "hf_model://private/name", {},
                        CREDENTIAL, "HF_TOKEN")
        hubs.is_refused("a missing model says so", "hf_model://org/nothing", GOOD_HF,
                        NOT_FOUND, "no such repository")
        hubs.is_refused("a missing revision says so", model + "@nothing", {}, NOT_FOUND,
                        "nothing")
        hubs.is_refused("a bad token says so", model, {"HF_TOKEN": "hf_bad"}, CREDENTIAL,
                        "HF_TOKEN", "refused")
        hubs.is_refused("a file above 50 GB says why not", "hf_model://org/big", {}, UNSUPPORTED,
                        "Xet", "50.1 GB")
        hubs.is_refused("offline is offline", model, {"HF_HUB_OFFLINE": "1"}, UNREACHABLE,
                        "HF_HUB_OFFLINE")

        for where in HF_QUESTIONS if not engine else ("revision", "tree", "resolve", "files"):
            for what in WEATHER:
                hubs.survives(f"{what} at {where} is survived", model, whole, GOOD_HF, "20000",
                              faults=[{"where": where, "what": what}])
        hubs.survives("a second page that fails is asked for again", model, whole, GOOD_HF,
                      faults=[{"where": "tree", "what": "503", "times": 2, "after": 1}])
        hubs.survives("a rate limit is waited out", model, whole, GOOD_HF,
                      faults=[{"where": "tree", "what": "ratelimit"}])
        for where in ("small", "files"):
            hubs.survives(f"a body cut short at {where} is fetched again", model, whole, {},
                          faults=[{"where": where, "what": "cut", "times": 2}])
        hubs.survives("links that expire are asked for again", model, whole, GOOD_HF, "20000",
                      faults=[{"where": "files", "what": "403", "times": 3, "after": 1}])
        if not engine:
            sim.faults({"where": "files", "what": "corrupt"})
            hubs.is_refused("a changed byte is noticed", model, {}, IO, "digest")
        else:
            hubs.survives("a changed byte is noticed, and fetched again", model, whole, {},
                          faults=[{"where": "files", "what": "corrupt"},
                                  {"where": "small", "what": "corrupt"}])
            engine_manners(hubs, model, whole, GOOD_HF)
        sim.faults()
        push = (f"{sys.executable} -c \"import urllib.request as u; u.urlopen(u.Request("
                f"'{sim.control}/_sim/push', b'null'))\"")
        if not engine:
            hubs.arrives("a push in the middle of a download mixes nothing", model, whole, {}, "0",
                         push)
        else:
            sim.order("push")
        hubs.arrives("after a push the new version arrives", model, whole + "@2", {})
        hubs.is_clean("the hub has nothing to complain about")


def ngc(engine):
    with Stage("sim_ngc.py", NGC_PLANTS) as stage:
        hubs, sim = Hubs(stage, engine), stage.sim
        model, whole = "ngc://nv/team1/net:1.0", "models/nv/team1/net/1.0"
        hubs.arrives("a model arrives with a new key", model, whole, NEW_KEY)
        hubs.arrives("a model arrives with an old key, in ranges", model, whole, OLD_KEY, "7000")
        hubs.arrives("latest is the highest version", "ngc://nv/team1/net:latest",
                     "models/nv/team1/net/2.0", NEW_KEY)
        hubs.arrives("no version is the latest", "ngc://nv/team1/net", "models/nv/team1/net/2.0",
                     OLD_KEY)
        hubs.arrives("a resource arrives", "ngc://nv/recipes:1", "resources/nv/_/recipes/1", NEW_KEY)
        hubs.arrives("a public model arrives as a guest", "ngc://pub/tao/free:v1",
                     "models/pub/tao/free/v1", {})
        hubs.arrives("a public resource arrives as a guest", "ngc://pub/guide",
                     "resources/pub/_/guide/v1", {})
        hubs.arrives("a public model arrives with a key of another org", "ngc://pub/tao/free:v1",
                     "models/pub/tao/free/v1", OLD_KEY)
        for where, key in (("token", OLD_KEY), ("version", NEW_KEY)):
            hubs.survives(f"a public model arrives with a key that is refused at {where}", "ngc://pub/tao/free:v1",
                          "models/pub/tao/free/v1", key, faults=[{"where": where, "what": "403"}])
        hubs.arrives("a version may have signs that a name has not", "ngc://nv/solo:1.0+cu12 b",
                     "models/nv/_/solo/1.0+cu12 b", NEW_KEY)
        hubs.arrives("a folder arrives", model + "/w/", whole + "/w", NEW_KEY)
        config = stage.root / "home/.ngc/config"
        config.parent.mkdir(parents=True)
        config.write_text(";WARNING\n[CURRENT]\napikey = nvapi-good\norg = nv\n")
        hubs.arrives("the client's own config file is used", model, whole, {})
        config.unlink()

        hubs.is_refused("a bad key says so", model, {"NGC_KEY": "nvapi-bad"}, CREDENTIAL, "NGC_KEY",
                        "expired token")
        hubs.is_refused("no key says so", model, {}, NOT_FOUND, "NGC_KEY")
        hubs.is_refused("a missing model says so", "ngc://nv/team1/nothing:1", NEW_KEY,
                        NOT_FOUND, "no such model or resource")
        hubs.is_refused("a missing version says so", "ngc://nv/team1/net:9", NEW_KEY, NOT_FOUND,
                        "net:9")
        hubs.is_refused("a version that is not complete is not used", "ngc://nv/team1/net:pending",
                        NEW_KEY, CONFLICT, "UPLOAD_PENDING")
        hubs.is_refused("terms that were not accepted: the error says where", "ngc://nv/terms:1", OLD_KEY,
                        CREDENTIAL, "not accepted", "catalog.ngc.nvidia.com/orgs/nv/resources/terms?version=1")

        for where in ("token", "version", "list", "link", "files"):
            for what in WEATHER:
                hubs.survives(f"{what} at {where} is survived", model, whole, OLD_KEY,
                              faults=[{"where": where, "what": what}])
        hubs.survives("a body cut short is fetched again", model, whole, NEW_KEY,
                      faults=[{"where": "files", "what": "cut", "times": 2}])
        hubs.survives("links that expire are asked for again", model, whole, NEW_KEY, "7000",
                      faults=[{"where": "files", "what": "403", "times": 3, "after": 1}])
        hubs.survives("a token that ran out is exchanged again", model, whole, OLD_KEY,
                      faults=[{"where": "link", "what": "401"}])
        if not engine:
            sim.faults({"where": "files", "what": "corrupt"})
            hubs.is_refused("a changed byte is noticed", model, NEW_KEY, IO, "digest")
        else:
            hubs.survives("a changed byte is noticed, and fetched again", model, whole, NEW_KEY,
                          faults=[{"where": "files", "what": "corrupt"}])
            engine_manners(hubs, model, whole, NEW_KEY)
        sim.faults()
        hubs.is_clean("NGC has nothing to complain about")


def strictness():
    """The stand-ins do complain: each of these is one entry in the report."""
    bad_hub = [
        ("files", "/repos/x?Expires=1&Signature=2", {"Authorization": "Bearer hf_good"}, 400),
        ("files", "/repos/x?Expires=9999999999&Signature=2", {}, 403),
        ("hub", "/api/models/org/name/revision/refs/pr/1", {}, 404),
        ("hub", "/api/models/org/name/tree/main?recursive=true&made=up", {}, 400),
        ("hub", "/api/models/org/name/tree/main/a%20b//x", {}, 400),
        ("hub", "/org/name/resolve/main/%2e%2e/x", {}, 400),
        ("hub", "/api/models/org/name/revision/" + "x" * 300, {}, 400),
        ("hub", "/made/up/route", {}, 404),
        ("hub", "/org/name/resolve/main/" + "x" * 9000, {}, 414),
    ]
    bad_ngc = [
        ("files", "/x?Expires=1&Signature=2", {"Authorization": "Bearer nvapi-good"}, 400),
        ("files", "/x?Expires=1&Signature=2", {"X-NGC-Guest-Token": "1"}, 400),
        ("api", "/v2/models/pub/tao/free", {}, 400),
        ("api", "/v2/models/pub/team/tao/free/versions/v1", {}, 404),
        ("api", "/v2/org/nv/team/team1/models/net", {"Authorization": "Bearer bGVnYWN5LWtleQ=="}, 401),
        ("api", "/v2/org/nv/team/team1/models/net?made=up", {"Authorization": "Bearer nvapi-good"}, 400),
        ("api", "/v2/org/nv/team/team1/models/net/versions?sort-order=ODD", {"Authorization": "Bearer nvapi-good"}, 400),
        ("api", "/v2/orgs?page-size=5000", {"Authorization": "Bearer nvapi-good"}, 400),
        ("api", "/v3/keys/get-caller-info", {}, 405),
        ("auth", "/token?scope=group/ngc:nv", {}, 400),
        ("api", "/v2/org/nv/team/team1/models/net/versions/1.0/files?page-size=5000",
         {"Authorization": "Bearer nvapi-good"}, 400),
    ]
    for program, plants, rows in (("sim_hf.py", HF_PLANTS, bad_hub), ("sim_ngc.py", NGC_PLANTS, bad_ngc)):
        with Stage(program, plants) as stage:
            for at, path, headers, status in rows:
                host = stage.sim.at[at].removeprefix("http://")
                link = http.client.HTTPConnection(host, timeout=10)
                link.request("GET", path, headers=headers)
                got = link.getresponse().status
                link.close()
                claim(f"{program} refuses {path[:60]}", got == status, str(got))
            count = len(stage.sim.order("report")["violations"])
            claim(f"{program} wrote all of it down", count == len(rows), str(count))


strictness()
for through_engine in [False, True] if SLIPWAY else [False]:
    print("---- through " + ("slipway cp" if through_engine else "single operations"))
    hugging_face(through_engine)
    ngc(through_engine)
finish()
