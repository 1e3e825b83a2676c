# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Corefiles are read and written faithfully, and migrated by the rules of CoreDNS's own library."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.kubeadm.coredns_releases import (
    RELEASES,
    refusal,
    version_key,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload.corefile import (
    CorefileError,
    Option,
    Plugin,
    Server,
    parse,
    to_text,
)
from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.workload.corefile_migration import migrate


def corefile(*, health: str, ready: bool, upstream: bool, ttl: bool, forwarder: str) -> str:
    """kubeadm's default Corefile of one of its releases, written as kubeadm's template is."""
    lines = [".:53 {", "    errors", *health.splitlines()]
    lines += ["    ready"] if ready else []
    lines += ["    kubernetes cluster.local in-addr.arpa ip6.arpa {", "        pods insecure"]
    lines += ["        upstream"] if upstream else []
    lines += ["        fallthrough in-addr.arpa ip6.arpa"]
    lines += ["        ttl 30"] if ttl else []
    lines += ["    }", "    prometheus :9153", *forwarder.splitlines(), "    cache 30", "    loop", "    reload"]
    return "\n".join([*lines, "    loadbalance", "}", ""])


PLAIN, LAMEDUCK = "    health", "    health {\n        lameduck 5s\n    }"
PROXY, FORWARD = "    proxy . /etc/resolv.conf", "    forward . /etc/resolv.conf"
CONCURRENT = FORWARD + " {\n        max_concurrent 1000\n    }"
NEWEST = corefile(health=LAMEDUCK, ready=True, upstream=False, ttl=True, forwarder=CONCURRENT)
# The CoreDNS of each Kubernetes minor, with what kubeadm writes for it
# (docs/reference/kubeadm.md, "etcd and CoreDNS releases").
DEFAULTS = {
    "1.2.6": corefile(health=PLAIN, ready=False, upstream=True, ttl=False, forwarder=PROXY),
    "1.3.1": corefile(health=PLAIN, ready=False, upstream=True, ttl=True, forwarder=FORWARD),
    "1.6.2": corefile(health=PLAIN, ready=True, upstream=False, ttl=True, forwarder=FORWARD),
    "1.6.5": corefile(health=LAMEDUCK, ready=True, upstream=False, ttl=True, forwarder=FORWARD),
    "1.6.7": corefile(health=LAMEDUCK, ready=True, upstream=False, ttl=True, forwarder=FORWARD),
    **dict.fromkeys(("1.7.0", "1.8.0", "1.8.4", "1.8.6", "1.9.3", "1.10.1", "1.11.1", "1.11.3"), NEWEST),
    **dict.fromkeys(("1.12.0", "1.12.1", "1.13.1", "1.14.2", "1.14.6"), NEWEST),
}
STEPS = list(zip(list(DEFAULTS), list(DEFAULTS)[1:]))


def moved_to_the_end(text: str, line: str) -> str:
    """Plugins that are added come last in their block."""
    lines = [each for each in text.splitlines() if each != line]
    return "\n".join([*lines[:-1], line, "}", ""])


@pytest.mark.parametrize(("start", "end"), STEPS, ids=str)
def test_kubeadms_default_becomes_the_next_ones(start: str, end: str) -> None:
    """Each version pair of the table; kubeadm's ttl and forward of 1.3.1 are choices of its own, no migration."""
    expected = DEFAULTS[end]
    if start == "1.2.6":
        expected = DEFAULTS[start]
    elif start == "1.3.1":
        expected = moved_to_the_end(expected, "    ready")
    migration = migrate(DEFAULTS[start], start, end)
    assert migration.text == expected
    assert bool(migration.changes) == (expected != DEFAULTS[start])
    assert migration.notices == ()


def test_every_pair_of_the_table_can_be_migrated_up_and_none_down() -> None:
    tags = list(DEFAULTS)
    for start in tags:
        for end in tags:
            assert (refusal(start, f"v{end}") is None) == (version_key(start) <= version_key(end))


OLDEST = """\
# our company's
.:53 {
    errors
    health
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        endpoint https://a:6443 https://b:6443
        resyncperiod 60s
        pods insecure
        upstream
        transfer to * 10.0.0.1
        transfer to 10.0.0.2
        fallthrough in-addr.arpa ip6.arpa
    }
    prometheus :9153
    proxy mystub-1.example.org 1.2.3.4 {
        policy first
        protocol dns force_tcp
        fail_timeout 3s
        max_fails 2
        except internal.example.org
    }
    proxy mystub-2.example.org 5.6.7.8
    proxy . /etc/resolv.conf {
        policy least_conn
        health_check /health:8080
        spray
    }
    route53 example.org.:Z1Z2Z3
    cache 30
    reload
    loadbalance
}
"""
# By hand, from the rules.
YOUNGEST = """\
.:53 {
    errors
    health {
        lameduck 5s
    }
    kubernetes cluster.local in-addr.arpa ip6.arpa {
        endpoint https://a:6443
        pods insecure
        fallthrough in-addr.arpa ip6.arpa
    }
    prometheus :9153
    forward . /etc/resolv.conf {
        max_concurrent 1000
    }
    route53 example.org.:Z1Z2Z3
    cache 30
    reload
    loadbalance
    loop
    ready
    transfer cluster.local {
        to * 10.0.0.1 10.0.0.2
    }
}

mystub-1.example.org {
    forward . 1.2.3.4 {
        policy sequential
        force_tcp
        except internal.example.org
        max_concurrent 1000
    }
    loop
    errors
    cache 30
}

mystub-2.example.org {
    forward . 5.6.7.8 {
        max_concurrent 1000
    }
    loop
    errors
    cache 30
}
"""


def test_everything_that_ever_changed_at_once() -> None:
    migration = migrate(OLDEST, "1.1.3", "v1.14.6")
    assert migration.text == YOUNGEST
    assert "1.5.0: plugin proxy becomes forward (CoreDNS removed proxy)" in migration.changes
    assert any("least_conn is left out" in words for words in migration.changes)
    assert migration.notices == ("plugin route53 is not known to the migration and stays as it is",)


@pytest.mark.parametrize("between", ["1.2.1", "1.4.0", "1.5.0", "1.6.5", "1.7.0", "1.8.0", "1.13.1"])
def test_the_way_does_not_matter(between: str) -> None:
    half = migrate(OLDEST, "1.1.3", between).text
    assert migrate(half, between, "1.14.6").text == YOUNGEST


def test_a_migration_that_was_made_already_changes_nothing_more() -> None:
    assert migrate(YOUNGEST, "1.1.3", "1.14.6").text == YOUNGEST


def test_a_text_that_needs_no_change_stays_as_it_is() -> None:
    text = "# why\n.:53 {\n\terrors   # tabs\n}\n"
    assert migrate(text, "1.8.0", "1.14.6").text == text
    assert migrate("not { even a Corefile", "1.3.1", "v1.3.1-build.2").text == "not { even a Corefile"


@pytest.mark.parametrize(
    ("start", "end", "says"),
    [
        ("v1.8.0", "v1.7.0", "older than 1.8.0"),
        ("v1.8.1", "v1.8.3", "none of the releases"),
        ("1.11.1", "1.11.2", "none of the releases"),
        ("1.0.0", "1.8.0", "none of the releases"),
        ("1.14.6", "1.99.0", "none of the releases"),
        ("latest", "1.8.0", "'latest' is not a version"),
        ("1.8.0", "1.9", "'1.9' is not a version"),
    ],
)
def test_what_can_not_be_migrated_is_refused(start: str, end: str, says: str) -> None:
    assert says in (refusal(start, end) or "")
    with pytest.raises(CorefileError, match=r"CoreDNS|version"):
        migrate(NEWEST, start, end)


def test_another_build_of_one_release_is_no_migration() -> None:
    assert refusal("v1.8.2-eks.1", "v1.8.2-eks.2") is None


@pytest.mark.parametrize(
    ("text", "start", "end", "says"),
    [
        (".:53 {\n federation a b\n}\n", "1.6.9", "1.7.0", "federation"),
        (".:53 {\n proxy . 1.1.1.1 {\n  protocol grpc\n }\n}\n", "1.4.0", "1.5.0", "grpc"),
        ("a.org {\n forward a.org 1.1.1.1\n forward . 2.2.2.2\n}\n", "1.3.1", "1.4.0", "more than one forward"),
        (".:53 {\n forward\n}\n", "1.3.1", "1.4.0", "neither what it forwards"),
        (".:53 {\n errors\n", "1.3.1", "1.4.0", "not closed"),
    ],
)
def test_what_has_no_equivalent_is_refused(text: str, start: str, end: str, says: str) -> None:
    with pytest.raises(CorefileError, match=says):
        migrate(text, start, end)


def test_transfers_of_other_plugins_are_told() -> None:
    text = "a.org {\n file db {\n  transfer to *\n }\n}\n"
    notices = migrate(text, "1.7.1", "1.8.0").notices
    assert any("plugin file: its option transfer" in words for words in notices)


def test_a_zone_of_its_own_may_keep_its_one_forward() -> None:
    text = "a.org:53 {\n    forward a.org 1.1.1.1\n}\n"
    assert migrate(text, "1.3.1", "1.6.2").text == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("}\n", "line 1: this brace closes nothing"),
        (".:53\n{\n}\n", "line 1: the server block '.:53' has no"),
        (".:53 {\n a { b\n }\n}\n", "line 2: a brace is in the middle"),
        (".:53 {\n a {\n  b {\n  }\n }\n}\n", "line 3: a block inside a plugin's block"),
        ('.:53 {\n log "x\n}\n', "line 2: a quotation mark"),
        (".:53 {\n errors\n", "1 braces are not closed"),
        ("a" * (1024 * 1024 + 1), "larger than 1 MB"),
    ],
)
def test_what_is_no_corefile_is_refused_with_its_line(text: str, says: str) -> None:
    with pytest.raises(CorefileError, match=says):
        parse(text)


def test_quotes_comments_snippets_and_imports() -> None:
    text = """\
(snippet) { # a snippet
    log . "{remote} says \\"{name}\\"" {
        class denial
    }
}
import ../custom/*.server
a.org,b.org:5353 {  # two zones
    import snippet
    hosts /etc/hosts#not-a-comment {
        10.0.0.1 "{"
    }
}
"""
    servers = parse(text)
    assert [server.zones for server in servers] == [
        ["(snippet)"],
        ["import", "../custom/*.server"],
        ["a.org", "b.org:5353"],
    ]
    assert servers[0].plugins[0].args == [".", '"{remote} says \\"{name}\\""']
    assert servers[2].plugins[1].args == ["/etc/hosts#not-a-comment"]
    assert parse(to_text(servers)) == servers


WORD = st.from_regex(r"[a-z0-9./*:_\\-]{1,8}", fullmatch=True) | st.from_regex(r'"[a-z {}#]{0,6}"', fullmatch=True)
NAME = st.sampled_from(["kubernetes", "forward", "proxy", "health", "loop", "transfer", "upstream"]) | st.from_regex(
    r"x[a-z]{1,5}", fullmatch=True
)
OPTION = st.builds(Option, NAME, st.lists(WORD, max_size=2))
PLUGIN = st.builds(Plugin, NAME, st.lists(WORD, max_size=3), st.lists(OPTION, max_size=3))
SERVER = st.builds(
    Server,
    st.lists(st.from_regex(r"[a-z0-9.]{1,6}", fullmatch=True), min_size=1, max_size=3),
    st.lists(PLUGIN, max_size=4),
)


@given(st.lists(SERVER, max_size=3))
def test_what_is_written_is_read_as_the_same(servers: list[Server]) -> None:
    assert parse(to_text(servers)) == servers


@given(st.lists(SERVER, max_size=3), st.integers(0, len(RELEASES) - 1), st.integers(0, len(RELEASES) - 1))
def test_plugins_that_nobody_knows_are_never_touched(servers: list[Server], one: int, other: int) -> None:
    start, end = RELEASES[min(one, other)], RELEASES[max(one, other)]
    text = to_text(servers)
    try:
        migrated = parse(migrate(text, start, end).text)
    except CorefileError:
        return
    strange = [plugin for server in servers for plugin in server.plugins if plugin.name.startswith("x")]
    assert [plugin for server in migrated for plugin in server.plugins if plugin.name.startswith("x")] == strange


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text)
    except CorefileError as error:
        assert str(error)
