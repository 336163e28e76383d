"""Threads that read a class for the first time at the same moment. What goes wrong there crashes the interpreter."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import threading

from pilotage.meta import objects
from pilotage.meta.models import Resource
from pilotage.types.apps import v1 as apps
from pilotage.types.batch import v1 as batch
from pilotage.types.core import v1 as core

DATA = b'{"metadata":{"name":"a"},"spec":{"template":{"spec":{"containers":[{"name":"c"}]}},"selector":{}}}'
KINDS = [kind for module in (apps, batch, core) for kind in vars(module).values()
         if isinstance(kind, type) and issubclass(kind, Resource) and kind is not Resource]


def work(barrier, kind, failures):
    barrier.wait()
    for _ in range(5):
        try:
            objects.decode(kind, DATA)
        except objects.DecodeError:
            pass  # not every kind has such a spec
        except BaseException as error:
            failures.append(error)


sys.setswitchinterval(1e-6)
failures = []
for kind in KINDS:
    barrier = threading.Barrier(4)
    threads = [threading.Thread(target=work, args=(barrier, kind, failures)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(len(KINDS) > 20, failures)
"""


def test_threads_may_be_the_first_to_read_a_class() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "True []\n"), done.stderr
