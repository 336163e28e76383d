"""Fetches the newest supported Python from Debian's archive, where this machine has none.

The packages of Debian's unstable distribution and the libraries that they need are extracted into
`${XDG_CACHE_HOME:-~/.cache}/pilotage/python/<version>/`. Nothing is installed or built, and root is not needed. The
path of the interpreter goes to standard output, all else to standard error.

The exit code is 0 when the machine has the interpreter, 1 when a package cannot be used, 3 when none can be fetched.
"""

import fcntl
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # this is a script, wherever it is started
from hack.gobuild import FAILED, say, stop
from hack.pythons import COMPLETE, SUPPORTED, fetched, installed

VERSION = SUPPORTED[-1]
CANNOT = 3  # an exit code
ARCHIVE = "http://deb.debian.org/debian"  # apt checks the signature
KEYRINGS = [Path(f"/usr/share/keyrings/debian-archive-keyring.{ending}") for ending in ("pgp", "gpg")]
WHEELS = "/usr/share/python-wheels/"  # where Debian's venv looks for pip

# Its own state everywhere: the packages of the system are neither read nor changed.
CONFIGURATION = """
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Etc::SourceList "{folder}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
"""


def main() -> None:
    interpreter = installed(VERSION)
    if interpreter is None:
        keyring, folder = usable_keyring(), fetched(VERSION)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(folder.parent / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # only one run fetches at a time
            if not (folder / COMPLETE).exists():
                fetch(folder, keyring)
                adapt(folder)
                (folder / COMPLETE).touch()  # the folder cannot be moved into place: its path is written inside
        interpreter = installed(VERSION)
    if interpreter is None:
        stop(FAILED, f"the interpreter in {fetched(VERSION)} does not start: remove this folder, and try again")
    print(interpreter)


def usable_keyring() -> Path:
    """The keys of Debian's archive. Exits where this machine lacks them, or what fetches and extracts packages."""
    advice = f"install Python {VERSION} and put python{VERSION} on PATH"
    if platform.libc_ver()[0] != "glibc":
        stop(CANNOT, f"cannot fetch Python {VERSION}: this system has no glibc, which Debian's programs need; {advice}")
    for program in ("apt-get", "dpkg-deb"):
        if shutil.which(program) is None:
            stop(CANNOT, f"cannot fetch Python {VERSION}: `{program}` is not on PATH; {advice}")
    keyring = next((file for file in KEYRINGS if file.exists()), None)
    if keyring is None:
        stop(CANNOT, f"cannot fetch Python {VERSION}: the package debian-archive-keyring is not installed; {advice}")
    return keyring


def fetch(folder: Path, keyring: Path) -> None:
    """Extract the interpreter, its libraries and patchelf into a new `folder`."""
    say(f"fetching Python {VERSION} from {ARCHIVE}")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with tempfile.TemporaryDirectory(prefix="fetching-", dir=folder.parent) as scratch:
        for name in ("state/lists/partial", "cache/archives/partial"):
            (Path(scratch) / name).mkdir(parents=True)
        (Path(scratch) / "status").touch()
        (Path(scratch) / "sources.list").write_text(f"deb [signed-by={keyring}] {ARCHIVE} sid main\n")
        configuration = Path(scratch) / "apt.conf"
        configuration.write_text(CONFIGURATION.format(folder=scratch))
        apt = ["apt-get", "--quiet=2", f"--config-file={configuration}"]
        install = ["install", "--download-only", "--yes", f"python{VERSION}-venv", "patchelf"]
        for command in ([*apt, "--error-on=any", "update"], [*apt, *install]):
            if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
                stop(CANNOT, f"cannot fetch Python {VERSION} from {ARCHIVE}, see above")
        for package in sorted(Path(scratch).glob("cache/archives/*.deb")):
            subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)


def adapt(folder: Path) -> None:
    """Make the interpreter load Debian's libraries from `folder`, and its venv find pip there."""
    loader = next(folder.glob("usr/lib/*-linux-gnu/ld-linux-*.so.*"))
    libraries = str(loader.parent)
    patchelf = [loader, "--library-path", libraries, folder / "usr" / "bin" / "patchelf"]
    # One by one and in this order: both in one call, or the other way round, and the program ends with SIGSEGV.
    for options in (["--force-rpath", "--set-rpath", libraries], ["--set-interpreter", loader]):
        subprocess.run([*patchelf, *options, folder / "usr" / "bin" / f"python{VERSION}"], check=True)
    for settings in folder.glob(f"usr/lib/python{VERSION}/_sysconfig*"):
        if not settings.is_symlink():
            settings.write_text(settings.read_text().replace(WHEELS, f"{folder}{WHEELS}"))


if __name__ == "__main__":
    main()
