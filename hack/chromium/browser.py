"""Finds a Chromium for the tests of the live page, and installs Debian's package where this is root and there is none.

    python3 hack/chromium/browser.py            find it, or install it; then print its path
    python3 hack/chromium/browser.py --where    find it, and install nothing

It also fetches axe-core, which checks contrast and labels, from npm into the cache folder, once. The path of the
browser goes to standard output, all else to standard error. The exit code is 0 when there is a browser, 3 when not.
"""

import argparse
import base64
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path

NO_BROWSER = 3  # an exit code
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
AXE_VERSION = "4.14.1"
AXE_INTEGRITY = "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ=="
AXE_SECONDS = 60


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--where", action="store_true", help="install nothing")
    where: bool = parser.parse_args().where
    found = browser()
    if not found and not where:
        install()
        found = browser()
    if not found:
        say("no Chromium: `apt-get install chromium` as root, or set CHROMIUM to the path of one")
        raise SystemExit(NO_BROWSER)
    if not where:
        fetch_axe()
    print(found)


def browser() -> str:
    """The path of a browser; empty if there is none."""
    named = os.environ.get("CHROMIUM", "")
    return named or next(filter(None, map(shutil.which, NAMES)), None) or ""


def axe() -> Path | None:
    """The file of axe-core; None if it is not in the cache folder."""
    path = _cache() / f"axe-core-{AXE_VERSION}.min.js"
    return path if path.is_file() else None


def install() -> None:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    say("installing the package chromium (once, some minutes)")
    for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]):
        subprocess.run(command, check=False, stdout=sys.stderr, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})


def fetch_axe() -> None:
    """Fetch axe-core; without it, its checks are skipped."""
    if axe() is not None:
        return
    registry = _npm_registry()
    url = f"{registry.rstrip('/')}/axe-core/-/axe-core-{AXE_VERSION}.tgz"
    try:
        with urllib.request.urlopen(url, timeout=AXE_SECONDS) as answer:
            data = answer.read()
    except OSError as error:
        say(f"axe-core was not fetched, its checks are skipped: {url}: {error}")
        return
    digest = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
    if digest != AXE_INTEGRITY:
        say(f"axe-core was not used: the digest of {url} is {digest}, not {AXE_INTEGRITY}")
        return
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        member = archive.extractfile("package/axe.min.js")
        assert member is not None
        script = member.read()
    folder = _cache()
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"axe.{os.getpid()}"
    partial.write_bytes(script)
    partial.rename(folder / f"axe-core-{AXE_VERSION}.min.js")


def say(text: str) -> None:
    print(text, file=sys.stderr)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pilotage" / "chromium"


def _npm_registry() -> str:
    """The registry that npm is configured with, where npm is installed."""
    npm = shutil.which("npm")
    if npm is None:
        return "https://registry.npmjs.org"
    answer = subprocess.run([npm, "config", "get", "registry"], capture_output=True, text=True, check=False)
    return answer.stdout.strip() or "https://registry.npmjs.org"


if __name__ == "__main__":
    main()
