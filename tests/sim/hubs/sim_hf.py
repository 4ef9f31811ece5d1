#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A strict stand-in for the Hugging Face Hub and its file host.

    sim_hf.py TREE      TREE/models/org/name/..., TREE/datasets/org/name/...

A folder `name@2` beside `name` is the commit that POST /_sim/push makes the head of `main`.
Organisations give the rest away: `gated` and `private` want tokens, `old/x` was renamed to
`org/x`. Files of 4 KiB and more, and *.bin, are large files that live on the file host; a file
*.huge pretends to have 50.1 GB. Tokens: hf_good may read all, hf_plain no gated repository.
"""
import hashlib
import json
import os
import sys
import urllib.parse

from strict_server import FileHost, Handler, State, serve

LARGE = 4096
PAGE = 3
HUGE = 50_100_000_000
LONGEST_REVISION = 255


class File:
    def __init__(self, path, content):
        self.path, self.content = path, content
        self.oid = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        self.sha256 = hashlib.sha256(content).hexdigest()
        self.large = len(content) >= LARGE or path.endswith((".bin", ".huge"))
        self.size = HUGE if path.endswith(".huge") else len(content)
        self.etag = self.sha256 if self.large else self.oid

    def entry(self):
        entry = {"type": "file", "oid": self.oid, "size": self.size, "path": self.path}
        if self.large:
            entry["lfs"] = {"oid": self.sha256, "size": self.size, "pointerSize": 135}
        return entry


class Commit:
    def __init__(self, folder):
        self.files = {}
        for at, _, names in os.walk(folder):
            for name in names:
                full = os.path.join(at, name)
                path = os.path.relpath(full, folder)
                with open(full, "rb") as f:
                    self.files[path] = File(path, f.read())
        told = "".join(f"{p} {f.oid}\n" for p, f in sorted(self.files.items()))
        self.sha = hashlib.sha1(told.encode()).hexdigest()

    def entries(self, below, recursive):
        """Entries below a folder in the order of their paths; None: there is no such folder."""
        prefix = below + "/" if below else ""
        found = {}
        for path, file in self.files.items():
            if not path.startswith(prefix):
                continue
            parts = path[len(prefix):].split("/")
            for depth in range(1, len(parts)):
                folder = prefix + "/".join(parts[:depth])
                if recursive or depth == 1:
                    found[folder] = {"type": "directory", "oid": "0" * 40, "size": 0, "path": folder}
            if recursive or len(parts) == 1:
                found[path] = file.entry()
        return [found[p] for p in sorted(found)] if found or not below else None


class Repo:
    def __init__(self, folder):
        first = Commit(folder)
        self.commits = {first.sha: first}
        self.refs = {"main": first.sha, "refs/pr/1": first.sha, "v1.0": first.sha}
        self.next = None
        if os.path.isdir(folder + "@2"):
            self.next = Commit(folder + "@2")
            self.commits[self.next.sha] = self.next

    def commit(self, revision):
        return self.commits.get(self.refs.get(revision, revision))


class Hub(Handler):
    name = "hub"
    repos = {}            # ("models", "org/name") -> Repo
    blobs = {}            # sha256 -> content

    def refuse(self, status, code, message):
        self.reply(status, {"error": message},
                   [("X-Error-Code", code), ("X-Error-Message", message)])

    def order(self, path, body):
        if path == "/_sim/push":
            for repo in self.repos.values():
                if repo.next:
                    repo.refs["main"] = repo.next.sha
            return self.reply(200, {})
        return super().order(path, body)

    # ---- who may read what -----------------------------------------------------------------------

    def token(self):
        """hf_good, hf_plain, None; False: the request is answered already."""
        said = self.headers.get("Authorization")
        if said is None:
            return None
        if said not in ("Bearer hf_good", "Bearer hf_plain"):
            self.reply(401, {"error": "Invalid credentials in Authorization header"},
                       [("X-Error-Message", "Invalid credentials in Authorization header")])
            return False
        return said.removeprefix("Bearer ")

    def repo(self, kind, name):
        """The repository, or None when the request is answered already."""
        token = self.token()
        if token is False:
            return None
        repo = self.repos.get((kind, name))
        org = name.split("/")[0]
        if repo is None or (org == "private" and token != "hf_good"):
            self.refuse(404 if token else 401, "RepoNotFound", "Repository not found")
            return None
        if org == "gated" and token != "hf_good":
            self.refuse(403 if token else 401, "GatedRepo", "Access to it is restricted")
            return None
        return repo

    # ---- routes ----------------------------------------------------------------------------------

    def handle_request(self, path, query, body):
        parts = path.split("/")[1:]
        if parts[0] == "api" and len(parts) > 1 and parts[1] == "resolve-cache":
            return self.cached_file(parts[2:])
        if parts[0] == "api" and len(parts) >= 6 and parts[1] in ("models", "datasets"):
            name = "/".join(parts[2:4])
            if parts[2] == "old":
                target = "/".join(["/api", parts[1], "org", *parts[3:]])
                return self.reply(307, b"", [("Location", target + ("?" + query if query else ""))])
            routes = {"revision": self.revision, "tree": self.tree, "paths-info": self.paths_info}
            route = routes.get(parts[4])
            if route:
                return route(parts[1], name, parts[5], parts[6:], query, body)
        kind = "datasets" if parts[0] == "datasets" else "models"
        rest = parts[1:] if kind == "datasets" else parts
        if len(rest) >= 5 and rest[2] == "resolve":
            return self.resolve(kind, rest, query)
        return self.wrong(404, "unknown route")

    def method(self, *allowed):
        if self.command in allowed:
            return True
        self.wrong(405, "method")
        return False

    def commit_of(self, repo, coded):
        """What a revision of the address means, or None when answered. `/` must be coded."""
        revision = urllib.parse.unquote(coded)
        if len(revision) > LONGEST_REVISION:
            self.wrong(400, "revision too long")
            return None
        commit = repo.commit(revision)
        if commit is None:
            self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return commit

    def revision(self, kind, name, coded, rest, query, _body):
        if rest:
            return self.wrong(404, "unknown route (is the revision encoded?)")
        if not self.method("GET") or self.suffered("revision") or self.pairs(
                query, ("expand", "expand[]", "blobs", "securityStatus")) is None:
            return None
        repo = self.repo(kind, name)
        commit = repo and self.commit_of(repo, coded)
        if not commit:
            return None
        answer = {"_id": "1", "id": name, "sha": commit.sha, "private": False, "gated": False}
        if not query:
            answer["siblings"] = [{"rfilename": p} for p in sorted(commit.files)]
            answer.update({"tags": [], "downloads": 0, "likes": 0, "disabled": False})
        return self.reply(200, answer)

    def tree(self, kind, name, coded, rest, query, _body):
        if not self.method("GET") or self.suffered("tree"):
            return None
        pairs = self.pairs(query, ("recursive", "expand", "cursor", "limit"))
        repo = self.repo(kind, name) if pairs is not None else None
        commit = repo and self.commit_of(repo, coded)
        if not commit:
            return None
        values = {k: v.lower() for k, v in pairs}
        below = "/".join(urllib.parse.unquote(p) for p in rest)
        entries = commit.entries(below, values.get("recursive") == "true")
        if entries is None:
            return self.refuse(404, "EntryNotFound", f"{below} does not exist on this revision")
        start = int(values.get("cursor", "0"))
        headers = []
        if start + PAGE < len(entries):
            keep = urllib.parse.urlencode([(k, v) for k, v in pairs if k != "cursor"])
            base = self.state.addresses["hub"] + self.path.partition("?")[0]
            headers = [("Link", f'<{base}?{keep}&cursor={start + PAGE}>; rel="next"')]
        return self.reply(200, entries[start:start + PAGE], headers)

    def paths_info(self, kind, name, coded, rest, query, body):
        if rest or query or not self.method("POST") or self.suffered("paths-info"):
            return rest and self.wrong(404, "unknown route (is the revision encoded?)")
        form = self.headers.get("Content-Type", "").startswith("application/x-www-form-urlencoded")
        try:
            paths = (urllib.parse.parse_qs(body.decode())["paths"] if form
                     else json.loads(body)["paths"])
        except (ValueError, KeyError, TypeError):
            return self.wrong(400, "body without paths")
        if not form and self.headers.get("Content-Type") != "application/json":
            return self.wrong(400, "Content-Type")
        if len(paths) > 1000:
            return self.wrong(413, "too many paths")
        repo = self.repo(kind, name)
        commit = repo and self.commit_of(repo, coded)
        if not commit:
            return None
        known = {e["path"]: e for e in commit.entries("", True)}
        return self.reply(200, [known[p] for p in paths if p in known])

    # ---- files -----------------------------------------------------------------------------------

    def resolve(self, kind, rest, query):
        name, coded = "/".join(rest[:2]), rest[3]
        path = "/".join(urllib.parse.unquote(p) for p in rest[4:])
        if not self.method("GET", "HEAD") or self.suffered("resolve"):
            return None
        if self.command == "HEAD" and self.headers.get("Accept-Encoding") != "identity":
            return self.wrong(400, "HEAD without Accept-Encoding: identity")
        if rest[0] == "old":
            target = ("/datasets" if kind == "datasets" else "") + "/org/" + "/".join(rest[1:])
            return self.reply(307, b"", [("Location", target)])
        repo = self.repo(kind, name)
        commit = repo and self.commit_of(repo, coded)
        if not commit:
            return None
        file = commit.files.get(path)
        headers = [("X-Repo-Commit", commit.sha)]
        if not file:
            return self.reply(404, b"Entry not found", [("X-Error-Code", "EntryNotFound"), *headers])
        if file.large:
            link = self.state.link(self.state.addresses["files"], "/repos/" + file.sha256)
            headers += [("X-Linked-Etag", f'"{file.sha256}"'), ("X-Linked-Size", str(file.size)),
                        ("ETag", '"of-the-redirect"'), ("Location", link)]
            return self.reply(302, b"Found. Redirecting", headers)
        target = f"/api/resolve-cache/{kind}/{name}/{commit.sha}/" + urllib.parse.quote(path)
        return self.reply(307, b"Temporary Redirect. Redirecting", [*headers, ("Location", target)])

    def cached_file(self, parts):
        if not self.method("GET", "HEAD") or self.suffered("small"):
            return None
        repo = self.repo(parts[0], "/".join(parts[1:3]))
        commit = repo and self.commit_of(repo, parts[3])
        if not commit:
            return None
        file = commit.files["/".join(urllib.parse.unquote(p) for p in parts[4:])]
        headers = [("X-Repo-Commit", commit.sha), ("ETag", f'"{file.oid}"')]
        return self.send_content(file.content, headers, where="small")


class Cdn(FileHost):
    def content_of(self, path):
        return Hub.blobs.get(path.removeprefix("/repos/"))


def load(tree):
    for kind in ("models", "datasets"):
        for org in sorted(os.listdir(os.path.join(tree, kind))):
            for name in sorted(os.listdir(os.path.join(tree, kind, org))):
                if "@" not in name:
                    Hub.repos[kind, f"{org}/{name}"] = Repo(os.path.join(tree, kind, org, name))
    for repo in Hub.repos.values():
        for commit in repo.commits.values():
            Hub.blobs.update({f.sha256: f.content for f in commit.files.values() if f.large})


if __name__ == "__main__":
    load(sys.argv[1])
    serve(State(), hub=Hub, files=Cdn)
