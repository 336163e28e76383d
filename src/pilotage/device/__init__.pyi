# The exports of the package, for type checkers and for `__init__.py`, which reads the module of each name from here.
# One import to a line: `from module import Name as Name`.

from pilotage.device.client.clientset import Devices as Devices
from pilotage.device.client.clientset import connect as connect
from pilotage.device.client.config import Config as Config
from pilotage.device.client.gpus import GPUs as GPUs
from pilotage.device.client.interceptors import Invocation as Invocation
from pilotage.device.client.interceptors import Invoke as Invoke
from pilotage.device.client.interceptors import Open as Open
from pilotage.device.client.interceptors import StreamInterceptor as StreamInterceptor
from pilotage.device.client.interceptors import UnaryInterceptor as UnaryInterceptor
from pilotage.device.client.target import Target as Target
from pilotage.device.telemetry import ECCErrors as ECCErrors
from pilotage.device.telemetry import Telemetry as Telemetry
from pilotage.grpc.rpc import Incoming as Incoming
from pilotage.grpc.rpc import Reply as Reply

__all__: list[str]
