"""`pilotage device inject`: faults of a fake GPU."""

from __future__ import annotations

import argparse

from pilotage.cli.device.display import name_of
from pilotage.device.client.clientset import Devices
from pilotage.device.client.config import Config
from pilotage.device.providers.actions import Action
from pilotage.device.providers.injection import ANNOTATION, InjectedCondition, Injection, is_fake
from pilotage.device.providers.inventory import PROVIDER_LABEL
from pilotage.device.v1alpha1 import GPU
from pilotage.kit.console.errors import CommandError


async def inject(config: Config, options: argparse.Namespace) -> None:
    """Write the annotation of a fake GPU. Raises CommandError, also for a GPU of another provider."""
    more = _injection(options)
    if not more.xids and not more.conditions and not options.reset:
        raise CommandError("nothing to inject: give --xid NUMBER or --condition TYPE=STATUS, or --reset")
    async with Devices(config) as devices:
        gpus = devices.v1alpha1.gpus
        gpu = await gpus.get(name_of(options.name))
        if not is_fake(gpu):
            owner = gpu.metadata.labels.get(PROVIDER_LABEL) or "another program"
            raise CommandError(
                f"GPU {gpu.metadata.name} is one of {owner}: faults can be injected only into GPUs of the provider "
                "fake (pilotage device serve --provider fake); for others, write a condition as a provider of your own"
            )
        old = None if options.reset else Injection.of(gpu)
        _annotate(gpu, (old or Injection()).merged(more))
        await gpus.update(gpu)
        print(f"gpu.{GPU.__resource__.gvk.group}/{gpu.metadata.name} {'injected' if more != Injection() else 'reset'}")


def _annotate(gpu: GPU, injection: Injection) -> None:
    if injection == Injection():
        gpu.metadata.annotations.pop(ANNOTATION, None)
    else:
        gpu.metadata.annotations[ANNOTATION] = injection.text()


def _injection(options: argparse.Namespace) -> Injection:
    if options.recommended_action and options.recommended_action not in list(Action):
        raise CommandError(f"--recommended-action {options.recommended_action!r} is not one of {', '.join(Action)}")
    conditions = [_condition(word, options) for word in options.condition]
    return Injection(options.xid, conditions, options.recommended_action)


def _condition(word: str, options: argparse.Namespace) -> InjectedCondition:
    kind, _, status = word.partition("=")
    match status.capitalize() or "True":
        case "True" | "False" | "Unknown" as known if kind:
            return InjectedCondition(kind, known, options.reason, options.message)
    raise CommandError(f"--condition {word!r} is not TYPE=STATUS, with True, False or Unknown, such as Degraded=True")
