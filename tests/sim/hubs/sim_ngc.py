#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A strict stand-in for NGC: its API, its token service and its file host.

    sim_ngc.py TREE     TREE/models/org/team/name/version/..., TREE/resources/org/_/name/version/...

`_` is no team. What belongs to org `pub` is public: guests read it through the guest routes only,
everybody with a good key through those of the org. Org `nv` wants a key of its own: nvapi-good or
the old bGVnYWN5LWtleQ==. The version `pending` of anything is not complete, the terms of what is
called `terms` are not accepted. The highest version by name is the latest.

What NVIDIA's own client (ngcsdk 4.37.0, tests/e2e/hubs_peers_ngc.py) does and expects:
- It changes http:// of NGC_CLI_API_URL and NGC_CLI_AUTH_URL to https://, whatever the host.
- It checks an nvapi- key with POST /v3/keys/get-caller-info, without Authorization; an old one by
  its orgs and teams. All of that before the first question about a model.
- With a key it never takes a guest route, even for what is public.
- It asks for links with a token without scope, and for everything else with org and team.
- It asks for links without page-size, and counts pages as totalResults // size + 1: often one more
  than there are.
- It asks for an empty file with `Range: bytes=0--1`.
- It takes 412, when files are listed, for terms that were not accepted in the catalogue.
- Its tables of the answers: a version is 1 to 255 signs without '/', a name up to 128, a path up to
  1023; statusCode is one of a list (CODES: those used here); nextPage is a text; size is the number
  of results in the page.
Concluded from that, not seen, since the client would be of no use otherwise: the routes of an org open
what is public to any key; the token service gives tokens for orgs the key does not belong to; a token
without scope opens whatever the key opens; a page after the last is empty; the odd range is ignored.
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
OWN, PUBLIC = "nv", "pub"
WORDS = {"models": ("model", "modelVersion", "modelFiles"),
         "resources": ("recipe", "recipeVersion", "recipeFiles")}
CODES = ("UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "INVALID_REQUEST", "SUCCESS")
ORDERS = ("SEMVER_ASC", "SEMVER_DESC", "CREATED_DATE_ASC", "CREATED_DATE_DESC")
DATE = "2026-01-02T03:04:05.678Z"
LARGEST_PAGE = 1000
PAGE = 2                          # what we really give, to make everyone turn pages
artifacts = {}                    # (route, org, team, name) -> {version: {path: content}}
tokens = {}                       # token -> (scopes, until)


class Account(Handler):
    """Who asks: keys, tokens, orgs and teams; and how pages are turned."""
    name = "api"

    def refuse(self, status, code, words):
        self.reply(status, {"requestStatus": self.status(code, words)})

    def agree(self, answer):
        self.reply(200, {**answer, "requestStatus": self.status("SUCCESS")})

    @staticmethod
    def status(code, words=None):
        assert code in CODES
        return {"statusCode": code, "requestId": str(uuid.uuid4()),
                **({"statusDescription": words} if words else {})}

    def order(self, path, body):
        if path == "/_sim/forget-tokens":
            tokens.clear()
            return self.reply(200, {})
        return super().order(path, body)

    def scopes(self):
        """What the bearer was limited to, [] is no limit; None: it is no good, and the answer says so."""
        said = self.headers.get("Authorization", "")
        if not said.startswith("Bearer "):
            return self.refuse(401, "UNAUTHORIZED", "No credentials")
        bearer = said.removeprefix("Bearer ")
        if bearer == OLD_KEY:
            return self.wrong(401, "an old key was sent as it is")
        scopes, until = tokens.get(bearer, ([], time.time() + 1 if bearer == NEW_KEY else 0))
        if time.time() >= until:
            return self.refuse(401, "UNAUTHORIZED", "Invalid or expired token")
        return scopes

    def may(self, org, team):
        """Is the bearer allowed to read this org? Answers itself when not."""
        scopes = self.scopes()
        if scopes is None:
            return False
        if org not in (OWN, PUBLIC) or (scopes and scope_of(org, team) not in scopes):
            self.refuse(403, "FORBIDDEN", f"Invalid org. Must be one of {OWN}, not {org}")
            return False
        return True

    def caller_info(self, query, body):
        """The key in a form tells whose it is; there is no other credential."""
        if self.command != "POST" or query:
            return self.wrong(405, "method")
        form = urllib.parse.parse_qs(body.decode())
        if self.headers.get("Authorization") or list(form) != ["credentials"] or \
                self.headers.get("Content-Type") != "application/x-www-form-urlencoded":
            return self.wrong(400, "a form with credentials, and no other credential")
        if form["credentials"] != [NEW_KEY]:
            return self.refuse(401, "UNAUTHORIZED", "Invalid key")
        roles = [{"org": {"name": OWN}, "team": {"name": team}} for team in teams()]
        return self.agree({"type": "PERSONAL_KEY", "orgName": OWN, "user": {"roles": roles}})

    def groups(self, parts, query):
        """orgs, org/O/teams: where the key belongs."""
        word, names = ("organizations", [OWN]) if parts == ["orgs"] else ("teams", teams())
        page = self.page(query, ("page-size", "page-number"))
        if not page or (self.scopes() is None if parts == ["orgs"] else not self.may(parts[1], "_")):
            return None
        return self.page_of([{"name": n, "displayName": n.upper()} for n in names], word, page[0])

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

    def page_of(self, items, word, number):
        shown = items[number * PAGE:(number + 1) * PAGE]
        return self.agree({word: shown, "paginationInfo": pagination(number, len(shown), len(items))})


class Api(Account):
    token_seconds = 900

    # ---- routes ----------------------------------------------------------------------------------

    def handle_request(self, path, query, body):
        if path == "/v3/keys/get-caller-info":
            return self.caller_info(query, body)
        if self.command != "GET":
            return self.wrong(405, "method")
        if "json" not in self.headers.get("Accept", "json") and "*/*" not in self.headers["Accept"]:
            return self.wrong(406, "Accept")
        parts = [urllib.parse.unquote(p) for p in path.split("/")[1:]]
        if parts == ["v2", "orgs"] or (parts[:2] == ["v2", "org"] and parts[3:] == ["teams"]):
            return self.groups(parts[1:], query)
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
        if versions is None or (guest and org != PUBLIC):
            return self.refuse(404, "NOT_FOUND", f"Not found: {route} {org}/{name}")
        if name == "terms" and rest[-1:] == ["files"]:
            return self.refuse(412, "INVALID_REQUEST", "Terms of use are not accepted")
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
            if self.pairs(query, ("resolve-labels",)) is None or self.suffered("artifact"):
                return None
            latest = max(v for v in versions if v != "pending")
            return self.agree({artifact: {"name": "x", "latestVersionIdStr": latest, "createdDate": DATE}})
        if rest == ["versions"]:
            return self.versions(versions, version_word + "s", query)
        if rest[0] == "versions" and len(rest) in (2, 3):
            files = versions.get(rest[1])
            if files is None:
                return self.refuse(404, "NOT_FOUND", f"Not found: version {rest[1]}")
            if rest[2:] == ["files"]:
                return self.files(files, files_word, query)
            if len(rest) == 2:
                if self.pairs(query, ()) is None or self.suffered("version"):
                    return None
                return self.agree({artifact: {"name": "x"}, version_word: describe(rest[1], files)})
        if len(rest) == 2 and rest[1] == "files" and rest[0] in versions:
            return self.links(versions[rest[0]], query)
        return self.wrong(404, "unknown route")

    def versions(self, versions, word, query):
        page = self.page(query, ("page-size", "page-number", "sort-order"))
        if not page or self.suffered("versions"):
            return None
        number, values = page
        order = values.get("sort-order", ORDERS[0])
        if order not in ORDERS:
            return self.wrong(400, "sort-order")
        names = sorted(versions, reverse=order.endswith("DESC"))
        return self.page_of([describe(v, versions[v]) for v in names], word, number)

    def files(self, files, word, query):
        page = self.page(query, ("page-size", "page-number"))
        if not page or self.suffered("list"):
            return None
        listed = [{"path": p, "sizeInBytes": len(files[p]), "createdDate": DATE,
                   "sha256_base64": base64.b64encode(hashlib.sha256(files[p]).digest()).decode()}
                  for p in sorted(files)]
        return self.page_of(listed, word, page[0])

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
            answer["paginationInfo"] = pagination(number, len(names), len(files))
        return self.agree(answer)


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
        if any(re.split("[:/]", s)[2] not in (OWN, PUBLIC) for s in scopes):
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


def scope_of(org, team):
    return f"group/ngc:{org}" + (f"/{team}" if team != "_" else "")


def teams():
    return sorted({team for _, org, team, _ in artifacts if org == OWN and team != "_"})


def describe(version, files):
    return {"versionId": version, "status": "UPLOAD_PENDING" if version == "pending" else "UPLOAD_COMPLETE",
            "totalFileCount": len(files), "totalSizeInBytes": sum(map(len, files.values())),
            "createdDate": DATE, "storageVersion": "V2"}


def pagination(number, shown, total):
    pages = -(-total // PAGE)
    return {"index": number, "nextPage": str(number + 1) if number + 1 < pages else "", "size": shown,
            "totalPages": pages, "totalResults": total}


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
