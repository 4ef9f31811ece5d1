#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What we write, others read back equal: PyYAML, OmegaConf, tomllib and json.

    readback.py DOC_CONVERT VENV_FOLDER [SEED]

Generated documents go through doc_convert (JSON in, each format out) and then through the
reader of each peer; types must agree too, so 1, 1.0 and true are three different things. The
same documents as written by json and PyYAML must be read equal by us. OmegaConf comes from the
system (scripts/setup installs it), or else from PyPI into VENV_FOLDER; exit status 77 (skipped)
when it cannot be had.
"""
import json
import os
import random
import subprocess
import sys
import tomllib

DOCUMENTS = 600

NASTY = """
no yes on off No NO Yes YES On ON OFF y n Y N true True TRUE false null Null NULL ~ nan inf .nan
.inf -.inf .NaN NaN Infinity 1e3 1E3 1e-3 1.e5 .5 5. +1 -1 1_000 0o7 0O7 0123 0 -0 00 0x1F 0b11
-0x1F 1:30 12:30:45 190:20:30.15 12:30 1.5:30 2024-01-01 2024-01-01T00:00:00Z 2024-1-1 = << ?
- -- --- ... . .. : :: , # ## ! !! !foo & &a * *a % @ ` | > >- |+ [ ] { } [] {} "" '' " ' \\ \\n
a:b a#b a,b a=b key:value http://h:80/p?q=1&r=2 s3://bucket/x ./a ../b /c ~/d -e -1e ${HOME}
$HOME 1.2.3 1.2 v1 H100:8 nvcr.io/nvidia/tao:6.26.3-pyt 99999999999999999999 1__0 _1 _ e3 0x
""".split() + [
    "", " ", "  ", " a", "a ", "a: b", "a #b", "- a", "? a", "a\nb", "a\nb\n", "a\n\nb\n\n", "\n",
    "\na", " a\nb", "a \nb", "a\n b", "a\tb", "\ta", "a\t", "a\r\nb", "a\rb", "it's", 'say "hi"',
    "a\\b", "#!/bin/sh\nset -e\necho 'x' \"y\" # z\n", "null ", "no\n", "1\n", "%YAML 1.1", "--- a",
    "\u00fc", "\u00e9t\u00e9", "\u65e5\u672c\u8a9e", "\U0001f600", "\u0085", "a\u2028b", "a\u2029b",
    "\ufeff", "\ufeffa", "\u00a0", "\u200b", "\x7f", "\x01", "\x1b[31m", "a\x0bb", "\uffff",
    "\ufffd", "\U0010ffff", "word " * 60, "x" * 3000, "a: " * 50, "'" * 20, '"' * 20, "y" * 130,
]
FLOATS = [0.0, -0.0, 0.1, 1.0, 1e3, 1e-5, 1e22, 1e23, 1e300, 5e-324, 1.7976931348623157e308, -2.5,
          3.141592653589793, 0.30000000000000004, 1e16, 123456789.125]
INTS = [0, 1, -1, 8, 1000, 2**31, 2**53 + 1, 2**63 - 1, -2**63]


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def text(self):
        r = self.random
        if r.random() < 0.6:
            return r.choice(NASTY)
        if r.random() < 0.3:
            return r.choice(NASTY) + r.choice(["", " ", "\n", ":", "#"]) + r.choice(NASTY)
        alphabet = "abcXYZ019 _-./:#'\"\\\n\t,[]{}&*!|>%@`?=~<$\u00e9\u65e5\U0001f600"
        return "".join(r.choice(alphabet) for _ in range(r.randint(0, 24)))

    def scalar(self, null):
        r = self.random
        kind = r.randint(0, 9)
        if kind <= 5:
            return self.text()
        if kind == 6:
            return r.choice(FLOATS) if r.random() < 0.5 else r.uniform(-1, 1) * 10 ** r.randint(-9, 9)
        if kind == 7:
            return r.choice(INTS) if r.random() < 0.5 else r.randint(-10**6, 10**6)
        if kind == 8:
            return r.random() < 0.5
        return None if null else "none"

    def value(self, depth, null):
        r = self.random
        if depth > 4 or r.random() < 0.5:
            return self.scalar(null)
        if r.random() < 0.5:
            return [self.value(depth + 1, null) for _ in range(r.randint(0, 4))]
        return self.table(depth + 1, null)

    def table(self, depth, null):
        return {self.text(): self.value(depth, null) for _ in range(self.random.randint(0, 6))}


def same(a, b):
    """Equal in value and in type, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return repr(a) == repr(b) if isinstance(a, float) else a == b


class Converter:
    """One doc_convert process for many documents."""

    def __init__(self, program, source, target):
        self.name = f"{source} -> {target}"
        self.process = subprocess.Popen([program, "--each", source, target], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, text):
        self.process.stdin.write(json.dumps(text) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise ValueError(f"{self.name}: {answer['error']}")
        return answer["text"]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def mentions_interpolation(value):
    """OmegaConf gives ${...} a meaning of its own, and refuses half of one."""
    return "${" in json.dumps(value)


def peers():
    import yaml
    from omegaconf import OmegaConf

    def omegaconf(text):
        return OmegaConf.to_container(OmegaConf.create(text), resolve=False)

    return yaml, [
        ("yaml", "PyYAML", yaml.safe_load, lambda d: True),
        ("yaml", "PyYAML with libyaml", lambda t: yaml.load(t, yaml.CSafeLoader), lambda d: True),
        ("yaml", "OmegaConf", omegaconf, lambda d: d and not mentions_interpolation(d)),
        ("json", "json", json.loads, lambda d: True),
        ("toml", "tomllib", tomllib.loads, lambda d: True),
    ]


def expect(claim, wanted, text, read):
    try:
        got = read(text)
    except Exception as why:                       # a peer may refuse in any way it likes
        got = f"{type(why).__name__}: {why}"
    if same(wanted, got):
        return
    print(f"BROKEN: {claim}\n--- wanted\n{wanted!r}\n--- got\n{got!r}\n--- text\n{text}")
    sys.exit(1)


def check(program, seed):
    yaml, readers = peers()
    generator = Generator(seed)
    write = {f: Converter(program, "json", f) for f in ("yaml", "json", "toml")}
    read = {f: Converter(program, f, "json") for f in ("yaml", "json", "toml")}
    checks = 0
    for i in range(DOCUMENTS):
        for null in (False, True):
            document = generator.table(0, null)
            source = json.dumps(document, ensure_ascii=generator.random.random() < 0.5)
            for form, name, load, applies in readers:
                if (form == "toml" and null) or not applies(document):
                    continue
                text = write[form](source)
                expect(f"{name} reads our {form} (seed {seed}, document {i})", document, text, load)
                expect(f"we read our {form} (seed {seed}, document {i})", document, text,
                       lambda t, form=form: json.loads(read[form](t)))
                checks += 2
            dumped = json.dumps(document, indent=generator.random.choice([None, 2, "\t"]))
            expect(f"we read json's JSON (seed {seed}, document {i})", document, dumped,
                   lambda t: json.loads(read["json"](t)))
            quoted = yaml.safe_dump(document, allow_unicode=True, default_style='"')
            expect(f"we read PyYAML's quoted YAML (seed {seed}, document {i})", document, quoted,
                   lambda t: json.loads(read["yaml"](t)))
            checks += 2
    for converter in [*write.values(), *read.values()]:
        converter.close()
    print(f"{checks} read-backs agree (seed {seed})")


def has_peers(python):
    probe = [python, "-c", "import omegaconf, tomllib, yaml"]
    return os.path.exists(python) and subprocess.run(probe, stderr=subprocess.DEVNULL).returncode == 0


def with_peers(folder):
    """Restart with a Python that has OmegaConf: this one, the system's, or one of a virtual
    environment, made once per build folder."""
    for python in (sys.executable, "/usr/bin/python3"):
        if has_peers(python):
            os.execv(python, [python, *sys.argv, "--inside"])
    python = os.path.join(folder, "bin", "python")
    marker = os.path.join(folder, "ready")
    if not os.path.exists(marker):
        try:
            subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "omegaconf==2.3.0", "PyYAML"],
                           check=True)
        except (OSError, subprocess.CalledProcessError) as why:
            print(f"OmegaConf cannot be installed here, skipped: {why}")
            sys.exit(77)
        open(marker, "w").close()
    os.execv(python, [python, *sys.argv, "--inside"])


def main():
    arguments = [a for a in sys.argv[1:] if a != "--inside"]
    if "--inside" not in sys.argv:
        with_peers(arguments[1])
    check(arguments[0], int(arguments[2]) if len(arguments) > 2 else 20260521)


main()
