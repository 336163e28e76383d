"""The inventory example as a person installs it: with pip, from its folder, into an environment of its own.

Nothing is downloaded: what Pilotage depends on is taken from the environment that runs this.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "inventory"


def install(folder: Path) -> Path:
    """Create a virtual environment in the folder, and install Pilotage and the example. The folder of its commands."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin" / "python"
    libraries = next((folder / "lib").glob("python*")) / "site-packages"
    (libraries / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install", "--quiet"]
    options = ["--no-index", "--no-build-isolation", "--no-compile"]
    ran = subprocess.run([*pip, *options, str(ROOT), str(EXAMPLE)], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise RuntimeError(f"pip install {EXAMPLE.relative_to(ROOT)} failed:\n{ran.stdout}{ran.stderr}")
    return folder / "bin"
