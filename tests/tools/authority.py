# SPDX-License-Identifier: Apache-2.0
"""authority.py - certificates for tests of https, made when they are needed and gone with their folder.

    authority.py FOLDER        makes them from the command line

`openssl` makes them; no key is ever kept in the repository. In the folder afterwards, each with its key
NAME.key: ca.crt, an authority; other.crt, one that signed nothing; good.crt for 127.0.0.1 and localhost;
expired.crt; elsewhere.crt, for another host; alone.crt, signed by itself.
"""
import os
import subprocess
import sys

HERE = "subjectAltName=IP:127.0.0.1,DNS:localhost"
LEAVES = {                      # name: (days, names in it)
    "good": (30, HERE),
    "expired": (-1, HERE),
    "elsewhere": (30, "subjectAltName=DNS:storage.example.org"),
}


def openssl(folder, *words):
    done = subprocess.run(["openssl", *words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"openssl {words[0]}: {done.stderr}")


def key_of(folder, name):
    openssl(folder, "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{name}.key")


def root(folder, name, *extensions):
    key_of(folder, name)
    openssl(folder, "req", "-x509", "-new", "-key", f"{name}.key", "-days", "30", "-subj", f"/CN=slipway test {name}",
            "-out", f"{name}.crt", *(word for extension in extensions for word in ("-addext", extension)))


def leaf(folder, name, days, names):
    key_of(folder, name)
    with open(f"{folder}/{name}.ext", "w", encoding="ascii") as out:
        out.write(f"{names}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n")
    openssl(folder, "req", "-new", "-key", f"{name}.key", "-subj", "/CN=slipway test", "-out", f"{name}.csr")
    openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
            "-days", str(days), "-extfile", f"{name}.ext", "-out", f"{name}.crt")


def make(folder):
    os.makedirs(folder, mode=0o700, exist_ok=True)
    root(folder, "ca", "keyUsage=critical,keyCertSign,cRLSign")
    root(folder, "other", "keyUsage=critical,keyCertSign,cRLSign")
    root(folder, "alone", HERE)
    for name, (days, names) in LEAVES.items():
        leaf(folder, name, days, names)
    return folder


if __name__ == "__main__":
    make(sys.argv[1])
