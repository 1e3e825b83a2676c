# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Comments in texts with instance data, which are left out."""

from __future__ import annotations

from typing import Any, Callable

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.objects.manifest.reader import ClusterManifest

Documents = list[dict[str, Any]]


def test_of_comments_the_user_is_warned(documents: Documents, read: Callable[..., ClusterManifest]) -> None:
    """They go, as with cloud-init; nothing of the text is shown, which may be secret."""
    spec = documents[1]["spec"]["kubeadmConfigSpec"]
    spec["files"] = [
        {"path": "/a", "content": "x\n{# hunter2 #} {% raw %}{# c #}{% endraw %}\n{#- hunter3\n#}"},
        {"path": "/b", "content": "eyMgYSAjfQ==", "encoding": "base64"},
    ]
    spec["preKubeadmCommands"] = ["echo ${#LIST[@]} #}", "true {# c #}", "echo '{% raw %}{# c #}{% endraw %}'"]
    told = read(documents).warnings
    assert [each.partition("spec.kubeadmConfigSpec.")[2].partition(": cloud-init")[0] for each in told] == [
        "files[0].content: the comment {# ... #} that begins in line 2 and 1 more",
        "preKubeadmCommands[1]: the comment {# ... #} that begins in line 1",
    ]
    assert "hunter" not in str(told)
