# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.storage.entry import Entry as Entry
from pilotage.storage.interface import Check as Check
from pilotage.storage.interface import Delete as Delete
from pilotage.storage.interface import Event as Event
from pilotage.storage.interface import Operation as Operation
from pilotage.storage.interface import Put as Put
from pilotage.storage.interface import Snapshot as Snapshot
from pilotage.storage.interface import Storage as Storage
from pilotage.storage.interface import Watch as Watch
from pilotage.storage.opening import open_served_storage as open_served_storage
from pilotage.storage.opening import open_storage as open_storage
from pilotage.storage.opening import url_without_password as url_without_password
