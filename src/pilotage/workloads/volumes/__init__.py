"""Claims and volumes: the persistentvolume-binder controller, and a provisioner for all StorageClasses."""

from __future__ import annotations

from pilotage.controller.builder import ControllerBuilder
from pilotage.types.core.v1 import PersistentVolume, PersistentVolumeClaim
from pilotage.types.storage.v1 import StorageClass
from pilotage.workloads.context import Context
from pilotage.workloads.volumes.binder import CLAIM_INDEX, Binder, index_of
from pilotage.workloads.volumes.users import Users

NAME = "persistentvolume-binder-controller"


def setup(context: Context) -> None:
    """Add the binder to the manager."""
    context.manager.cache.index_field(PersistentVolume, CLAIM_INDEX, index_of)
    binder = Binder(context.client, context.recorder("persistentvolume-controller"), Users(context))
    builder = ControllerBuilder(context.manager).named(NAME).watches(PersistentVolumeClaim, binder.on_claim)
    builder.watches(PersistentVolume, binder.on_volume).watches(StorageClass, binder.on_class)
    builder.complete(binder.reconcile)
