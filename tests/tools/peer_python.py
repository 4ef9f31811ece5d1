# SPDX-License-Identifier: Apache-2.0
"""peer_python.py - a python that has a library of others from PyPI."""
import os
import subprocess
import sys


def peer_python(folder, library, module, only=None):
    """The python of a venv that has this library; exit status 77 (skipped) when it cannot be had. `only`: it needs
    these and not all that it names."""
    python = os.path.join(folder, "bin", "python")
    ready = subprocess.run([python, "-c", f"import {module}"], capture_output=True) \
        if os.path.exists(python) else None
    if ready is None or ready.returncode != 0:
        install = [python, "-m", "pip", "install", "-q"]
        steps = [[sys.executable, "-m", "venv", folder]]
        steps += [install + library.split()] if only is None else [install + ["--no-deps", *library.split()], install + only]
        if any(subprocess.run(step).returncode != 0 for step in steps):
            print(f"{library} cannot be had here: skipped")
            sys.exit(77)
    return python
