# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prometheus' own programs, from PATH or from the cache that tests/tools/prometheus.sh fills."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import typing as t
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
import yaml
from etcd_cluster import free_port, until

DEFAULT_CACHE = "~/.cache/kubeadm-control-plane"
SHIPPED = Path(__file__).resolve().parents[2] / "extensions" / "monitoring"
RULES, DASHBOARD = SHIPPED / "control_plane.rules.yml", SHIPPED / "grafana.json"
_LINE = re.compile(r'^(\w+)\{((?:\w+="(?:[^"\\\n]|\\[\\n"])*",?)*)\} (-?\d+)$')
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def program(name: str) -> str:
    """Return the path of a program; skip the test where there is none."""
    cache = Path(os.environ.get("KUBEADM_CONTROL_PLANE_CACHE") or os.path.expanduser(DEFAULT_CACHE)) / "prometheus"
    found = shutil.which(name) or shutil.which(name, path=str(cache))
    if not found:
        pytest.skip(f"no {name}: tests/tools/prometheus.sh gets it where there is apt-get")
    return found


def promtool(*arguments: str, text: str = "", folder: Path | None = None) -> str:
    """Run promtool, which must find nothing wrong, and return what it says."""
    command = [program("promtool"), *arguments]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def samples(text: str) -> dict[str, list[tuple[dict[str, str], int]]]:
    """Return a file's lines: each metric's labels and values. Fails on a line that is neither a comment nor one of those."""
    found: dict[str, list[tuple[dict[str, str], int]]] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            continue
        matched = _LINE.match(line)
        assert matched, line
        found.setdefault(matched.group(1), []).append((dict(_LABEL.findall(matched.group(2))), int(matched.group(3))))
    return found


def dashboard_expressions() -> dict[str, str]:
    """Return what the dashboard asks Prometheus, by panel and query: for all that a user may select there."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    asked = {f"{panel['title']} {each['refId']}": each["expr"] for panel in panels for each in panel["targets"]}
    return {name: re.sub(r"\$(?:namespace|cluster)\b", ".*", expression) for name, expression in asked.items()}


class Monitoring:
    """A Prometheus with the alert rules, and the node_exporter that it scrapes each second, on loopback.

    What the rules wait before they fire is left out, of all or of one.

    Args:
        folder: for their own files.
        metrics: the folder that node_exporter reads.
        alertmanager: the address of an Alertmanager, "" for none.
        soon: the alert that does not wait; "" for all.
    """

    def __init__(self, folder: Path, metrics: Path, alertmanager: str = "", soon: str = "") -> None:
        exporter, self._port = f"127.0.0.1:{free_port()}", free_port()
        document = yaml.safe_load(RULES.read_text(encoding="utf-8"))
        for group in document["groups"]:
            for rule in group["rules"]:
                if soon in ("", rule["alert"]):
                    rule.pop("for", None)
        (folder / "rules.yml").write_text(yaml.safe_dump(document))
        configuration: dict[str, t.Any] = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["rules.yml"],
            "scrape_configs": [{"job_name": "controller", "static_configs": [{"targets": [exporter]}]}],
        }
        if alertmanager:
            configuration["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]}
        (folder / "prometheus.yml").write_text(yaml.safe_dump(configuration))
        textfile = ("--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={metrics}")
        commands = (
            [program("prometheus-node-exporter"), *textfile, f"--web.listen-address={exporter}"],
            [
                program("prometheus"),
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self._port}",
            ],
        )
        self._processes = []
        for command in commands:
            with (folder / f"{Path(command[0]).name}.log").open("ab") as log:
                self._processes.append(
                    subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
                )

    def _get(self, path: str) -> t.Any:
        url = f"http://127.0.0.1:{self._port}/api/v1/{path}"
        try:
            with urllib.request.urlopen(url) as answer:
                return json.load(answer)["data"]
        except (urllib.error.URLError, ConnectionError) as error:
            if isinstance(error, urllib.error.HTTPError) and error.code != 503:
                raise
            # It has not begun yet: nobody listens, or it says that it is not ready.
            return {}

    def alerts(self) -> dict[str, dict[str, t.Any]]:
        """The alerts that fire now, by name."""
        return {each["labels"]["alertname"]: each for each in self._get("alerts").get("alerts") or ()}

    def series(self, expression: str) -> list[dict[str, t.Any]]:
        """What Prometheus answers now; an expression that it does not take is an error."""
        return list(self._get(f"query?query={urllib.parse.quote(expression)}").get("result") or ())

    def value(self, metric: str) -> str:
        """The newest value of a metric that has one line, "" where there is none."""
        found = self.series(metric)
        return str(found[0]["value"][1]) if found else ""

    def until_answered(self, but: t.Collection[str] = ()) -> None:
        """Wait until each of the dashboard's questions has an answer, but these."""
        for name, expression in dashboard_expressions().items():
            if name not in but:
                until(f"{name} is answered", lambda asked=expression: self.series(asked))  # type: ignore[misc]

    def until_alerts(self, what: str, condition: t.Callable[[dict[str, dict[str, t.Any]]], t.Any]) -> t.Any:
        """Wait until the alerts are as wanted and return what the condition does."""
        return until(what, lambda: condition(self.alerts()))

    def until_value(self, metric: str, wanted: str) -> None:
        """Wait until a metric was scraped with that value."""
        until(f"{metric} is {wanted}", lambda: self.value(metric) == wanted)

    def end(self) -> None:
        """End both."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait()
