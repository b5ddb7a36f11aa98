"""Draws the mean delay of departures by the hour of the day in New York: draw.py FLIGHTS-BY-HOUR PICTURE.svg"""

from __future__ import annotations

import sys

import pandas

WIDTH, HEIGHT, BAR, LEFT, BOTTOM = 720, 300, 26, 48, 250


def mean_delays(directory: str) -> dict[int, float]:
    """Minutes, by hour of the day."""
    frame = pandas.read_parquet(directory)
    local = frame["hour"].dt.tz_localize("UTC") if frame["hour"].dt.tz is None else frame["hour"]
    sums = frame.groupby(local.dt.tz_convert("America/New_York").dt.hour)[["delay_minutes", "departed"]].sum()
    sums = sums[sums["departed"] > 0]
    return {int(hour): row["delay_minutes"] / row["departed"] for hour, row in sums.iterrows()}


def picture(delays: dict[int, float]) -> str:
    scale = (BOTTOM - 50) / max(*delays.values(), 1.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="24" font-size="15">Mean delay of departures, by scheduled hour (minutes)</text>',
    ]
    for hour in range(24):
        x = LEFT + hour * (BAR + 1)
        parts.append(f'<text x="{x + BAR / 2}" y="{BOTTOM + 18}" text-anchor="middle">{hour}</text>')
        if hour in delays:
            height = max(delays[hour], 0) * scale
            top = BOTTOM - height
            parts.append(f'<rect x="{x}" y="{top:.1f}" width="{BAR}" height="{height:.1f}" fill="#4878a8"/>')
            parts.append(f'<text x="{x + BAR / 2}" y="{top - 4:.1f}" text-anchor="middle">{delays[hour]:.0f}</text>')
    parts.append(f'<line x1="{LEFT}" y1="{BOTTOM}" x2="{WIDTH - 20}" y2="{BOTTOM}" stroke="black"/>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(picture(mean_delays(sys.argv[1])))
