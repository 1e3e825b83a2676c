# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# PRIVATE to the collection: it may change in any release.

from __future__ import annotations


class ModuleDocFragment:
    """Attributes of every module: what it supports, in its documentation."""

    # A module that extends this fragment gives ``support`` (full, partial, none or N/A) for each of the three itself.
    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in check mode and return the changed status it predicts without modifying the target.
  diff_mode:
    description: Returns details on what has changed, or would change in check mode, when in diff mode. Secrets are never part of it.
  idempotent:
    description:
      - When run twice in a row outside check mode, with the same arguments, the second run indicates no change.
      - This assumes that what the module controls or queries has not changed in a relevant way in between.
"""

    # Together with the standard fragment: modules that only read.
    INFO_MODULE = r"""
options: {}
attributes:
  check_mode:
    support: full
    details:
      - This module does not modify state.
  diff_mode:
    support: N/A
    details:
      - This module does not modify state.
  idempotent:
    support: full
    details:
      - This module does not modify state.
"""

    # Together with the standard fragment: modules that take a step which was decided on.
    STEP = r"""
options: {}
attributes:
  check_mode:
    support: partial
    details:
      - Check mode says that something would change and checks no further.
  diff_mode:
    support: none
  idempotent:
    support: partial
    details:
      - It always says changed, as it is called for a step that was decided on.
"""

    # Every module belongs to the one action group, see meta/runtime.yml.
    ACTION_GROUP = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/kubeadm.control_plane.control_plane) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - kubeadm.control_plane.control_plane
"""

    # Modules whose work is done, wholly or in part, by an action plugin on the controller.
    ACTION = r"""
options: {}
attributes:
  action:
    description: Has an action plugin of the same name, so that its work or a part of it is done on the controller.
    support: full
"""
