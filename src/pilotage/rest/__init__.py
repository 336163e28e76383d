"""The API dialect without I/O: requests and answers as values, and the seam that carries them."""

from pilotage.rest.fence import Fence, Term
from pilotage.rest.path import HTTPRequest, build, parse
from pilotage.rest.request import DeleteOptions, Form, ListOptions, PatchType, Request, Verb, WriteOptions
from pilotage.rest.response import Bytes, Page, Response, WatchEvent, WatchEventType
from pilotage.rest.transport import Transport

__all__ = [
    "Bytes",
    "DeleteOptions",
    "Fence",
    "Form",
    "HTTPRequest",
    "ListOptions",
    "Page",
    "PatchType",
    "Request",
    "Response",
    "Term",
    "Transport",
    "Verb",
    "WatchEvent",
    "WatchEventType",
    "WriteOptions",
    "build",
    "parse",
]
