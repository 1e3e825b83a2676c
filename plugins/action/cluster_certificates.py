# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificate authorities, service account keys and kubeconfig of a cluster, generated once."""

from __future__ import annotations

import typing as t

from ..module_utils.common.values import now_rfc3339
from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.pki.kubeconfig import ensure_kubeconfig
from ..plugin_utils.pki.secrets import ensure_certificates


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.cluster_certificates; see its documentation."""

    ONE_VIEW = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {}

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Generate missing Secrets before the control plane is initialized, never after."""
        objects = self.open_objects(arguments)
        control_plane = objects.control_plane
        if control_plane is None:
            raise ControlPlaneFailure(
                f"the cluster {objects.title} has no KubeadmControlPlane in the store; no certificates were made. "
                "Run reconcile, which stores the manifest's."
            )
        if self.check_mode:
            return {"changed": True}
        initialized = bool(control_plane.get("status", {}).get("initialization", {}).get("controlPlaneInitialized"))
        now = now_rfc3339()
        made = ensure_certificates(objects.store, objects.cluster, control_plane, now, initialized)
        kubeconfig = ensure_kubeconfig(objects.store, objects.cluster, control_plane, objects.endpoint(), now)
        if kubeconfig.state == "userSupplied":
            self.progress(objects.name, kubeconfig.message)
        if made.changed or kubeconfig.changed:
            self.note("make certificate authorities, keys and the kubeconfig that were missing")
        if made.missing or made.problems:
            raise ControlPlaneFailure(
                f"the certificates of {objects.title} are not all there: {'; '.join([*made.problems, *made.missing])}. Nothing was generated, "
                "as another authority than the cluster's would cut off every machine. Put the missing Secrets back into the store."
            )
        return {
            "changed": bool(made.changed or kubeconfig.changed),
            "certificates": made.facts,
            "kubeconfig": kubeconfig.message,
        }
