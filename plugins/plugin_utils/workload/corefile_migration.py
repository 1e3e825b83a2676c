# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Migration of a Corefile between two releases of CoreDNS.

Source: the rules of CoreDNS's own library, coredns/corefile-migration v1.0.34, which kubeadm and Cluster API use, with deprecations
taken as "migrate only what the new release removes or ignores" as both do; CoreDNS's release notes 1.5.0, 1.7.0 and 1.8.0. Where that
library leaves an option that the new plugin refuses (proxy's own options in forward), it is removed here and reported.
"""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

from ..kubeadm.coredns_releases import RELEASES, refusal, release_of
from .corefile import CorefileError, Option, Plugin, Server, parse, to_text

# Kinds of steps.
DROP = "drop an option"
FIRST = "keep an option's first argument"
ADD_PLUGIN = "add a plugin to the server blocks that have one of some plugins"
ADD_OPTION = "add an option to a plugin that doesn't have it"
FORWARD = "turn proxy into forward"
STUBS = "give zones that are forwarded elsewhere server blocks of their own"
TRANSFER = "turn kubernetes' option transfer into the plugin transfer"
REFUSE = "refuse a plugin that is gone and has no successor"


@dataclass(frozen=True)
class Step:
    """Step of a migration: one change that a release needs.

    Its kind, the plugin, the option with its arguments, and the plugins a block must have.
    """

    kind: str
    plugin: str = ""
    option: str = ""
    args: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    reason: str = ""


_HTTPS_GOOGLE = Step(DROP, "proxy", "protocol", ("https_google",), reason="CoreDNS ignores it")
STEPS: dict[str, tuple[Step, ...]] = {
    "1.1.4": (_HTTPS_GOOGLE,),
    "1.2.1": (Step(ADD_PLUGIN, "loop", beside=("forward", "proxy"), reason="kubeadm's default"),),
    "1.4.0": (Step(FIRST, "kubernetes", "endpoint", reason="CoreDNS ignores the others"), Step(STUBS)),
    "1.5.0": (
        Step(DROP, "kubernetes", "upstream", reason="CoreDNS resolves external names itself"),
        Step(FORWARD, "proxy"),
        Step(ADD_PLUGIN, "ready", beside=("kubernetes",), reason="kubeadm's default, its readiness probe asks it"),
        Step(STUBS),
    ),
    "1.6.0": (Step(DROP, "kubernetes", "resyncperiod", reason="CoreDNS ignores it"),),
    "1.6.5": (Step(ADD_OPTION, "health", "lameduck", ("5s",), reason="kubeadm's default"),),
    "1.7.0": (
        Step(ADD_OPTION, "forward", "max_concurrent", ("1000",), reason="kubeadm's default"),
        Step(REFUSE, "federation", reason="CoreDNS removed it, as Kubernetes did federation"),
    ),
    "1.8.0": (Step(TRANSFER, "kubernetes", "transfer"),),
}

# What proxy's options become in forward: None = nothing there does the same.
_PROXY_OPTIONS: dict[str, t.Optional[str]] = {
    "except": "except",
    "policy": "policy",
    "fail_timeout": None,
    "max_fails": None,
    "health_check": None,
    "spray": None,
}
_FORWARD_POLICIES = {
    "random": "random",
    "round_robin": "round_robin",
    "sequential": "sequential",
    "first": "sequential",
}
_DEFAULT_ZONES = ([".:53"], ["."])
_OLD_TRANSFER = ("auto", "file", "secondary")
# Everything that the rules know; other plugins are CoreDNS's or somebody's own, and stay as they are.
KNOWN_PLUGINS = frozenset(
    (
        *(
            "autopath",
            "cache",
            "errors",
            "federation",
            "forward",
            "health",
            "hosts",
            "import",
            "k8s_external",
            "kubernetes",
        ),
        *("loadbalance", "log", "loop", "prometheus", "proxy", "ready", "reload", "rewrite", "transfer"),
    )
)
_SNIPPET = re.compile(r"\(.*\)")


@dataclass(frozen=True)
class Migration:
    """Migrated Corefile: its text, changes and notices.

    What was changed and what was left alone, each in words.
    """

    text: str
    changes: tuple[str, ...]
    notices: tuple[str, ...]


def migrate(text: str, from_tag: str, to_tag: str) -> Migration:
    """Migrate a Corefile from ``from_tag``'s release to ``to_tag``'s release.

    Where no step changes anything the text is the very one that was given, comments included.

    Raises:
        CorefileError: a version that can't be migrated (see coredns_releases.refusal), a text that is no Corefile, or a configuration with no
            equivalent in the new release.
    """
    reason = refusal(from_tag, to_tag)
    if reason:
        raise CorefileError(reason)
    start, end = release_of(from_tag), release_of(to_tag)
    if start == end:
        return Migration(text, (), ())
    servers = parse(text)
    changes: list[str] = []
    notices: list[str] = []
    for release in RELEASES[RELEASES.index(start) + 1 : RELEASES.index(end) + 1]:
        for step in STEPS.get(release, ()):
            changes += [f"{release}: {words}" for words in _apply(step, servers)]
        if release == "1.8.0":
            notices += _old_transfers(servers)
    unknown = {plugin.name for server in servers if server.block for plugin in server.plugins} - KNOWN_PLUGINS
    notices += [f"plugin {name} is not known to the migration and stays as it is" for name in sorted(unknown)]
    return Migration(to_text(servers) if changes else text, tuple(changes), tuple(notices))


def _apply(step: Step, servers: list[Server]) -> list[str]:
    if step.kind == STUBS:
        return _stub_blocks(servers)
    done: list[str] = []
    for server in servers:
        if step.kind == ADD_PLUGIN:
            done += _add_plugin(step, server)
        elif step.kind == TRANSFER:
            done += _transfer(server)
        else:
            for plugin in server.plugins:
                if plugin.name == step.plugin:
                    done += _in_plugin(step, plugin)
    return done


def _in_plugin(step: Step, plugin: Plugin) -> list[str]:
    if step.kind == FORWARD:
        return _forward(plugin)
    if step.kind == REFUSE:
        raise CorefileError(
            f"the plugin {plugin.name} can't be migrated: {step.reason}. Take it out of the Corefile first"
        )
    matching = [option for option in plugin.options if option.name == step.option]
    if step.kind == ADD_OPTION:
        if matching:
            return []
        plugin.options.append(Option(step.option, list(step.args)))
        return [f"{plugin.name}: {' '.join([step.option, *step.args])} is added ({step.reason})"]
    if step.kind == FIRST:
        longer = [option for option in matching if len(option.args) > 1]
        for option in longer:
            del option.args[1:]
        return [f"{plugin.name}: of {step.option} only the first argument is kept ({step.reason})"] if longer else []
    dropped = [option for option in matching if not step.args or tuple(option.args[: len(step.args)]) == step.args]
    plugin.options = [option for option in plugin.options if option not in dropped]
    return [f"{plugin.name}: {step.option} is removed ({step.reason})"] if dropped else []


def _add_plugin(step: Step, server: Server) -> list[str]:
    names = {plugin.name for plugin in server.plugins}
    if step.plugin in names or not names.intersection(step.beside) or _SNIPPET.fullmatch(server.zones[0]):
        return []
    server.plugins.append(Plugin(step.plugin))
    return [f"{' '.join(server.zones)}: plugin {step.plugin} is added ({step.reason})"]


def _forward(plugin: Plugin) -> list[str]:
    done = ["plugin proxy becomes forward (CoreDNS removed proxy)"]
    options: list[Option] = []
    for option in plugin.options:
        kept = _forward_option(option)
        if kept is not None:
            options.append(kept)
        else:
            done.append(
                f"forward: {' '.join([option.name, *option.args])} is left out, forward has nothing that does the same"
            )
    plugin.name, plugin.options = "forward", options
    return done


def _forward_option(option: Option) -> t.Optional[Option]:
    if option.name == "protocol":
        if option.args[:1] == ["grpc"]:
            raise CorefileError(
                "proxy's protocol grpc can't be migrated: forward speaks no gRPC. Use the plugin grpc first"
            )
        return Option("force_tcp") if "force_tcp" in option.args else None
    if option.name == "policy":
        policy = _FORWARD_POLICIES.get(option.args[0] if option.args else "")
        return Option("policy", [policy]) if policy else None
    name = _PROXY_OPTIONS.get(option.name, option.name)
    return Option(name, option.args) if name else None


def _stub_blocks(servers: list[Server]) -> list[str]:
    done: list[str] = []
    added: list[Server] = []
    for server in servers:
        stubs = [plugin for plugin in server.plugins if plugin.name == "forward" and plugin.args[:1] != ["."]]
        if not stubs:
            continue
        if any(not plugin.args for plugin in stubs):
            raise CorefileError("a plugin forward says neither what it forwards nor where to")
        others = [plugin for plugin in server.plugins if plugin.name == "forward" and plugin not in stubs]
        if server.zones not in _DEFAULT_ZONES:
            # Only one forward a block is allowed since 1.4.0; a single one means the same as before.
            if len(stubs) + len(others) > 1:
                raise CorefileError(
                    f"the server block {' '.join(server.zones)} has more than one forward, which CoreDNS no longer takes. "
                    "Give each zone a server block of its own first"
                )
            continue
        for plugin in stubs:
            zone = plugin.args[0]
            plugin.args[0] = "."
            added.append(Server([zone], [plugin, Plugin("loop"), Plugin("errors"), Plugin("cache", ["30"])]))
            done.append(f"zone {zone}, which is forwarded elsewhere, gets a server block of its own")
        server.plugins = [plugin for plugin in server.plugins if all(plugin is not stub for stub in stubs)]
    servers += added
    return done


def _transfer(server: Server) -> list[str]:
    done: list[str] = []
    for plugin in [plugin for plugin in server.plugins if plugin.name == "kubernetes"]:
        options = [option for option in plugin.options if option.name == "transfer"]
        if not options:
            continue
        addresses = [address for option in options for address in option.args[1:]]
        plugin.options = [option for option in plugin.options if option.name != "transfer"]
        if addresses:
            server.plugins.append(Plugin("transfer", plugin.args[:1], [Option("to", addresses)]))
        done.append("kubernetes: the option transfer becomes the plugin transfer")
    return done


def _old_transfers(servers: list[Server]) -> list[str]:
    return [
        f"plugin {plugin.name}: its option transfer is the plugin transfer since 1.8.0, and is not migrated: change it by hand"
        for server in servers
        for plugin in server.plugins
        if plugin.name in _OLD_TRANSFER and any(option.name == "transfer" for option in plugin.options)
    ]
