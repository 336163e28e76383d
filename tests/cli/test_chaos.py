"""`pilotage chaos` on tests, and on an operator as it is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from pilotage.cli.chaos import FOUND
from tests import forked

OPERATOR = """
import pilotage as pt
from pilotage.types.apps.v1 import Deployment, DeploymentSpec
from pilotage.types.core.v1 import ConfigMap, Container, PodSpec, PodTemplateSpec
from pilotage.types.meta.v1 import LabelSelector


class ShopSpec(pt.Model):
    replicas: int = 1
    motto: str = ""


@pt.resource(group="shops.pilotage.dev", version="v1")
class Shop(pt.Resource):
    spec: ShopSpec


async def setup(manager: pt.Manager) -> None:
    client = manager.client

    async def reconcile(request: pt.Request) -> None:
        shop = await client.get(Shop, request)
        await BODY(client, request, shop)

    pt.ControllerBuilder(manager).for_(Shop).owns(ConfigMap).owns(Deployment).complete(reconcile)


def deployment(shop: Shop) -> Deployment:
    labels = {"shop": shop.metadata.name}
    template = PodTemplateSpec(
        metadata=pt.ObjectMeta(labels=labels), spec=PodSpec(containers=[Container(name="web", image="shop:1")])
    )
    meta = pt.ObjectMeta(name=shop.metadata.name, namespace=shop.metadata.namespace)
    selector = LabelSelector(match_labels=labels)
    spec = DeploymentSpec(replicas=shop.spec.replicas, selector=selector, template=template)
    return Deployment(metadata=meta, spec=spec)


def config(shop: Shop) -> ConfigMap:
    meta = pt.ObjectMeta(name=shop.metadata.name, namespace=shop.metadata.namespace)
    return ConfigMap(metadata=meta, data={"motto": shop.spec.motto})


async def careful(client: pt.Client, request: pt.Request, shop: Shop) -> None:
    for wanted in (config(shop), deployment(shop)):
        await pt.create_or_patch(client, wanted, owner=shop)


async def careless(client: pt.Client, request: pt.Request, shop: Shop) -> None:
    if await client.find(ConfigMap, request) is None:
        await pt.create_or_patch(client, config(shop), owner=shop)
        await pt.create_or_patch(client, deployment(shop), owner=shop)
"""
SAMPLE = """
apiVersion: shops.pilotage.dev/v1
kind: Shop
metadata:
  name: corner
spec:
  replicas: 2
  motto: fresh
"""


def run(folder: Path, body: str, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "shop.py").write_text(OPERATOR.replace("BODY", body))
    (folder / "samples").mkdir(exist_ok=True)
    (folder / "samples" / "shop.yaml").write_text(SAMPLE)
    return forked.run("-m", "pilotage.cli", "chaos", *words, folder=folder)


def test_an_operator_that_is_careful_survives_with_simulated_workloads(tmp_path: Path) -> None:
    ran = run(tmp_path, "careful", "shop.py", "-f", "samples", "--plans", "12")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "scenario: apply Shop corner; 3 edits; delete" in ran.stdout
    assert "with simulated workloads" in ran.stdout
    assert "12 plans" in ran.stdout
    assert "no failures" in ran.stdout


def test_an_operator_that_is_careless_is_found_out_and_the_plan_is_replayed(tmp_path: Path) -> None:
    words = ("shop.py", "-f", "samples", "--no-simulate-workloads")
    ran = run(tmp_path, "careless", *words, "--plans", "5", "--save", "plans", "--json", "report.json")
    assert ran.returncode == FOUND, ran.stdout + ran.stderr
    assert "Deployment default/corner: missing" in ran.stdout
    assert "at shop.py:" in ran.stdout
    assert json.loads((tmp_path / "report.json").read_text())["failures"]
    again = run(tmp_path, "careless", *words, "--replay", "plans/shop.1.plan.json")
    assert again.returncode == FOUND
    assert "FAIL killed after write" in again.stdout
    fixed = run(tmp_path, "careful", *words, "--replay", "plans/shop.1.plan.json")
    assert (fixed.returncode, fixed.stdout.splitlines()[-1]) == (
        0,
        "no failure: with this plan, it ends as without faults",
    )


TEST = """
import pilotage as pt
from shop import Shop, ShopSpec, setup
from pilotage.testing import Environment


async def test_a_shop(pilotage_env: Environment) -> None:
    await pilotage_env.cluster.install(Shop)
    async with pilotage_env.running(setup):
        meta = pt.ObjectMeta(name="corner", namespace="default")
        await pilotage_env.client.create(Shop(metadata=meta, spec=ShopSpec(motto="fresh")))
        await pilotage_env.run_until_idle()
"""


def test_tests_are_run_with_faults_also_without_the_marker(tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text(TEST)
    ran = run(tmp_path, "careless", "test_shop.py", "--plans", "6")
    assert ran.returncode == FOUND, ran.stdout + ran.stderr
    assert "chaos test_shop.py::test_a_shop: 6 plans" in ran.stdout
    assert run(tmp_path, "careful", "test_shop.py", "--plans", "6").returncode == 0


def test_a_program_that_does_not_come_to_rest_without_faults_is_named(tmp_path: Path) -> None:
    ran = run(tmp_path, "missing", "shop.py", "-f", "samples")
    assert ran.returncode == 1
    assert "shop.py does not come to rest with these objects, without faults" in ran.stderr
    assert "name 'missing' is not defined" in ran.stderr
