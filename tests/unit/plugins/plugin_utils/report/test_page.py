# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Page, picture and Markdown: nothing of others becomes markup, nothing is fetched, everything can be read and has a name."""

from __future__ import annotations

import re
import typing as t
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import pytest
from journal_life import MACHINES, NOON, Life, creation, failed_rollout

from ansible_collections.kubeadm.control_plane.plugins.plugin_utils.report import (
    chart,
    journal_runs,
    markdown,
    model,
    page,
    style,
)

HOSTILE = "</style></svg><script>alert(1)</script>\"'><img src=x onerror=y> `@all` | [x](http://evil) {{ 7 * 7 }} \ufffe\x1b[31m"
SVG = "{http://www.w3.org/2000/svg}"
# What is written on what: the pairs of text and ground.
PAIRS = (
    ("ink", "card"),
    ("ink", "paper"),
    ("muted", "card"),
    ("muted", "paper"),
    ("link", "card"),
    ("link", "paper"),
    ("on", "makes"),
    ("on", "removes"),
    ("on", "other"),
    ("on", "failed"),
    ("on", "good"),
    ("on", "leader-a"),
    ("on", "leader-b"),
    ("on-wait", "wait"),
    ("voters", "card"),
    ("quorum", "card"),
    ("on-good-soft", "good-soft"),
    ("on-bad-soft", "bad-soft"),
    ("on-wait-soft", "wait-soft"),
)


class Parsed(HTMLParser):
    """Elements and texts of a page; fails on one that isn't closed."""

    VOID: t.ClassVar[set[str]] = {"meta"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, t.Optional[str]]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, t.Optional[str]]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.text += data


@pytest.fixture
def reports(tmp_path: Path) -> list[model.ClusterReport]:
    """Two clusters: one was made, one failed in a rollout."""
    good, bad = Life(tmp_path / "store"), Life(tmp_path / "store", "staging")
    creation(good)
    creation(bad)
    failed_rollout(bad)
    return [
        journal_runs.read(each.journal.entries(), "default", name) for each, name in ((good, "prod"), (bad, "staging"))
    ]


def hostile() -> model.ClusterReport:
    """What others may have written, everywhere."""
    step = model.Step(
        HOSTILE, HOSTILE, NOON, HOSTILE, NOON + 60, HOSTILE, HOSTILE, (1, 2), [model.Phase(HOSTILE, NOON, NOON + 60)]
    )
    run = model.Run(
        HOSTILE, NOON, NOON + 60, HOSTILE, HOSTILE, HOSTILE, [HOSTILE], [step], [model.Wait(HOSTILE, HOSTILE, NOON)]
    )
    run.states.append(model.State(NOON, 1, 1, 1, HOSTILE, True, 1, 1))
    run.notes.append((NOON, HOSTILE))
    return model.ClusterReport("default", HOSTILE, [run], 0, NOON + 60, run, [(HOSTILE, NOON + 60)])


def test_nothing_of_others_becomes_markup(reports: list[model.ClusterReport]) -> None:
    allowed = {tag for tag, _attributes in Parsed(page.page(reports)).elements}
    assert not allowed & {"script", "img", "link", "iframe", "object", "form"}
    found = Parsed(page.page([hostile(), *reports]))
    assert {tag for tag, _attributes in found.elements} <= allowed
    assert not [key for _tag, attributes in found.elements for key in attributes if key.startswith("on")]
    assert "<script>alert(1)</script>" in found.text and "\\x1b[31m" in found.text and "{{ 7 * 7 }}" in found.text


def test_nothing_is_fetched(reports: list[model.ClusterReport]) -> None:
    text = page.page([hostile(), *reports])
    parsed = Parsed(text)
    links = [attributes["href"] or "" for _tag, attributes in parsed.elements if "href" in attributes]
    assert links and all(each.startswith("#") for each in links)
    assert not [attributes for _tag, attributes in parsed.elements if "src" in attributes]
    styles = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert len(styles) == 1 and not re.search(r"url\(|@import|http", styles[0])
    [policy] = [each for _tag, each in parsed.elements if each.get("http-equiv") == "Content-Security-Policy"]
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_every_picture_and_every_link_has_a_name(reports: list[model.ClusterReport]) -> None:
    parsed = Parsed(page.page(reports))
    identifiers = [attributes["id"] for _tag, attributes in parsed.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))
    pictures = [attributes for tag, attributes in parsed.elements if tag == "svg"]
    # Each run has one for wide screens and one for phones.
    assert len(pictures) == 2 * 3
    for each in pictures:
        assert each["role"] == "img" and set((each["aria-labelledby"] or "").split()) <= set(identifiers)
    links = [(attributes["href"] or "")[1:] for tag, attributes in parsed.elements if tag == "a"]
    assert len(links) == 2 and set(links) <= set(identifiers)


def test_the_page_says_the_journals_figures(reports: list[model.ClusterReport]) -> None:
    text = " ".join(Parsed(page.page(reports[:1])).text.split())
    for said in (
        "5 of 5",
        "2 min 5 s",
        "NodesReady",
        "initialize prod-4t7kx",
        "kubeadm's 9 phases",
        "Certificates' ends (5)",
        "quorum 2; 1 voter may fail",
    ):
        assert said in text
    failed = Parsed(page.page(reports[1:])).text
    assert "Port 10250 is in use" in failed and "planned, not done" in failed and "no answer" in failed


def test_several_are_one_page_sorted_by_trouble(reports: list[model.ClusterReport]) -> None:
    parsed = Parsed(page.page(reports))
    assert parsed.text.index("default/staging") < parsed.text.index("default/prod")
    assert [attributes["id"] for tag, attributes in parsed.elements if tag == "section" and "id" in attributes] == [
        "c0",
        "c1",
    ]


def test_the_same_journal_gives_the_same_bytes(reports: list[model.ClusterReport]) -> None:
    assert page.page(reports) == page.page(list(reversed(reports)))
    assert markdown.markdown(reports) == markdown.markdown(list(reversed(reports)))


def test_a_picture_on_its_own_is_xml(reports: list[model.ClusterReport]) -> None:
    for report in (hostile(), *reports):
        root = ElementTree.fromstring(page.picture_file(report.runs[0], report.name))
        assert root.tag == f"{SVG}svg" and root.find(f"{SVG}title") is not None
        assert not root.findall(f".//{SVG}script")


@pytest.mark.parametrize("width", [chart.WIDE, chart.NARROW])
def test_a_picture_has_each_steps_bar_where_the_journal_has_it(reports: list[model.ClusterReport], width: int) -> None:
    run = reports[0].runs[0]
    drawn = chart.picture(run, "prod", "k", width)
    bars = {each.findtext("title"): each.find("rect") for each in drawn.iter("g")}
    label = next(each for each in bars if each and each.startswith(f"join {MACHINES[1]}"))
    assert label == f"join {MACHINES[1]}: succeeded, 12:00:51 to 12:01:24, 33 s"
    bar = bars[label]
    assert bar is not None
    left, plot = (196, width - 206) if width == chart.WIDE else (10, width - 20)
    assert float(bar.get("x") or 0) == pytest.approx(left + 51 / 125 * plot, abs=0.1)
    assert float(bar.get("width") or 0) == pytest.approx(33 / 125 * plot, abs=0.2)
    for each in drawn.iter("rect"):
        assert float(each.get("x") or 0) + float(each.get("width") or 0) <= width


@pytest.mark.parametrize(
    ("watched", "last", "ends"),
    [
        (None, {}, {"endpoint": 50, "leader": 50, "voters": 60}),
        ([], {}, {"endpoint": 101, "leader": 50, "voters": 60}),
        (None, {"voters": 3, "healthy": 1, "quorum": 2}, {"endpoint": 50, "leader": 50, "voters": 101}),
        (None, {"endpoint": True}, {"endpoint": 101, "leader": 50, "voters": 60}),
    ],
    ids=["nothing was reached", "with a watcher", "etcd has no leader", "etcd was not asked"],
)
def test_a_picture_shows_no_longer_than_it_was_known(
    tmp_path: Path, watched: t.Optional[list[model.Span]], last: dict[str, t.Any], ends: dict[str, int]
) -> None:
    life = Life(tmp_path / "store")
    seen: dict[str, t.Any] = {"replicas": 2, "leader": MACHINES[0], "endpoint": True, "healthy": 2, "quorum": 2}
    life.step(0, 40, "join", MACHINES[1], votersBefore=1, votersAfter=2, voters=1, **seen)
    life.step(50, 60, "join", MACHINES[2], votersBefore=2, votersAfter=3, voters=2, **seen)
    life.fact(100, "state", "the last look", replicas=3, **last)
    life.close(101, "waits")
    [run] = journal_runs.read(life.journal.entries(), "default", "prod", watched=watched).runs
    drawn = chart.picture(run, "prod", "k")
    bars = {each.findtext("title"): each.find("rect") for each in drawn.iter("g")}
    found = {}
    for name, title in (("endpoint", "answers from 12:00:00"), ("leader", f"{MACHINES[0]} leads from 12:00:00")):
        bar = bars[title]
        assert bar is not None
        found[name] = float(bar.get("width") or 0)
    [voters] = [each.get("d") or "" for each in drawn.iter("path") if each.get("class") == "voters"]
    found["voters"] = float(voters.split()[-1]) - 196
    assert found == {name: pytest.approx(end / 101 * (chart.WIDE - 206), abs=0.2) for name, end in ends.items()}


def test_markdown_keeps_texts_of_others_in_code_spans(reports: list[model.ClusterReport]) -> None:
    text = markdown.markdown([hostile()])
    outside = re.sub(r"`[^`]*`", "", text)
    for each in ("<script", "@all", "](", "alert"):
        assert each not in outside
    rows = [line for line in text.splitlines() if line.startswith("|") and "alert" in line]
    assert rows and all(len(re.findall(r"(?<!\\)\|", row)) in (4, 6) for row in rows)
    said = markdown.markdown(reports[:1])
    assert "- planned and done: 5 of 5" in said and "| `join` | `prod-x7k2p` | 12:00:51 | 33 s | succeeded |" in said


def test_an_empty_journal() -> None:
    empty = journal_runs.read([], "default", "prod")
    assert "no run that was asked for" in page.page([empty]) and "no run that was asked for" in markdown.markdown(
        [empty]
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme: str) -> None:
    """WCAG 2.2, 1.4.3: 4.5:1 for text."""
    colours = style.LIGHT if scheme == "light" else style.DARK

    def luminance(name: str) -> float:
        parts = [int(colours[name][place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    for text, ground in PAIRS:
        brighter, darker = sorted((luminance(text), luminance(ground)), reverse=True)
        assert (brighter + 0.05) / (darker + 0.05) >= 4.5, f"{text} on {ground}"
