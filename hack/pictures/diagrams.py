"""Draws the diagrams of the documentation as SVG: `make pictures`.

A diagram is a few boxes on a grid and arrows between them. It has a background of its own, with colours for light and
dark screens, so that it is legible on every page.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
STYLE = """
.back { fill: #ffffff } .box { fill: #f6f8fa; stroke: #afb8c1 } .own { fill: #ddf4ff; stroke: #54aeff }
.frame { fill: none; stroke: #afb8c1; stroke-dasharray: 5 4 } .line { fill: none; stroke: #57606a; stroke-width: 1.5 }
.head { fill: #57606a } .title { fill: #1f2328; font-weight: 600 } .text { fill: #57606a; font-size: 13px }
@media (prefers-color-scheme: dark) {
.back { fill: #0d1117 } .box { fill: #161b22; stroke: #484f58 } .own { fill: #0c2d4d; stroke: #388bfd }
.frame { stroke: #484f58 } .line { stroke: #9198a1 } .head { fill: #9198a1 }
.title { fill: #e6edf3 } .text { fill: #b1bac4 }
}
"""
ROW = 19


@dataclass(frozen=True)
class Box:
    """A rectangle with a title and lines of text, at the pixel position of its left upper corner."""

    left: int
    top: int
    width: int
    height: int
    title: str
    lines: tuple[str, ...] = ()
    style: str = "box"

    def svg(self) -> str:
        middle = self.left + self.width // 2
        if self.style == "frame":  # its content has the middle
            texts = [_text(self.left + 14, self.top + 23, "title", self.title, "start")]
        else:
            first = self.top + (self.height - ROW * len(self.lines)) // 2 + 5
            texts = [_text(middle, first, "title", self.title)]
            texts += [_text(middle, first + ROW * row, "text", line) for row, line in enumerate(self.lines, 1)]
        size = f'width="{self.width}" height="{self.height}"'
        rectangle = f'<rect class="{self.style}" x="{self.left}" y="{self.top}" {size} rx="8"/>'
        return "\n".join([rectangle, *texts])


@dataclass(frozen=True)
class Arrow:
    """A line through points, with a head at its end, and at its start if it goes both ways."""

    points: tuple[tuple[int, int], ...]
    both: bool = False
    label: str = ""
    label_at: tuple[int, int] = (0, 0)

    def svg(self) -> str:
        path = "M" + " L".join(f"{x} {y}" for x, y in self.points)
        start = ' marker-start="url(#head)"' * self.both
        line = f'<path class="line" d="{path}" marker-end="url(#head)"{start}/>'
        return line + (f"\n{_text(*self.label_at, 'text', self.label, 'start')}" if self.label else "")


@dataclass(frozen=True)
class Diagram:
    title: str
    width: int
    height: int
    parts: tuple[Box | Arrow, ...]

    def svg(self) -> str:
        head = '<path class="head" d="M0 0 L9 4.5 L0 9 Z"/>'
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                f'width="{self.width}" font-family="{FONT}" font-size="15" role="img">',
                f"<title>{escape(self.title)}</title>",
                f"<style>{STYLE}</style>",
                '<defs><marker id="head" viewBox="0 0 9 9" refX="8" refY="4.5" markerWidth="9" markerHeight="9" '
                f'markerUnits="userSpaceOnUse" orient="auto-start-reverse">{head}</marker></defs>',
                f'<rect class="back" width="{self.width}" height="{self.height}" rx="10"/>',
                *(part.svg() for part in self.parts),
                "</svg>\n",
            ]
        )


def _text(x: int, y: int, style: str, text: str, anchor: str = "middle") -> str:
    return f'<text class="{style}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _down(x: int, top: int, bottom: int) -> Arrow:
    return Arrow(((x, top), (x, bottom)), both=True)


ARCHITECTURE = Diagram(
    "One reconciler, three environments",
    860,
    400,
    (
        Box(20, 20, 820, 184, "your program: one process, one event loop", style="frame"),
        Box(
            44,
            62,
            240,
            120,
            "your reconcilers",
            ("reconcile(request)", "Python classes or functions,", "the same everywhere"),
            "own",
        ),
        Box(
            310, 62, 240, 120, "manager", ("controllers, work queues,", "leader election, webhooks,", "health, metrics")
        ),
        Box(576, 62, 240, 120, "client and cache", ("typed objects, informers,", "read your writes,", "one interface")),
        Arrow(((310, 122), (286, 122)), both=True),
        Arrow(((576, 122), (552, 122)), both=True),
        Box(20, 270, 256, 110, "in a cluster", ("Kubernetes API server,", "HTTPS")),
        Box(302, 270, 256, 110, "in one process", ("embedded API server", "on memory, SQLite or etcd")),
        Box(584, 270, 256, 110, "on a node", ("Device API: GPUs,", "gRPC on a Unix socket")),
        *(_down(x, 206, 268) for x in (148, 430, 712)),
    ),
)

EVENT = Diagram(
    "The way of an event, from a commit to a write",
    860,
    400,
    (
        Box(20, 20, 190, 96, "storage", ("a commit increases", "the revision")),
        Box(236, 20, 190, 96, "watch", ("each open watch reads", "the log of commits")),
        Box(452, 20, 190, 96, "reflector", ("lists, watches, resumes", "after each failure")),
        Box(668, 20, 172, 96, "cache", ("objects and indexes,", "as bytes")),
        Box(668, 152, 172, 96, "source", ("predicates drop events,", "handlers map them")),
        Box(452, 152, 190, 96, "work queue", ("a request waits once,", "by priority")),
        Box(236, 152, 190, 96, "worker", ("one at a time", "for each object")),
        Box(20, 152, 190, 96, "your reconciler", ("reads the object and", "writes what is missing"), "own"),
        Box(20, 284, 190, 96, "client", ("reads from the cache,", "writes to the server")),
        Box(236, 284, 406, 96, "API server", ("default, mutate by webhooks and policies,", "validate, admit, commit")),
        Arrow(((212, 68), (234, 68))),
        Arrow(((428, 68), (450, 68))),
        Arrow(((644, 68), (666, 68))),
        Arrow(((754, 118), (754, 150))),
        Arrow(((666, 200), (644, 200))),
        Arrow(((450, 200), (428, 200))),
        Arrow(((234, 200), (212, 200))),
        Arrow(((115, 250), (115, 282))),
        Arrow(((212, 332), (234, 332))),
        Arrow(((644, 332), (850, 332), (850, 10), (10, 10), (10, 68), (18, 68))),
    ),
)

DIAGRAMS = {"architecture.svg": ARCHITECTURE, "event.svg": EVENT}


def main(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, diagram in DIAGRAMS.items():
        (folder / name).write_text(diagram.svg(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
