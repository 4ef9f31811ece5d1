# SPDX-License-Identifier: Apache-2.0
"""certificates.py - an authority of our own and what it signs, for servers that the tests start."""
import subprocess

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def run(*argv, **more):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **more).stdout


def make_authority(folder, name="ca"):
    """FOLDER/NAME.pem and FOLDER/NAME-key.pem."""
    run("openssl", "req", "-x509", *KEY, "-keyout", f"{folder}/{name}-key.pem",
        "-out", f"{folder}/{name}.pem", "-days", "2", "-subj", f"/CN=test authority {name}")


def sign(folder, cert, key, names=None, authority="ca"):
    """FOLDER/CERT and FOLDER/KEY from that authority; `names` is a subjectAltName."""
    with open(f"{folder}/extensions", "w") as out:
        out.write(f"subjectAltName={names}\n" if names else "extendedKeyUsage=clientAuth\n")
    run("openssl", "req", *KEY, "-keyout", f"{folder}/{key}", "-out", f"{folder}/request",
        "-subj", "/CN=test")
    run("openssl", "x509", "-req", "-in", f"{folder}/request", "-CA", f"{folder}/{authority}.pem",
        "-CAkey", f"{folder}/{authority}-key.pem", "-CAcreateserial", "-days", "2",
        "-extfile", f"{folder}/extensions", "-out", f"{folder}/{cert}")
