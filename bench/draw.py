"""Pictures of results as SVG, for light and dark displays. Standard library only."""
import math
from html import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 360, 300, 48, 14, 52, 46  # of a panel
LIGHT = {"ink": "#1c2127", "soft": "#5a6370", "grid": "#e1e5ea", "axis": "#7b8591", "paper": "#ffffff"}
DARK = {"ink": "#e8eaed", "soft": "#a3acb8", "grid": "#2c333b", "axis": "#8b95a1", "paper": "#15181c"}
SERIES = [("#c2570c", "#ffa657"), ("#1f6fd0", "#6db1ff"), ("#1a7f4b", "#56d394"), ("#7c4dbd", "#c3a1ff"),
          ("#00798c", "#4fd0df"), ("#8a6100", "#e2c044"), ("#a13670", "#ff9bcb"), ("#5a6370", "#a3acb8"),
          ("#b3261e", "#ff8b82"), ("#5d7a00", "#b5d33d"), ("#3b3f9e", "#9fa8ff")]


def style():
    def rules(colours, number):
        text = (f"text{{fill:{colours['ink']}}}text.soft{{fill:{colours['soft']}}}.grid{{stroke:{colours['grid']}}}"
                f".axis{{stroke:{colours['axis']};fill:none}}.paper{{fill:{colours['paper']}}}")
        return text + "".join(f".s{i}{{stroke:{pair[number]}}}.m{i}{{fill:{pair[number]}}}" for i, pair in enumerate(SERIES))

    return ("text{font:12px system-ui,sans-serif}.title{font-size:14px;font-weight:600}.mid{text-anchor:middle}"
            ".end{text-anchor:end}path{fill:none}.dash{stroke-dasharray:5 4}"
            f"{rules(LIGHT, 0)}@media(prefers-color-scheme:dark){{{rules(DARK, 1)}}}")


def step_of(most):
    rough = most / 5
    power = 10 ** math.floor(math.log10(rough))
    return next(d * power for d in (1, 2, 5, 10) if d * power >= rough)


def text(x, y, classes, words):
    return f'<text class="{classes}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>\n'


def panel(left, names, data, across, up):
    """One coordinate system: sizes at equal distances along x, speeds from 0 along y."""
    sizes, ceiling = data["sizes"], data.get("ceiling", [])
    most = max([v for line in data["series"].values() for v in line if v] + [v for v in ceiling if v])
    step = step_of(most)
    top = step * math.ceil(most / step)

    def x(i):
        return left + LEFT + (WIDTH - LEFT - RIGHT) * (i + 0.5) / len(sizes)

    def y(value):
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top)

    def path(line):
        parts, pen = [], "M"
        for i, value in enumerate(line):
            if value is not None:
                parts.append(f"{pen}{x(i):.1f},{y(value):.1f}")
            pen = "L" if value is not None else "M"
        return "".join(parts)

    out = text(left + LEFT, 20, "title", data["title"]) + text(left + LEFT, 38, "soft", up)
    for k in range(round(top / step) + 1):
        out += f'<path class="grid" d="M{left + LEFT},{y(k * step):.1f}H{left + WIDTH - RIGHT}"/>\n'
        out += text(left + LEFT - 6, y(k * step) + 4, "end", f"{k * step:g}")
    for i, size in enumerate(sizes):
        out += text(x(i), HEIGHT - BOTTOM + 17, "mid", str(size))
    out += text(left + (LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 36, "mid soft", across)
    if ceiling:
        out += f'<path class="axis dash" stroke-width="1.5" d="{path(ceiling)}"/>\n'
    for number, name in reversed(list(enumerate(names))):  # ours on top
        line = data["series"].get(name)
        if not line:
            continue
        out += f'<path class="s{number}" stroke-width="{3 if number == 0 else 1.8}" stroke-linejoin="round" d="{path(line)}"/>\n'
        out += "".join(f'<circle class="m{number}" cx="{x(i):.1f}" cy="{y(v):.1f}" r="{4 if number == 0 else 2.6}"/>\n'
                       for i, v in enumerate(line) if v is not None)
    return out


def legend(names, width, top, ceiling):
    out, x, row = "", LEFT, 0
    entries = [(name, f'<path class="s{i}" stroke-width="3" d="M0,0h18"/>') for i, name in enumerate(names)]
    if ceiling:
        entries.append(("the fastest plain reading", '<path class="axis dash" stroke-width="1.5" d="M0,0h18"/>'))
    for name, mark in entries:
        if x + 40 + 7 * len(name) > width:
            x, row = LEFT, row + 1
        out += f'<g transform="translate({x} {top + 14 + 20 * row})">{mark}</g>\n' + text(x + 24, top + 18 + 20 * row, "", name)
        x += 48 + 7 * len(name)
    return out, top + 36 + 20 * row


def quantiles(values, steps=10):
    """The smallest value, the largest, and those between them at equal shares of all."""
    ordered = sorted(values)
    return [ordered[round(i * (len(ordered) - 1) / steps)] for i in range(steps + 1)]


def speeds(title, panels, across="block size b, for b × b blocks", up="GB/s"):
    """One panel per machine, matrix or solver, three in a row: {"title", "sizes", "series": {name: [speed or None]}}, and
    "ceiling": [speed] where there is one. The first name of the first panel is ours."""
    names = list(dict.fromkeys(name for p in panels for name in p["series"]))
    assert len(names) <= len(SERIES), f"{len(names)} series, {len(SERIES)} colours"
    width = WIDTH * min(len(panels), 3)
    marks, height = legend(names, width, HEIGHT * ((len(panels) + 2) // 3), any(p.get("ceiling") for p in panels))
    described = "; ".join(f"{p['title']}: {', '.join(p['series'])}" for p in panels)
    drawn = "".join(f'<g transform="translate(0 {HEIGHT * (i // 3)})">\n{panel(WIDTH * (i % 3), names, p, across, up)}</g>\n'
                    for i, p in enumerate(panels))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-labelledby="t d">\n<title id="t">{escape(title)}</title>\n<desc id="d">{escape(described)}</desc>\n'
            f'<style>{style()}</style>\n<rect class="paper" width="100%" height="100%"/>\n{drawn}{marks}</svg>\n')
