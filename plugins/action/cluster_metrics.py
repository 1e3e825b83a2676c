# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Metrics of a cluster as files for Prometheus' node_exporter."""

from __future__ import annotations

import typing as t

from ..plugin_utils.base_classes.control_plane_action import ControlPlaneAction
from ..plugin_utils.calls.failure import ControlPlaneFailure
from ..plugin_utils.reconcile.metrics.files import MetricsFiles, observe_and_write


class ActionModule(ControlPlaneAction):
    """Action plugin of the module kubeadm.control_plane.cluster_metrics; see its documentation."""

    ONE_VIEW = True
    ARGUMENTS: t.ClassVar[dict[str, t.Any]] = {
        "directory": {"type": "path", "required": True},
        "backup_directory": {"type": "path", "default": ""},
        "manifests": {"type": "list", "elements": "path", "default": []},
    }

    def execute(self, arguments: dict[str, t.Any]) -> dict[str, t.Any]:
        """Observe the cluster and write its file.

        The files of a cluster that is gone are removed. One that has a manifest is not gone: its first run may have failed.
        """
        if not arguments["directory"]:
            raise ControlPlaneFailure(
                "the folder for the metrics is not said, so nothing was written: give the one that node_exporter reads "
                "(its --collector.textfile.directory), as -e control_plane_metrics_directory=/var/lib/prometheus/node-exporter."
            )
        files = MetricsFiles(arguments["directory"], arguments)
        if self.check_mode:
            return {"changed": True, "file": files.path(), "msg": f"the metrics would be written to {files.path()}"}
        file = observe_and_write(self, files, arguments)
        title = f"{arguments['namespace']}/{arguments['cluster']}"
        if file is None:
            self.refuse_moved(arguments)
            removed = [] if arguments["manifests"] else files.remove()
            said = f"the store has no Cluster {title}, so there are no metrics of it"
            self.progress(arguments["cluster"], said)
            return {"changed": bool(removed), "file": "", "msg": said}
        self.progress(arguments["cluster"], f"its metrics are in {file}")
        return {"changed": True, "file": file, "msg": f"the metrics of {title} are in {file}"}
