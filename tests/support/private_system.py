# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a program with all folders of its own that packages are installed to, which lie in a folder and are there again for the next program.

Usage, as root in a mount namespace of its own (unshare --mount): private_system.py FOLDER PROGRAM ARGUMENT...
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PATHS = ("/etc", "/usr", "/opt", "/srv", "/var", "/bin", "/sbin", "/lib", "/lib64")


def main() -> None:
    """Mount, and become the program."""
    folder, *words = sys.argv[1:]
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    for path in PATHS:
        # What is a link leads to /usr.
        if os.path.islink(path) or not os.path.isdir(path):
            continue
        upper, work = (Path(folder) / f"{kind}{path.replace('/', '-')}" for kind in ("upper", "work"))
        upper.mkdir(parents=True, exist_ok=True)
        work.mkdir(exist_ok=True)
        options = f"lowerdir={path},upperdir={upper},workdir={work}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, path], check=True)
    os.execvp(words[0], words)


if __name__ == "__main__":
    main()
