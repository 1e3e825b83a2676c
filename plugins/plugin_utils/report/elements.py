# Copyright: (c) 2026, kubeadm.control_plane contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Elements of HTML and SVG, and the words and numbers in them.

Text is never put together with markup: the standard library's serializer escapes it.
"""

from __future__ import annotations

import typing as t
from xml.etree import ElementTree

from ...module_utils.common.legible import visible
from ...module_utils.common.values import format_time

Element = ElementTree.Element


def el(tag: str, *children: t.Union[Element, str, None], **attributes: t.Any) -> Element:
    """Return an element.

    Args:
        tag: its name.
        children: elements, and texts of any origin; None is left out.
        attributes: ``class_`` is class and ``aria_label`` is aria-label; None is left out.
    """
    made = Element(tag)
    for key, value in attributes.items():
        if value is not None:
            made.set(key.rstrip("_").replace("_", "-"), _clean(str(value)))
    for child in children:
        if child is None:
            continue
        if not isinstance(child, str):
            made.append(child)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + _clean(child)
        else:
            made.text = (made.text or "") + _clean(child)
    return made


def _clean(text: str) -> str:
    # Neither XML 1.0 nor HTML has these two.
    return visible(text).replace("\ufffe", "\\ufffe").replace("\uffff", "\\uffff")


def html_text(root: Element) -> str:
    """Return a page's text."""
    return "<!DOCTYPE html>\n" + ElementTree.tostring(root, encoding="unicode", method="html") + "\n"


def svg_text(root: Element) -> str:
    """Return the text of a picture on its own."""
    root.set("xmlns", "http://www.w3.org/2000/svg")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def clock(seconds: float) -> str:
    """Return the time of day, UTC, as 12:03:21."""
    return format_time(seconds)[11:19]


def moment(seconds: float) -> str:
    """Return date and time, UTC, as 2026-01-02 12:03:21."""
    return format_time(seconds)[:19].replace("T", " ")


def duration(seconds: float) -> str:
    """Return a duration in words, as "1 min 52 s"."""
    if 0 < seconds < 10 and seconds != int(seconds):
        return f"{seconds:.1f} s"
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes_of = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes_of} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def count(number: int, word: str) -> str:
    """Return a number with its word, as "1 step" or "3 steps"."""
    return f"{number} {word}{'' if number == 1 else 's'}"
