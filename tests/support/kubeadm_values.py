# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubeadm's fields as written down by hand, and values for them: samples, and strategies for property-based tests."""

from __future__ import annotations

import functools
import typing as t
from dataclasses import dataclass
from pathlib import Path

import yaml
from hypothesis import strategies as st

GOLDEN = Path(__file__).parents[1] / "unit" / "plugins" / "plugin_utils" / "kubeadm" / "golden"
_COMPONENTS = ("KubeletConfiguration", "KubeProxyConfiguration")
_KINDS = {
    "init": ("InitConfiguration", "ClusterConfiguration"),
    "join": ("JoinConfiguration",),
    "status": ("ClusterStatus",),
    "reset": ("ResetConfiguration",),
    "upgrade": ("UpgradeConfiguration",),
}
# API number -> Kubernetes minors to write it for. v1beta1 is written only on demand, for kubeadm that reads it.
MINORS = {1: (16, 21), 2: (16, 21), 3: (22, 30), 4: (31, 37)}
HUB_KEY = {
    kind: kind[0].lower() + kind[1:]
    for kind in (
        "InitConfiguration",
        "ClusterConfiguration",
        "ClusterStatus",
        "JoinConfiguration",
        "ResetConfiguration",
        "UpgradeConfiguration",
    )
}
# As kubeadm v1.20 keeps it, of two machines.
CLUSTER_STATUS = """\
apiEndpoints:
  cp-1:
    advertiseAddress: 10.0.0.1
    bindPort: 6443
  cp-2:
    advertiseAddress: 10.0.0.2
    bindPort: 6443
apiVersion: kubeadm.k8s.io/v1beta2
kind: ClusterStatus
"""
# Fields that the hub has no place of their own for.
MOVED = ("apiServer.timeoutForControlPlane", "discovery.timeout", "dns.type", "useHyperKubeImage")
SAMPLES: dict[str, t.Any] = {
    "string": "text",
    "integer": 7,
    "boolean": True,
    "strings": ["a", "b"],
    "gates": {"A": True, "B": False},
    "args": [{"name": "a", "value": "1"}, {"name": "b", "value": ""}],
    "envs": [{"name": "A", "value": "b"}, {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}],
    "volumes": [{"name": "v", "hostPath": "/a", "mountPath": "/b", "readOnly": True, "pathType": "File"}],
    "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
    "time": "2030-01-31T10:00:00Z",
    "duration": 90,
    "days": 30,
}


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    kind: str
    path: str
    type: str
    versions: tuple[int, ...]
    minor: int

    @property
    def hub_path(self) -> str:
        """The path in the hub, without the part's key."""
        return self.path + {"duration": "Seconds", "days": "Days"}.get(self.type, "")

    def spoke_value(self, value: t.Any, api: int) -> t.Any:
        """A hub value as a document of that API has it."""
        if self.type == "duration":
            return f"{value}s"
        if self.type == "days":
            return f"{value * 24}h"
        if self.type == "args" and api < 4:
            return {each["name"]: each["value"] for each in value}
        return value


def golden(name: str, api: int) -> str:
    """The documents of an API version that were written by hand, as one text; those of init with the other components'."""
    files = [GOLDEN / f"v1beta{api}" / f"{kind}.yaml" for kind in _KINDS[name]]
    files += [GOLDEN / f"{kind}.yaml" for kind in _COMPONENTS if name == "init"]
    return "---\n".join(file.read_text(encoding="utf-8") for file in files)


@functools.lru_cache(maxsize=1)
def rows() -> list[Row]:
    """The table."""
    table = yaml.safe_load((GOLDEN / "fields.yaml").read_text())
    return [
        Row(kind, path, cells[0], tuple(map(int, cells[1])), cells[2] if len(cells) > 2 else 0)
        for kind, lines in table.items()
        for path, cells in lines.items()
    ]


def put(target: dict[str, t.Any], path: str, values: t.Iterator[t.Any]) -> None:
    """Set the value at a path; a list or mapping of structures gets two entries."""
    name, _dot, rest = path.partition(".")
    if not rest:
        target[name] = next(values)
    elif name.endswith("[]"):
        for entry in target.setdefault(name[:-2], [{}, {}]):
            put(entry, rest, values)
    elif name.endswith("{}"):
        for entry in target.setdefault(name[:-2], {"n1": {}, "n2.example.org": {}}).values():
            put(entry, rest, values)
    else:
        put(target.setdefault(name, {}), rest, values)


def get(source: t.Any, path: str) -> t.Any:
    """What is at a path; of several entries a list; None for nothing."""
    name, _dot, rest = path.partition(".")
    plain = name.rstrip("[]{}")
    found = source.get(plain) if isinstance(source, dict) else None
    if not rest or found is None:
        return found
    if name.endswith("[]"):
        return [get(entry, rest) for entry in found]
    if name.endswith("{}"):
        return [get(entry, rest) for entry in found.values()]
    return get(found, rest)


def without_empty(value: t.Any) -> t.Any:
    """`value` without empty mappings, which say nothing in kubeadm's configuration (an empty list of taints does)."""
    if isinstance(value, list):
        return [without_empty(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    inner = {key: without_empty(entry) for key, entry in value.items()}
    return {key: entry for key, entry in inner.items() if entry != {}}


_TRICKY = st.sampled_from(
    ["0644", "1e3", "no", "null", "~", "1:30", "2024-01-01", "a: b", "#", "{{ x }}", "*a", "", "=", "é"]
)
TEXT = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=12) | _TRICKY


def values(kind: str, api: int) -> st.SearchStrategy[t.Any]:
    """Hub values of a type that the API can hold."""
    seconds = st.integers(0, 10**6)
    argument = st.fixed_dictionaries({"name": TEXT, "value": TEXT})
    if kind == "args":
        if api >= 4:
            return st.lists(argument, max_size=3)
        unique = st.lists(argument, max_size=3, unique_by=lambda each: each["name"])
        return unique.map(lambda each: sorted(each, key=lambda one: one["name"]))
    source = st.fixed_dictionaries({"fieldRef": st.fixed_dictionaries({"fieldPath": TEXT})})
    named: dict[str, st.SearchStrategy[t.Any]] = {
        "string": TEXT,
        "integer": st.integers(0, 65535),
        "boolean": st.booleans(),
        "strings": st.lists(TEXT, max_size=3),
        "gates": st.dictionaries(TEXT, st.booleans(), max_size=3),
        "envs": st.lists(
            argument | st.fixed_dictionaries({"name": TEXT, "valueFrom": source}),
            max_size=2,
        ),
        "volumes": st.lists(
            st.fixed_dictionaries(
                {"name": TEXT, "hostPath": TEXT, "mountPath": TEXT},
                optional={"readOnly": st.booleans(), "pathType": TEXT},
            ),
            max_size=2,
        ),
        "taints": st.lists(
            st.fixed_dictionaries({"key": TEXT, "effect": TEXT}, optional={"value": TEXT}),
            max_size=2,
        ),
        "time": st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ").zfill(20)),
        "duration": seconds,
        "days": st.integers(0, 36500),
    }
    return named[kind]


@st.composite
def hubs(draw: st.DrawFn, kinds: t.Sequence[str], api: int, minor: int, held: bool = True) -> dict[str, t.Any]:
    """A hub with some of the fields of these kinds: with `held` only those that the API holds, else any."""
    hub: dict[str, t.Any] = {}
    for row in rows():
        if row.kind not in kinds or row.path in MOVED or not _held(row, api, minor, held) or not draw(st.booleans()):
            continue
        drawn = [draw(values(row.type, api if held else 4)) for _each in range(2)]
        put(hub.setdefault(HUB_KEY[row.kind], {}), row.hub_path, iter(drawn))
    return hub


def _held(row: Row, api: int, minor: int, held: bool) -> bool:
    if not held:
        return True
    if api < 4 and row.path.startswith("timeouts."):
        moved = {"InitConfiguration": "controlPlaneComponentHealthCheck", "JoinConfiguration": "discovery"}
        return row.path == f"timeouts.{moved.get(row.kind)}"
    return api in row.versions and row.minor <= minor
