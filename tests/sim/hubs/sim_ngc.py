#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A strict stand-in for NGC: its API, its token service and its file host.

    sim_ngc.py TREE     TREE/models/org/team/name/version/..., TREE/resources/org/_/name/version/...

`_` is no team. What belongs to org `pub` is public and readable by guests only through the guest
routes; org `nv` wants a key. The version `pending` of anything is not complete. The highest
version by name is the latest. Keys: nvapi-good and the old key bGVnYWN5LWtleQ== open org `nv`.
"""
import base64
import hashlib
import os
import re
import sys
import time
import urllib.parse
import uuid

from strict_server import FileHost, Handler, State, serve

NEW_KEY, OLD_KEY = "nvapi-good", "bGVnYWN5LWtleQ=="
WORDS = {"models": ("model", "modelVersion", "modelFiles"),
         "resources": ("recipe", "recipeVersion", "recipeFiles")}
LARGEST_PAGE = 1000
PAGE = 2                          # what we really give, to make everyone turn pages
artifacts = {}                    # (route, org, team, name) -> {version: {path: content}}
tokens = {}                       # token -> (scopes, until)


class Api(Handler):
    name = "api"
    token_seconds = 900

    def refuse(self, status, code, words):
        self.reply(status, {"requestStatus": {"statusCode": code, "statusDescription": words,
                                              "requestId": str(uuid.uuid4())}})

    def order(self, path, body):
        if path == "/_sim/forget-tokens":
            tokens.clear()
            return self.reply(200, {})
        return super().order(path, body)

    # ---- who may read what -----------------------------------------------------------------------

    def may(self, org, team):
        """Is the bearer allowed to read this org? Answers itself when not."""
        said = self.headers.get("Authorization", "")
        if not said.startswith("Bearer "):
            self.refuse(401, "UNAUTHORIZED", "No credentials")
            return False
        bearer = said.removeprefix("Bearer ")
        if bearer == OLD_KEY:
            self.wrong(401, "an old key was sent as it is")
            return False
        scopes, until = tokens.get(bearer, (None, 0))
        if bearer != NEW_KEY and (scopes is None or time.time() >= until):
            self.refuse(401, "UNAUTHORIZED", "Invalid or expired token")
            return False
        wanted = f"group/ngc:{org}" + (f"/{team}" if team != "_" else "")
        if org != "nv" or (scopes is not None and wanted not in scopes):
            self.refuse(403, "ACCESS_DENIED", f"Invalid org. Must be one of nv, not {org}")
            return False
        return True

    # ---- routes ----------------------------------------------------------------------------------

    def handle_request(self, path, query, _body):
        if self.command != "GET":
            return self.wrong(405, "method")
        if "json" not in self.headers.get("Accept", "json") and "*/*" not in self.headers["Accept"]:
            return self.wrong(406, "Accept")
        parts = [urllib.parse.unquote(p) for p in path.split("/")[1:]]
        if parts[:1] != ["v2"] or len(parts) < 4:
            return self.wrong(404, "unknown route")
        guest = parts[1] in WORDS
        found = self.cut_guest(parts[1:]) if guest else self.cut_org(parts[1:])
        if not found:
            return self.wrong(404, "unknown route")
        route, org, team, name, rest = found
        if any(len(p) > 128 for p in (org, team, name)):
            return self.wrong(400, "name too long")
        if guest and not self.guest_is_proper():
            return None
        if not guest and not self.may(org, team):
            return None
        versions = artifacts.get((route, org, team, name))
        if versions is None or (guest and org != "pub"):
            return self.refuse(404, "NOT_FOUND", f"Not found: {route} {org}/{name}")
        return self.answer(route, versions, rest, query)

    def guest_is_proper(self):
        if self.headers.get("Authorization"):
            self.wrong(400, "a credential on a guest route")
            return False
        try:
            uuid.UUID(self.headers.get("X-NGC-Guest-Token", ""))
        except ValueError:
            self.wrong(400, "guest without X-NGC-Guest-Token")
            return False
        return True

    @staticmethod
    def cut_org(parts):
        """org/O[/team/T]/models/NAME/..."""
        if parts[0] != "org":
            return None
        org, rest, team = parts[1], parts[2:], "_"
        if rest[:1] == ["team"] and len(rest) >= 2:
            team, rest = rest[1], rest[2:]
        return (rest[0], org, team, rest[1], rest[2:]) if len(rest) >= 2 and rest[0] in WORDS else None

    @staticmethod
    def cut_guest(parts):
        """models/O[/T]/NAME[/versions/...], but links are models/org/O[/team/T]/NAME/V/files"""
        route, rest = parts[0], parts[1:]
        if rest[0] == "org":
            org, rest, team = rest[1], rest[2:], "_"
            if rest[:1] == ["team"] and len(rest) >= 2:
                team, rest = rest[1], rest[2:]
            return (route, org, team, rest[0], rest[1:]) if rest[2:] == ["files"] else None
        at = rest.index("versions") if "versions" in rest else len(rest)
        if at not in (2, 3):
            return None
        return route, rest[0], rest[1] if at == 3 else "_", rest[at - 1], rest[at:]

    def answer(self, route, versions, rest, query):
        artifact, version_word, files_word = WORDS[route]
        if not rest:
            if self.suffered("artifact"):
                return None
            latest = max(v for v in versions if v != "pending")
            return self.reply(200, {artifact: {"name": "x", "latestVersionIdStr": latest}})
        if rest[0] == "versions" and len(rest) in (2, 3):
            files = versions.get(rest[1])
            if files is None:
                return self.refuse(404, "NOT_FOUND", f"Not found: version {rest[1]}")
            if rest[2:] == ["files"]:
                return self.files(files, files_word, query)
            if len(rest) == 2:
                if self.suffered("version"):
                    return None
                status = "UPLOAD_PENDING" if rest[1] == "pending" else "UPLOAD_COMPLETE"
                return self.reply(200, {artifact: {"name": "x"}, version_word: {
                    "versionId": rest[1], "status": status, "totalFileCount": len(files)}})
        if len(rest) == 2 and rest[1] == "files" and rest[0] in versions:
            return self.links(versions[rest[0]], query)
        return self.wrong(404, "unknown route")

    def page(self, query, known):
        pairs = self.pairs(query, known)
        if pairs is None:
            return None
        values = dict(pairs)
        if len(values) != len(pairs):
            return self.wrong(400, "a parameter twice")
        size, number = values.get("page-size", "100"), values.get("page-number", "0")
        if not (size.isdigit() and number.isdigit()) or not 0 < int(size) <= LARGEST_PAGE:
            return self.wrong(400, "page-size")
        return int(number), values

    @staticmethod
    def pagination(number, total):
        return {"index": number, "nextPage": number + 1, "size": PAGE,
                "totalPages": -(-total // PAGE), "totalResults": total}

    def files(self, files, word, query):
        page = self.page(query, ("page-size", "page-number"))
        if not page or self.suffered("list"):
            return None
        number, _ = page
        names = sorted(files)[number * PAGE:(number + 1) * PAGE]
        listed = [{"path": p, "sizeInBytes": len(files[p]), "createdDate": "2026-01-02T03:04:05.678Z",
                   "sha256_base64": base64.b64encode(hashlib.sha256(files[p]).digest()).decode()}
                  for p in names]
        return self.reply(200, {word: listed, "paginationInfo": self.pagination(number, len(files)),
                                "requestStatus": {"statusCode": "SUCCESS", "requestId": "1"}})

    def links(self, files, query):
        page = self.page(query, ("page-size", "page-number", "path"))
        if not page or self.suffered("link"):
            return None
        number, values = page
        if "path" in values and values["path"] not in files:
            return self.refuse(404, "NOT_FOUND", f"Not found: file {values['path']}")
        names = ([values["path"]] if "path" in values
                 else sorted(files)[number * PAGE:(number + 1) * PAGE])
        answer = {"urls": [self.state.link(self.state.addresses["files"], "/" + blob_name(files[p]))
                           for p in names], "filepath": names}
        if "path" not in values:
            answer["paginationInfo"] = self.pagination(number, len(files))
        return self.reply(200, answer)


class Auth(Handler):
    name = "auth"

    def handle_request(self, path, query, _body):
        if self.command != "GET" or path != "/token":
            return self.wrong(404, "unknown route")
        if self.suffered("token"):
            return None
        pairs = self.pairs(query, ("service", "scope"))
        if pairs is None:
            return None
        scopes = [v for k, v in pairs if k == "scope"]
        if ("service", "ngc") not in pairs or not all(
                re.fullmatch(r"group/ngc:[\w.-]+(/[\w.-]+)?", s) for s in scopes):
            return self.wrong(400, "service or scope")
        expected = "Basic " + base64.b64encode(f"$oauthtoken:{OLD_KEY}".encode()).decode()
        if self.headers.get("Authorization") != expected:
            return self.reply(401, {"code": "401", "message": "Invalid API key"})
        if any(not s.startswith("group/ngc:nv") for s in scopes):
            return self.reply(403, {"code": "403", "message": "Invalid org"})
        token = uuid.uuid4().hex
        tokens[token] = (scopes, time.time() + Api.token_seconds)
        return self.reply(200, {"token": token, "expires_in": Api.token_seconds})


class Files(FileHost):
    def content_of(self, path):
        return blobs.get(path[1:])


blobs = {}


def blob_name(content):
    return hashlib.sha256(content).hexdigest()


def load(tree):
    for route in WORDS:
        for at, _, names in os.walk(os.path.join(tree, route)):
            parts = os.path.relpath(at, tree).split(os.sep)
            for name in names:
                with open(os.path.join(at, name), "rb") as f:
                    content = f.read()
                _, org, team, artifact, version = parts[:5]
                versions = artifacts.setdefault((route, org, team, artifact), {})
                versions.setdefault(version, {})["/".join([*parts[5:], name])] = content
                blobs[blob_name(content)] = content


if __name__ == "__main__":
    load(sys.argv[1])
    serve(State(), api=Api, auth=Auth, files=Files)
