# SPDX-License-Identifier: MIT
"""A decision and its reasons, for terminals, notebooks and programs."""

from __future__ import annotations

import html
import json
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

_BANDS = ((4, "reference"), (8, "portable"), (12, "performant"), (16, "specialized"))
_GAP = "  "

Pairs = List[Tuple[str, str]]


def _clean(text: str) -> str:
    """No control characters reach a terminal."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _sentence(said: Dict[str, Any]) -> str:
    """A code and its message, the code once."""
    code, message = str(said.get("code") or "?"), str(said.get("message") or "?")
    if "_" in code:
        told = re.search(rf"(?<!\w){re.escape(code)}(?!\w)", message)
    else:
        told = re.match(rf"{re.escape(code)}:", message)
    return message if told else f"{code}: {message}"


def _exclusion(reason: Dict[str, Any]) -> str:
    required, actual, source = (reason.get(k) or "" for k in ("required", "actual", "source"))
    text = reason.get("code") or "?"
    if required:
        text += f": required {required}"
    if actual:
        text += f", actual {actual}" if required else f": {actual}"
    return f"{text} ({source})" if source else text


def _lay_out(rows: Sequence[Sequence[str]], indent: str = "", right: Sequence[int] = ()) -> str:
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))] if rows else []
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if c in right else cell.ljust(width)
            for c, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append((indent + _GAP.join(cells)).rstrip() + "\n")
    return "".join(lines)


class Decision:
    """What would run.

    selected: "plugin/kernel", or None
    json:     the whole answer, as `pluginctl select --json`
    """

    def __init__(self, text: str) -> None:
        self.json: Dict[str, Any] = json.loads(text)

    @property
    def operation(self) -> str:
        """FAMILY/MODE."""
        return str(self.json["operation"])

    @property
    def selected(self) -> Optional[str]:
        """The "plugin/kernel" that runs; None: nothing is eligible."""
        selected: Optional[str] = self.json["selected"]
        return selected

    @property
    def warnings(self) -> List[str]:
        """Sentences."""
        return [_sentence(warning) for warning in self.json.get("warnings") or ()]

    def __bool__(self) -> bool:
        return self.selected is not None

    # -- its parts, as text

    def _title(self) -> str:
        return self.selected or f"no kernel of {self.operation} is eligible"

    def _rank(self) -> Pairs:
        rank = self.json.get("rank")
        if not rank:
            return []
        band = next((name for end, name in _BANDS if rank["priority"] < end), "plugin")
        return [
            (
                "rank",
                f"policy {rank['policy']}, objective {rank['objective']}, "
                f"priority {rank['priority']} ({band})",
            )
        ]

    def _override(self) -> Pairs:
        override = self.json.get("override")
        if not override:
            return []
        ignored = override.get("ignored") or []
        pairs = []
        if not ignored or ignored[0]["source"] != override["source"]:
            pairs.append(("override", f"{override['value']}, by {override['source']}"))
        for each in ignored:
            message = f": {each['message']}" if each.get("message") else ""
            pairs.append(("ignored", f"{each['value']}, by {each['source']}{message}"))
        return pairs

    def _pairs(self) -> Pairs:
        said, pairs = self.json, self._rank() if self.selected else []
        if said.get("signature"):
            pairs.append(("signature", said["signature"]))
        if self.selected:
            if said.get("device"):
                pairs.append(("device", said["device"]))
            pairs += self._override()
            instead = said.get("fallback_from")
            if instead:
                pairs.append(("instead of", f"{instead['kernel']}: {_sentence(instead)}"))
        if said.get("pending"):
            pairs.append(("pending", ", ".join(said["pending"])))
        pairs += [("warning", warning) for warning in self.warnings]
        return [(name, _clean(value)) for name, value in pairs]

    # -- whole

    def __str__(self) -> str:
        return (self._title() + "\n" + _lay_out(self._pairs(), "  ")).rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self._pairs()
        )
        return f"<p><b>{html.escape(self._title())}</b></p><table>{rows}</table>"


class Why(Decision):
    """A decision with every kernel of the operation: its rank, or what excluded it."""

    @property
    def candidates(self) -> List[Dict[str, Any]]:
        """kernel, eligible, position, rank and reasons of each."""
        candidates: List[Dict[str, Any]] = self.json["candidates"]
        return candidates

    def _verdicts(self, candidate: Dict[str, Any]) -> List[str]:
        if candidate["eligible"]:
            return ["selected" if candidate["kernel"] == self.selected else "eligible"]
        return [_clean(_exclusion(r)) for r in candidate["reasons"]] or ["not eligible"]

    @staticmethod
    def _place(candidate: Dict[str, Any]) -> Tuple[str, str, str]:
        rank, position = candidate["rank"], candidate["position"]
        return (
            _clean(candidate["kernel"]),
            "-" if position is None else str(position),
            f"{rank['policy']}/{rank['objective']}/{rank['priority']}",
        )

    def __str__(self) -> str:
        rows: List[Sequence[str]] = [("KERNEL", "ORDER", "RANK", "VERDICT")]
        for candidate in self.candidates:
            first, *others = self._verdicts(candidate)
            rows.append((*self._place(candidate), first))
            rows += [("", "", "", other) for other in others]
        table = _lay_out(rows, right=(1, 2)) if len(rows) > 1 else ""
        return (super().__str__() + "\n\n" + table).rstrip("\n")

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = []
        for candidate in self.candidates:
            verdict = "<br>".join(html.escape(v) for v in self._verdicts(candidate))
            cells = [html.escape(cell) for cell in self._place(candidate)] + [verdict]
            weight = "b" if candidate["kernel"] == self.selected else "span"
            rows.append(
                "<tr>" + "".join(f"<td><{weight}>{c}</{weight}></td>" for c in cells) + "</tr>"
            )
        head = "".join(f"<th>{t}</th>" for t in ("kernel", "order", "rank", "verdict"))
        return f"{super()._repr_html_()}<table><tr>{head}</tr>{''.join(rows)}</table>"
