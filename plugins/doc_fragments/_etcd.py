# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: it may change in any release.

from __future__ import annotations


class ModuleDocFragment:
    """Options with which the etcd modules reach etcd.

    Keep them in step with module_utils/etcd/arguments.py.
    """

    DOCUMENTATION = r"""
options:
  endpoints:
    description:
      - Client URLs of members to ask first. Every member that they name is then asked itself.
      - Plain C(http://) is never asked, and neither is what is no URL of the form C(https://host:port); such a member counts as unhealthy.
      - The default is the member on this machine, as kubeadm makes it.
    type: list
    elements: str
    default: [https://127.0.0.1:2379]
  timeout:
    description: Seconds for each question to a member.
    type: float
    default: 3.0
  looks:
    description: How often to look, at most, at what does not answer, before it counts as unhealthy.
    type: int
    default: 3
  interval:
    description: Seconds from the start of one observation to that of the next.
    type: float
    default: 2.5
"""

    # The client's credentials alone.
    CREDENTIALS = r"""
options:
  ca_file:
    description:
      - The CA of etcd's certificates, a file on the machine.
      - Left out, kubeadm's own C(etcd/ca.crt) in the machine's C(certificatesDir), by default C(/etc/kubernetes/pki).
    type: path
  certificate_file:
    description: The client certificate, a file on the machine. Left out, kubeadm's own C(etcd/healthcheck-client.crt) beside that.
    type: path
  key_file:
    description: The key of O(certificate_file), a file on the machine. Left out, kubeadm's own C(etcd/healthcheck-client.key) beside that.
    type: path
"""
