# SPDX-License-Identifier: Apache-2.0
"""bed_keys.py - the authority of one bed, who it vouches for, and the files that say how to reach it."""
import json
import os
import secrets
import subprocess

from bed_api import BED, HOST, PORT

PKI = f"{BED}/pki"
URL = f"https://{HOST}:{PORT}"
CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
SERVER = "DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,IP:127.0.0.1,IP:10.96.0.1,IP:10.89.0.1"
MASTERS = "/O=system:masters"
# Everyone with a certificate of their own. The controllers are masters: else each would need an account first.
CLIENTS = {
    "admin": f"{MASTERS}/CN=admin", "kwok": f"{MASTERS}/CN=bed:kwok", "to-kubelet": f"{MASTERS}/CN=bed:apiserver",
    "controllers": f"{MASTERS}/CN=system:kube-controller-manager", "scheduler": "/CN=system:kube-scheduler",
    "dns": f"{MASTERS}/CN=bed:dns", "real": "/O=system:nodes/CN=system:node:real", "jobset": f"{MASTERS}/CN=bed:jobset",
    "kueue": f"{MASTERS}/CN=bed:kueue", "kuberay": f"{MASTERS}/CN=bed:kuberay",
}


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def make_authority():
    openssl("req", "-x509", *CURVE, "-keyout", f"{PKI}/ca.key", "-out", f"{BED}/ca.crt", "-days", "3650", "-subj", "/CN=bed",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign,digitalSignature")


def sign(name, subject, extension):
    with open(f"{PKI}/{name}.ext", "w", encoding="ascii") as out:
        out.write(f"keyUsage=digitalSignature\n{extension}\n")
    openssl("req", *CURVE, "-keyout", f"{PKI}/{name}.key", "-out", f"{PKI}/{name}.csr", "-subj", subject)
    openssl("x509", "-req", "-in", f"{PKI}/{name}.csr", "-CA", f"{BED}/ca.crt", "-CAkey", f"{PKI}/ca.key",
            "-set_serial", str(secrets.randbits(63)), "-days", "3650", "-extfile", f"{PKI}/{name}.ext",
            "-out", f"{PKI}/{name}.crt")


def write_kubeconfig(path, user, namespace="default", port=PORT):
    """JSON is YAML, too. `user` is the part that proves who asks."""
    with open(path, "w", encoding="ascii", opener=lambda name, flags: os.open(name, flags, 0o600)) as out:
        json.dump({
            "apiVersion": "v1", "kind": "Config", "current-context": "bed",
            "clusters": [{"name": "bed", "cluster": {"server": f"https://{HOST}:{port}", "certificate-authority": f"{BED}/ca.crt"}}],
            "users": [{"name": "bed", "user": user}],
            "contexts": [{"name": "bed", "context": {"cluster": "bed", "user": "bed", "namespace": namespace}}],
        }, out, indent=1)


def certificate(name):
    return {"client-certificate": f"{PKI}/{name}.crt", "client-key": f"{PKI}/{name}.key"}


def make_tokens():
    """Users by token: one who may do all, one who may do nothing until a test says otherwise."""
    tokens = {"token-admin": (secrets.token_hex(24), "system:masters"), "ann": (secrets.token_hex(24), "researchers")}
    with open(f"{PKI}/tokens.csv", "w", encoding="ascii") as out:
        for user, (token, group) in tokens.items():
            out.write(f'{token},{user},{user},"{group}"\n')
    write_kubeconfig(f"{BED}/kubeconfig-token", {"token": tokens["token-admin"][0]})
    write_kubeconfig(f"{BED}/kubeconfig-ann", {"token": tokens["ann"][0]})
    return {user: token for user, (token, _) in tokens.items()}


def make_client(name):
    sign(name, CLIENTS[name], "extendedKeyUsage=clientAuth")
    write_kubeconfig(f"{PKI}/{name}.conf", certificate(name))


def make_all(wanted):
    """Keys and kubeconfigs of those clients; the tokens by user."""
    os.makedirs(PKI, 0o700)
    make_authority()
    sign("apiserver", "/CN=kube-apiserver", f"extendedKeyUsage=serverAuth\nsubjectAltName={SERVER}")
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", f"{PKI}/accounts.key")
    for name in wanted:
        make_client(name)
    write_kubeconfig(f"{BED}/kubeconfig", certificate("admin"))
    return make_tokens()
