# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The helper process that renews a run's lock."""

from __future__ import annotations

import os
import shutil
import signal
from dataclasses import replace

from locks import HOLD, as_run, count, one_renewer, renewers, wait_for_count, wait_for_end

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes import identity
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.processes.identity import Process
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.store.lock import file_lock


class TestRenewal:
    def test_it_counts_while_the_run_lives(self, store, folder, sleepers):
        file_lock.acquire(store, "default", "prod", as_run(sleepers()))
        wait_for_count(folder, 1, 1)

    def test_it_is_no_ones_child_and_holds_nothing_of_the_run(self, store, sleepers):
        opened = os.open(store + "-open", os.O_CREAT)
        os.set_inheritable(opened, True)
        file_lock.acquire(store, "default", "prod", as_run(sleepers()))
        pid = one_renewer(store)
        assert os.getsid(pid) not in (os.getsid(0), pid)
        targets = {os.readlink(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")}
        os.close(opened)
        assert {each for each in targets if not each.startswith("anon_inode")} <= {
            "/dev/null",
            f"{store}/default/locks/prod/1.counter",
        }
        assert os.readlink(f"/proc/{pid}/cwd") == "/"

    def test_it_ends_with_the_runs_process_however_that_ends(self, store, python):
        for end in (signal.SIGKILL, signal.SIGTERM):
            run = python.start(HOLD, store)
            assert run.stdout.readline().strip()
            pid = one_renewer(store)
            run.send_signal(end)
            wait_for_end(pid)
            run.communicate()

    def test_it_survives_what_is_sent_to_the_runs_group(self, store, sleepers):
        file_lock.acquire(store, "default", "prod", as_run(sleepers()))
        pid = one_renewer(store)
        assert os.getpgid(pid) != os.getpgid(0)
        # From its first renewal on; before, its process is seen and not yet at work.
        folder = os.path.join(store, "default/locks/prod")
        wait_for_count(folder, 1, 0)
        os.kill(pid, signal.SIGINT)
        os.kill(pid, signal.SIGHUP)
        wait_for_count(folder, 1, count(folder, 1))

    def test_it_ends_with_the_release(self, store, sleepers):
        lease = file_lock.acquire(store, "default", "prod", as_run(sleepers()))
        pid = one_renewer(store)
        file_lock.release(lease)
        wait_for_end(pid)

    def test_it_ends_when_taken_over_and_when_the_store_is_removed(self, store, sleepers):
        run = identity.identify(sleepers().pid)
        file_lock.acquire(store, "default", "prod", replace(file_lock.this_holder(run), start_time=run.start_time))
        pid = one_renewer(store)
        shutil.rmtree(store)
        wait_for_end(pid)

    def test_a_killed_one_is_started_again_with_the_lease(self, store, folder):
        file_lock.acquire(store, "default", "prod")
        pid = one_renewer(store)
        os.kill(pid, signal.SIGKILL)
        wait_for_end(pid)
        before = count(folder, 1)
        file_lock.acquire(store, "default", "prod")
        wait_for_count(folder, 1, before)

    def test_for_a_process_that_is_gone_it_ends_at_once(self, store, folder):
        file_lock.acquire(store, "default", "prod", file_lock.this_holder(Process(os.getpid(), 1)))
        for pid in renewers(store):
            wait_for_end(pid)
        assert count(folder, 1) == 0
