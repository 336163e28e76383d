# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.rest.fence import Fence as Fence
from pilotage.rest.fence import LeaderTerm as LeaderTerm
from pilotage.rest.path import EncodedRequest as EncodedRequest
from pilotage.rest.path import build as build
from pilotage.rest.path import parse as parse
from pilotage.rest.request import APIRequest as APIRequest
from pilotage.rest.request import DeleteOptions as DeleteOptions
from pilotage.rest.request import Form as Form
from pilotage.rest.request import ListOptions as ListOptions
from pilotage.rest.request import PatchType as PatchType
from pilotage.rest.request import Verb as Verb
from pilotage.rest.request import WriteOptions as WriteOptions
from pilotage.rest.response import Bytes as Bytes
from pilotage.rest.response import Page as Page
from pilotage.rest.response import Response as Response
from pilotage.rest.response import WatchEvent as WatchEvent
from pilotage.rest.response import WatchEventType as WatchEventType
from pilotage.rest.transport import Transport as Transport
from pilotage.rest.transport import TransportWrapper as TransportWrapper
