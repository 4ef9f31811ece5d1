# SPDX-License-Identifier: Apache-2.0
"""tokens.py - run:ai's tokens: a JWT that is good until its `exp`, and a refresh token that is good once."""
import base64
import hashlib
import hmac
import json
import threading
import time
import uuid

from cloud import Refused
from schema import GRANTS


class Unauthorized(Refused):
    """In OAuth's own words."""

    def __init__(self, word, description):
        super().__init__(401, description, word)


def packed(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unpacked(said):
    return base64.urlsafe_b64decode(said + "=" * (-len(said) % 4))


class Tokens:
    def __init__(self, cloud):
        self.cloud, self.used, self.lock = cloud, set(), threading.Lock()
        self.key = hashlib.sha256(str(cloud.folder).encode()).digest()

    def sign(self, said):
        return packed(hmac.digest(self.key, said.encode(), "sha256"))

    def make(self, who, kind, seconds):
        now = int(time.time())
        said = ".".join(packed(json.dumps(part).encode()) for part in (
            {"alg": "HS256", "typ": "JWT"},
            {"sub": who, "typ": kind, "jti": str(uuid.uuid4()), "iat": now, "exp": now + seconds}))
        return f"{said}.{self.sign(said)}"

    def read(self, token, kind):
        """What it says; None: it is wrong, of another kind or too old."""
        said, _, sign = token.rpartition(".")
        if said.count(".") != 1 or not hmac.compare_digest(self.sign(said), sign):
            return None
        claims = json.loads(unpacked(said.split(".")[1]))
        return claims if claims["typ"] == kind and claims["exp"] > time.time() else None

    def bearer(self, headers):
        """Who asks; Refused."""
        kind, _, token = headers.get("Authorization", "").partition(" ")
        claims = self.read(token, "Bearer") if kind == "Bearer" else None
        if not claims or claims["iat"] < self.cloud.settings["tokens_since"]:
            raise Refused(401, "the access token is missing, wrong or expired")
        return claims["sub"]

    def grant(self, body):
        given = {name.lower(): value for name, value in body.items()}
        needs = GRANTS.get(given.pop("granttype", None))
        if not needs or set(given) != set(needs) or not all(isinstance(value, str) for value in given.values()):
            raise Refused(400, "grantType and its own fields must be given, and nothing else")
        if "refreshtoken" in given:
            return self.refresh(given["refreshtoken"])
        who, secret = (given[name] for name in needs)
        known = self.cloud.settings["clients" if needs[0] == "clientid" else "apps"]
        if who not in known or not hmac.compare_digest(known[who].encode(), secret.encode()):
            raise Unauthorized("unauthorized_client", "Invalid client or Invalid client credentials")
        return self.answer(who)

    def refresh(self, token):
        claims = self.read(token, "Refresh")
        with self.lock:
            if not claims or claims["jti"] in self.used:
                raise Unauthorized("invalid_grant", "Token is not active")
            self.used.add(claims["jti"])
        return self.answer(claims["sub"])

    def answer(self, who):
        seconds = self.cloud.settings["token_s"]
        return {"accessToken": self.make(who, "Bearer", seconds), "idToken": self.make(who, "ID", seconds),
                "refreshToken": self.make(who, "Refresh", self.cloud.settings["refresh_s"]), "expiresIn": seconds}
