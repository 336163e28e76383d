"""The Device API: the GPUs of a node over gRPC on a Unix socket; its server, its client, its providers.

    async with device.connect() as devices:
        for gpu in await devices.v1alpha1.gpus.list():
            print(gpu.metadata.name)

Names are imported when they are first used: the client needs the extra `pilotage[device]`, the kinds
(`pilotage.device.v1alpha1`) need nothing. The names are listed once, in `__init__.pyi`.
"""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
