# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Every target works from a bare Debian 12 machine, as root, any number of times. What it needs is installed by apt and by
# pip, the latter into a cache folder: $KUBEADM_CONTROL_PLANE_CACHE, by default ~/.cache/kubeadm-control-plane.
# The work is done by the scripts in tests/tools.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# One thing after another: the steps share the cache folder and the machine.
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory
TOOLS := tests/tools
# What the lab runs, in place of v1.20.2: one or two versions or folders (docs/kubernetes_versions.md).
ifdef KUBERNETES
export KUBEADM_CONTROL_PLANE_KUBERNETES := $(KUBERNETES)
endif
# The release of Debian of its machines: bookworm or trixie.
ifdef DEBIAN
export KUBEADM_CONTROL_PLANE_DEBIAN := $(DEBIAN)
endif

.PHONY: help
help: ## What can be typed here
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup:
	@$(TOOLS)/setup.sh

.PHONY: ready
ready: setup
	@$(TOOLS)/build.sh

.PHONY: demo
demo: ## A real three-node control plane on this machine (root; 3 to 15 minutes)
	@$(TOOLS)/setup.sh --run
	@$(TOOLS)/build.sh
	@$(TOOLS)/demo.sh

.PHONY: demo-hosts
demo-hosts: ## One command makes a control plane of three machines that have only Debian, Python and SSH (root; 4 to 16 minutes)
	@$(TOOLS)/setup.sh --run
	@$(TOOLS)/build.sh
	@$(TOOLS)/demo_hosts.sh

.PHONY: test
test: ## Everything a change must pass: lint, sanity, unit, integration, core lab (root; 35 minutes)
	@$(TOOLS)/test.sh lint molecule+sanity-once+integration-servers integration-stand-ins,unit+lab

.PHONY: test-quick
test-quick: ## Lint, and unit tests with the newest ansible-core less the model checker's (5 minutes)
	@$(TOOLS)/test.sh lint unit-quick

.PHONY: test-unit
test-unit: ## Unit tests, with the oldest and the newest supported ansible-core
	@$(TOOLS)/test.sh unit

.PHONY: test-model
test-model: ## The model checker of the decision core, complete, and the wrong rules it must find (under 20 minutes)
	@$(TOOLS)/test.sh model

.PHONY: test-mutants
test-mutants: ## Small faults in decisions, quorum, store and lock, and how many the unit tests find; MUTANTS="--sample 0 quorum"
	@$(TOOLS)/setup.sh
	@$(TOOLS)/build.sh
	@$(TOOLS)/mutants.sh $(MUTANTS)

.PHONY: test-integration
test-integration: ## Tests against real etcd and kube-apiserver processes
	@$(TOOLS)/test.sh integration

.PHONY: test-lab
test-lab: ## The core of the tests on real machines with real kubeadm (root; about 20 minutes); KUBERNETES="v1.33.4 v1.34.1" or folders, DEBIAN=trixie
	@$(TOOLS)/test.sh lab molecule

.PHONY: test-lab-full
test-lab-full: ## All tests on real machines and all that `make test` leaves out; again: what has not passed yet (root; a night)
	@$(TOOLS)/test.sh full-beside+lab-full site

.PHONY: lint
lint: ## Linters, types, documentation, changelog, galaxy-importer and the repository's own rules (about a minute)
	@$(TOOLS)/test.sh lint

.PHONY: sanity
sanity: ## ansible-test sanity, complete and without ignore files (4 to 7 minutes)
	@$(TOOLS)/test.sh sanity

.PHONY: docs
docs: ## The documentation as HTML, with a search, in the cache folder; its links are checked (1 to 3 minutes)
	@$(TOOLS)/setup.sh --docs
	@$(TOOLS)/build.sh
	@$(TOOLS)/site.sh

.PHONY: format
format: ready ## Format the Python code
	@$(TOOLS)/format.sh

.PHONY: changelog
changelog: ready ## Write CHANGELOG.md for the version in galaxy.yml
	@$(TOOLS)/changelog.sh

.PHONY: bench
bench: ready ## Costs of decisions; plain kubeadm against reconcile, as JSON (root; 35 minutes); BENCH="--existing-hosts --peer FILE" or --fleet
	@$(TOOLS)/bench.sh $(BENCH)

.PHONY: profile
profile: ready ## Where the time of a creation, a scale-up, a run with nothing to do and a fleet goes (root; 8 minutes); PROFILE="--json"
	@$(TOOLS)/bench.sh --profile $(PROFILE)

.PHONY: chaos
chaos: ready ## Random kills, power cuts and partitions, for CHAOS_SECONDS (an hour), from CHAOS_SEED (root)
	@$(TOOLS)/chaos.sh

.PHONY: build
build: ready ## The artefact, in the cache folder

.PHONY: install
install: ## Build the artefact and install it for this user
	@$(TOOLS)/setup.sh --run
	@$(TOOLS)/build.sh --user

.PHONY: clean
clean: ## Remove every trace of demo, tests and bench: machines, networks, stores. The cache stays
	@$(TOOLS)/clean.sh

.PHONY: distclean
distclean: ## The same, and the cache folder too
	@$(TOOLS)/clean.sh --cache
