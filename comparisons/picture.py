"""Plots curves over sizes as SVG: logarithmic values, equally spaced sizes, and one panel per title."""
import math
from html import escape

COLOURS = ("#1f6fb4", "#d1495b", "#6b6b6b")
WIDTH, HEIGHT, LEFT, TOP = 330, 230, 62, 40


def text_of_seconds(power):
    return {-6: "1 us", -5: "10 us", -4: "100 us", -3: "1 ms", -2: "10 ms", -1: "100 ms", 0: "1 s", 1: "10 s"}.get(power, f"1e{power} s")


def write_curves(path, heading, panels, labels, text_of_power=text_of_seconds):
    """Writes the SVG to `path`. `panels` is {title: {name of a curve: {size: value}}}, and `labels` is {size: text}. `text_of_power` labels a
    power of ten on the axis of values. Panels whose curves have other names than those of the first one have their own legends."""
    columns = 2
    rows = math.ceil(len(panels) / columns)
    wide, high = columns * (WIDTH + LEFT) + 30, rows * (HEIGHT + 80) + TOP + 30
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" font-family="sans-serif" font-size="11">',
             f'<rect width="{wide}" height="{high}" fill="white"/>', f'<text x="{wide / 2}" y="22" text-anchor="middle" font-size="15">{escape(heading)}</text>']
    names = list(next(iter(panels.values())))
    is_common = all(list(curves) == names for curves in panels.values())
    if is_common:
        for number, name in enumerate(names):
            parts += legend(number, name, LEFT + 110 * number, 38)
    for number, (title, curves) in enumerate(panels.items()):
        origin = (LEFT + (number % columns) * (WIDTH + LEFT), TOP + 40 + (number // columns) * (HEIGHT + 80))
        parts += panel(origin, title, curves, labels, text_of_power)
        if not is_common:
            for line, name in enumerate(curves):
                parts += legend(line, name, origin[0] + 10, origin[1] + 14 + 16 * line)
    path.write_text("\n".join([*parts, "</svg>"]) + "\n")


def legend(number, name, x, y):
    return [f'<line x1="{x}" y1="{y}" x2="{x + 22}" y2="{y}" stroke="{COLOURS[number]}" stroke-width="2.5"/>', f'<text x="{x + 28}" y="{y + 4}">{escape(name)}</text>']


def panel(origin, title, curves, labels, text_of_power):
    left, top = origin
    sizes = sorted(next(iter(curves.values())))
    every = [value for curve in curves.values() for value in curve.values()]
    low, high = math.floor(math.log10(min(every))), math.ceil(math.log10(max(every)))
    high += high == low

    def x(size):
        return left + WIDTH * sizes.index(size) / (len(sizes) - 1)

    def y(value):
        return top + HEIGHT * (high - math.log10(value)) / (high - low)

    parts = [f'<text x="{left + WIDTH / 2}" y="{top - 8}" text-anchor="middle" font-size="13">{escape(title)}</text>',
             f'<rect x="{left}" y="{top}" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="#999"/>']
    for power in range(low, high + 1):
        parts += [f'<line x1="{left}" y1="{y(10**power):.1f}" x2="{left + WIDTH}" y2="{y(10**power):.1f}" stroke="#e3e3e3"/>',
                  f'<text x="{left - 6}" y="{y(10**power) + 4:.1f}" text-anchor="end">{escape(text_of_power(power))}</text>']
    parts += [f'<text x="{x(size):.1f}" y="{top + HEIGHT + 16}" text-anchor="middle">{escape(labels[size])}</text>' for size in sizes]
    for number, curve in enumerate(curves.values()):
        points = " ".join(f"{x(size):.1f},{y(curve[size]):.1f}" for size in sizes)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[number]}" stroke-width="2"/>')
        parts += [f'<circle cx="{x(size):.1f}" cy="{y(curve[size]):.1f}" r="2.5" fill="{COLOURS[number]}"/>' for size in sizes]
    return parts
