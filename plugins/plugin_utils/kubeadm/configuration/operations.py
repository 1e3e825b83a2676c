# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ResetConfiguration and UpgradeConfiguration: v1beta4 only, flags in older versions.

Source: docs/reference/kubeadm.md, "Reset and upgrade".

The flags are those that `kubeadm reset --help` and `kubeadm upgrade ... --help` of 1.20.2 print; flags that came later carry the minor
of the release that announced them.
"""

from __future__ import annotations

from .fields import (
    BOOLEAN,
    INTEGER,
    PATCHES,
    PATCHES_FLAG,
    POSITIONAL,
    STRING,
    STRINGS,
    STRUCT,
    TIMEOUTS,
    Field,
    Struct,
)

_IGNORE = Field("ignorePreflightErrors", STRINGS, since=4, flag="--ignore-preflight-errors")
_SKIP = Field("skipPhases", STRINGS, since=4, flag="--skip-phases")
_PATCHES = Field("patches", STRUCT, struct=PATCHES, since=4, flag=PATCHES_FLAG)
_DRY_RUN = Field("dryRun", BOOLEAN, since=4, flag="--dry-run", same_before=(False,))
_CERTIFICATES = Field("certificateRenewal", BOOLEAN, since=4, flag="--certificate-renewal", same_before=(True,))
_ETCD = Field("etcdUpgrade", BOOLEAN, since=4, flag="--etcd-upgrade", same_before=(True,))
_VERSION = Field("kubernetesVersion", STRING, since=4, flag=POSITIONAL)
_PRINT = Field("printConfig", BOOLEAN, since=4, flag="--print-config", same_before=(False,))
_UNSTABLE = (
    Field(
        "allowExperimentalUpgrades",
        BOOLEAN,
        since=4,
        flag="--allow-experimental-upgrades",
        same_before=(False,),
    ),
    Field(
        "allowRCUpgrades",
        BOOLEAN,
        since=4,
        flag="--allow-release-candidate-upgrades",
        same_before=(False,),
    ),
)
_PULL = (
    Field(
        "imagePullPolicy",
        STRING,
        since=4,
        same_before=("IfNotPresent",),
        alternative="Older kubeadm pulls what is missing; run `kubeadm config images pull` beforehand.",
    ),
    Field(
        "imagePullSerial",
        BOOLEAN,
        since=4,
        same_before=(True,),
        alternative="Older kubeadm pulls one image at a time; run `kubeadm config images pull` beforehand.",
    ),
)
_TIMEOUTS = Field("timeouts", STRUCT, struct=TIMEOUTS, since=4)

RESET_CONFIGURATION = Struct(
    "ResetConfiguration",
    (
        Field("cleanupTmpDir", BOOLEAN, since=4, flag="--cleanup-tmp-dir", flag_since=26, same_before=(False,)),
        Field("certificatesDir", STRING, since=4, flag="--cert-dir"),
        Field("criSocket", STRING, since=4, flag="--cri-socket"),
        Field("dryRun", BOOLEAN, since=4, flag="--dry-run", flag_since=24, same_before=(False,)),
        Field("force", BOOLEAN, since=4, flag="--force", same_before=(False,)),
        _IGNORE,
        _SKIP,
        Field(
            "unmountFlags",
            STRINGS,
            since=4,
            alternative="Older kubeadm unmounts without flags; run umount yourself before `kubeadm reset`.",
        ),
        _TIMEOUTS,
    ),
)
UPGRADE_APPLY = Struct(
    "UpgradeApplyConfiguration",
    (
        _VERSION,
        *_UNSTABLE,
        _CERTIFICATES,
        _DRY_RUN,
        _ETCD,
        Field("forceUpgrade", BOOLEAN, since=4, flag="--force", same_before=(False,)),
        _IGNORE,
        _PATCHES,
        _PRINT,
        # 1.31 reads the field and ignores it: `upgrade apply` has phases from 1.32 on.
        Field("skipPhases", STRINGS, since=4, minor=32, alternative="`kubeadm upgrade apply` has phases from 1.32 on."),
        *_PULL,
    ),
)
UPGRADE_DIFF = Struct(
    "UpgradeDiffConfiguration",
    (_VERSION, Field("contextLines", INTEGER, since=4, flag="--context-lines", same_before=(3,))),
)
UPGRADE_NODE = Struct(
    "UpgradeNodeConfiguration",
    (_CERTIFICATES, _DRY_RUN, _ETCD, _IGNORE, _SKIP, _PATCHES, *_PULL),
)
UPGRADE_PLAN = Struct(
    "UpgradePlanConfiguration",
    (
        _VERSION,
        *_UNSTABLE,
        Field(
            "dryRun",
            BOOLEAN,
            since=4,
            same_before=(False,),
            alternative="`kubeadm upgrade plan` changes nothing anyway.",
        ),
        Field("etcdUpgrade", BOOLEAN, since=4, minor=33, same_before=(True,)),
        _IGNORE,
        _PRINT,
    ),
)
UPGRADE_CONFIGURATION = Struct(
    "UpgradeConfiguration",
    (
        Field("apply", STRUCT, struct=UPGRADE_APPLY, since=4, command="upgrade apply"),
        Field("diff", STRUCT, struct=UPGRADE_DIFF, since=4, command="upgrade diff"),
        Field("node", STRUCT, struct=UPGRADE_NODE, since=4, command="upgrade node"),
        Field("plan", STRUCT, struct=UPGRADE_PLAN, since=4, command="upgrade plan"),
        _TIMEOUTS,
    ),
)
