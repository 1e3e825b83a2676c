# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan for CoreDNS: image, Corefile and dependencies.

Sources: docs/reference/cluster_api.md, "Add-ons"; docs/reference/kubeadm.md, "Labels and taints", "Image registry".

The order is such that CoreDNS can restart at any moment: its running configuration is kept under the key Corefile-backup, the Deployment
is pointed there, and only then the new Corefile is written; the new image and the new Corefile come together. A run that was killed in
between is completed by the next one, which takes the backup for what runs, because the Deployment states so.
"""

from __future__ import annotations

import contextlib
import typing as t
from dataclasses import dataclass, replace

from ...module_utils.common import kubernetes_facts
from ...module_utils.workload_api import compare_and_swap
from ..kubeadm import addon_images, coredns_releases, image_references
from . import corefile_migration, kubeadm_config_map, rbac
from .corefile import CorefileError
from .kube_proxy import container_image
from .writes import Change, Objects, Plan, WorkloadError, resource_version

NAME, KEY, BACKUP = addon_images.COREDNS, "Corefile", addon_images.COREFILE_BACKUP
CONFIG_MAP = f"/api/v1/namespaces/kube-system/configmaps/{NAME}"
DEPLOYMENT = f"/apis/apps/v1/namespaces/kube-system/deployments/{NAME}"
_CLUSTER_ROLES = f"{rbac.RBAC}/clusterroles"
CLUSTER_ROLE = "system:coredns"
_TEMPLATE = "spec.template.spec"
READS = (
    *kubeadm_config_map.READS,
    compare_and_swap.Read(CONFIG_MAP, ("data",)),
    compare_and_swap.Read(
        DEPLOYMENT,
        (
            f"{_TEMPLATE}.containers[].name",
            f"{_TEMPLATE}.containers[].image",
            f"{_TEMPLATE}.volumes[].name",
            f"{_TEMPLATE}.volumes[].configMap",
            f"{_TEMPLATE}.tolerations",
        ),
    ),
    compare_and_swap.Read(f"{_CLUSTER_ROLES}/{CLUSTER_ROLE}", rbac.ROLE_KEEP),
)
# From 1.8.1 on it watches EndpointSlices, which kubeadm's ClusterRole allows only from Kubernetes 1.22 on.
_SLICES_SINCE = (1, 8, 1)
_SLICES_RULE = {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": ["list", "watch"]}


Wanted = addon_images.CorednsWanted


def plan(objects: Objects, wanted: Wanted) -> Plan:
    """Return the plan for CoreDNS's desired image, with its Corefile migrated.

    Raises:
        WorkloadError: an older release, one that can't be migrated, an image by digest, an unusual Deployment.
    """
    config_map, deployment = objects[CONFIG_MAP], objects[DEPLOYMENT]
    if config_map is None or deployment is None:
        missing = "ConfigMap" if config_map is None else "Deployment"
        return Plan(f"there is no {missing} kube-system/coredns: nothing to do")
    image = container_image(deployment, NAME)
    if image is None:
        raise _refused("the Deployment kube-system/coredns has no container coredns")
    try:
        before = image_references.parse(image)
        after = addon_images.coredns_image(before, wanted)
    except image_references.ImageError as error:
        if not wanted.configured:
            return Plan(f"CoreDNS is left alone: {error}, and nothing else is configured", facts={"image": image})
        raise _refused(str(error)) from error
    if str(after) == image:
        return _taken_back(objects, wanted, image)
    reason = coredns_releases.refusal(before.tag, after.tag)
    if reason:
        raise _refused(f"{image} can't become {after}: {reason}")
    volume = _corefile_volume(config_map, deployment)
    data: t.Mapping[str, str] = config_map["data"]
    running = data[volume.key]
    warnings: list[str] = []
    try:
        migration = corefile_migration.migrate(running, before.tag, after.tag)
        if volume.key == BACKUP and data.get(KEY) and not _is_migrated(data[KEY], running, before.tag):
            # An earlier run was interrupted, and it did not write this: a user has edited it since.
            migration = corefile_migration.migrate(data[KEY], before.tag, after.tag)
            warnings.append(
                f"CoreDNS runs with the key {BACKUP}, and {KEY} was changed meanwhile: it is migrated as it is and takes effect."
            )
    except CorefileError as error:
        raise _refused(f"the Corefile of {image} can't be migrated to {after}: {error}") from error
    config = _kubeadm_config_map(objects, wanted)
    writes = [*config.writes]
    changes = [*config.changes]
    more, shown = _role(objects, after)
    writes += more
    changes += shown
    writes += _corefile_writes(config_map, deployment, running, migration.text, volume)
    writes.append(_final_write(deployment, str(after), volume, wanted.kubernetes_version))
    if migration.text != running:
        changes.append(Change("ConfigMap kube-system/coredns, key Corefile", running, migration.text))
    changes.append(_deployment_change(deployment, image, str(after), wanted.kubernetes_version))
    return Plan(
        f"CoreDNS: {image} becomes {after}",
        tuple(writes),
        tuple(changes),
        (*config.warnings, *warnings, *migration.notices),
        {"image": str(after), "corefile_changes": list(migration.changes)},
    )


def _is_migrated(text: str, running: str, tag: str) -> bool:
    """Return whether a Corefile is the running one, migrated to any release.

    The run that was interrupted may have migrated it to another one than is wanted now.
    """
    for release in (tag, *coredns_releases.RELEASES):
        with contextlib.suppress(CorefileError):
            if corefile_migration.migrate(running, tag, release).text == text:
                return True
    return False


def _taken_back(objects: Objects, wanted: Wanted, image: str) -> Plan:
    """Return the plan that reverts an interrupted CoreDNS upgrade.

    CoreDNS runs the desired image already, and that upgrade's is desired no more.

    What runs is under the key Corefile-backup then. The key Corefile may hold what was migrated for the other image, which this one
    may not read; it becomes what runs before the Deployment reads it again.
    """
    config_map, deployment = objects[CONFIG_MAP] or {}, objects[DEPLOYMENT] or {}
    done = Plan(f"CoreDNS runs {image}", facts={"image": image})
    if corefile_key(_pod(deployment)) != BACKUP:
        return done
    volume = _corefile_volume(config_map, deployment)
    data: t.Mapping[str, str] = config_map["data"]
    config = _kubeadm_config_map(objects, wanted)
    writes, changes = [*config.writes], [*config.changes]
    warnings: tuple[str, ...] = ()
    if data.get(KEY) != data[BACKUP]:
        text = {"data": {KEY: data[BACKUP]}}
        writes.append(compare_and_swap.Write(CONFIG_MAP, compare_and_swap.MERGE, text, resource_version(config_map)))
        changes.append(Change("ConfigMap kube-system/coredns, key Corefile", data.get(KEY) or "", data[BACKUP]))
        warnings = (
            f"the key {KEY} held another text, which nothing read: it is in the difference, should you need it.",
        )
    pointed = _pod_patch(volumes=[volume.patch(KEY)])
    writes.append(compare_and_swap.Write(DEPLOYMENT, compare_and_swap.STRATEGIC, pointed, resource_version(deployment)))
    changes.append(Change("Deployment kube-system/coredns", f"Corefile: {BACKUP}\n", f"Corefile: {KEY}\n"))
    return replace(
        done,
        message=f"CoreDNS runs {image}; an upgrade that was broken off is taken back",
        writes=tuple(writes),
        changes=tuple(changes),
        warnings=(*config.warnings, *warnings),
    )


def _refused(words: str) -> WorkloadError:
    return WorkloadError(
        f"{words}. Nothing was written. Choose another dns.imageTag, or keep CoreDNS to yourself "
        "(annotation controlplane.cluster.x-k8s.io/skip-coredns)."
    )


@dataclass(frozen=True)
class _Volume:
    """Volume of the Deployment that holds the Corefile.

    Its name, the key that is the Corefile now, and the other files in it.
    """

    name: str
    key: str
    others: tuple[t.Mapping[str, t.Any], ...]

    def patch(self, key: str) -> dict[str, t.Any]:
        """Return the volume's patch with the Corefile from ``key``.

        The API replaces the list of files as a whole, and keeps the rest.
        """
        return {"name": self.name, "configMap": {"name": NAME, "items": [{"key": key, "path": KEY}, *self.others]}}


def _volumes(pod: t.Mapping[str, t.Any]) -> list[t.Mapping[str, t.Any]]:
    return [each for each in pod.get("volumes") or [] if (each.get("configMap") or {}).get("name") == NAME]


def corefile_key(pod: t.Mapping[str, t.Any]) -> str:
    """Return the ConfigMap key that a CoreDNS pod reads as Corefile.

    "" where its volumes don't state it.
    """
    items = [item for each in _volumes(pod) for item in (each["configMap"].get("items") or [])]
    keys = [str(each.get("key")) for each in items if each.get("path") == KEY]
    return keys[0] if len(keys) == 1 else ""


def _corefile_volume(config_map: t.Mapping[str, t.Any], deployment: t.Mapping[str, t.Any]) -> _Volume:
    data: t.Mapping[str, str] = config_map.get("data") or {}
    volumes = _volumes(_pod(deployment))
    if len(volumes) != 1:
        raise _refused(
            f"the Deployment kube-system/coredns has {len(volumes)} volumes of the ConfigMap coredns, not one"
        )
    # Without a list of files every key is one.
    items = volumes[0]["configMap"].get("items") or [{"key": key, "path": key} for key in sorted(data) if key != BACKUP]
    keys = [each.get("key") for each in items if each.get("path") == KEY]
    if len(keys) != 1 or keys[0] not in (KEY, BACKUP):
        raise _refused(f"the Deployment's volume gives the file Corefile from neither of the keys {KEY} and {BACKUP}")
    if not data.get(keys[0]):
        raise _refused(f"the ConfigMap kube-system/coredns has no key {keys[0]}")
    others = tuple(each for each in items if each.get("path") != KEY)
    return _Volume(str(volumes[0]["name"]), keys[0], others)


def _pod(deployment: t.Mapping[str, t.Any]) -> t.Mapping[str, t.Any]:
    return ((deployment.get("spec") or {}).get("template") or {}).get("spec") or {}


def _kubeadm_config_map(objects: Objects, wanted: Wanted) -> Plan:
    # Without a tag or a repository of its own CoreDNS's image is nothing that kubeadm-config says.
    if not wanted.image_repository and not wanted.image_tag:
        return Plan("")
    dns = {"imageRepository": wanted.image_repository, "imageTag": wanted.image_tag}
    return kubeadm_config_map.plan(
        objects, kubeadm_config_map.Wanted(dns={name: value for name, value in dns.items() if value})
    )


def _role(objects: Objects, image: image_references.Image) -> rbac.Step:
    role = objects[f"{_CLUSTER_ROLES}/{CLUSTER_ROLE}"]
    if addon_images.release_key(image.tag) < _SLICES_SINCE or role is None:
        return (), ()
    return rbac.role_allows(role, _CLUSTER_ROLES, CLUSTER_ROLE, _SLICES_RULE)


def _corefile_writes(
    config_map: t.Mapping[str, t.Any], deployment: t.Mapping[str, t.Any], running: str, migrated: str, volume: _Volume
) -> list[compare_and_swap.Write]:
    data: t.Mapping[str, str] = config_map.get("data") or {}
    if migrated == running == data.get(KEY):
        return []
    version = resource_version(config_map)
    writes: list[compare_and_swap.Write] = []
    if data.get(BACKUP) != running:
        backup = {"data": {BACKUP: running}}
        writes.append(compare_and_swap.Write(CONFIG_MAP, compare_and_swap.MERGE, backup, version))
    pointed = volume.patch(BACKUP)
    writes.append(
        compare_and_swap.Write(
            DEPLOYMENT, compare_and_swap.STRATEGIC, _pod_patch(volumes=[pointed]), resource_version(deployment)
        )
    )
    if data.get(KEY) != migrated:
        writes.append(compare_and_swap.Write(CONFIG_MAP, compare_and_swap.MERGE, {"data": {KEY: migrated}}, version))
    return writes


def _final_write(
    deployment: t.Mapping[str, t.Any], image: str, volume: _Volume, version: t.Optional[str]
) -> compare_and_swap.Write:
    content: dict[str, t.Any] = {
        "containers": [{"name": NAME, "image": image}],
        "volumes": [volume.patch(KEY)],
    }
    tolerations = _tolerations(deployment, version)
    if tolerations is not None:
        content["tolerations"] = tolerations
    return compare_and_swap.Write(
        DEPLOYMENT, compare_and_swap.STRATEGIC, _pod_patch(**content), resource_version(deployment)
    )


def _pod_patch(**content: t.Any) -> dict[str, t.Any]:
    return {"spec": {"template": {"spec": content}}}


def _tolerations(deployment: t.Mapping[str, t.Any], version: t.Optional[str]) -> t.Optional[list[dict[str, t.Any]]]:
    """Return all tolerations where one is missing, else None (docs/reference/kubeadm.md, "Labels and taints").

    Missing: one of the control plane's taints is not tolerated yet.
    """
    there = list(_pod(deployment).get("tolerations") or [])
    keys = kubernetes_facts.dns_toleration_keys(version) if version else (kubernetes_facts.LABEL_CONTROL_PLANE,)
    missing = [key for key in keys if not any(_tolerates(each, key) for each in there)]
    return [*there, *({"key": key, "effect": "NoSchedule"} for key in missing)] if missing else None


def _tolerates(toleration: t.Mapping[str, t.Any], key: str) -> bool:
    return toleration.get("key") in (key, None, "") and toleration.get("effect") in (None, "", "NoSchedule")


def _deployment_change(deployment: t.Mapping[str, t.Any], before: str, after: str, version: t.Optional[str]) -> Change:
    tolerations = _tolerations(deployment, version)
    texts = [f"image: {before}\n", f"image: {after}\n"]
    if tolerations is not None:
        for index, entries in enumerate((_pod(deployment).get("tolerations") or [], tolerations)):
            keys = ", ".join(str(each.get("key") or "everything") for each in entries)
            texts[index] += f"tolerates: {keys or 'nothing'}\n"
    return Change("Deployment kube-system/coredns", texts[0], texts[1])
