# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Work on several objects that starts over where another writer was faster."""

from __future__ import annotations

import contextlib
import typing as t

from .base import Conflict, Store

ATTEMPTS = 5
_Result = t.TypeVar("_Result")


def retry_on_conflict(store: Store, work: t.Callable[[], _Result]) -> _Result:
    """Return the result of some work on stored objects.

    It is done again, on objects that are read again, where one of them was changed since it was read.

    Raises:
        Conflict: another writer changes them all the time.
    """
    for _attempt in range(ATTEMPTS - 1):
        with contextlib.suppress(Conflict):
            return work()
        store.look_again()
    return work()
