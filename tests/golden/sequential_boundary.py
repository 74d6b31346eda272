"""Nominal levels of a group-sequential test that spends alpha t^2, by brute force: the density of the
sum of normal steps is carried on a fine, fixed grid with the trapezoidal rule."""

import json
import math
import pathlib

import numpy as np


def upper(z):
    return 0.5 * math.erfc(z / math.sqrt(2))


def levels(looks, alpha):
    grid = np.linspace(-9, 9, 6001)
    step = grid[1] - grid[0]
    density = None
    before = 0.0
    result = []
    for look in looks:
        now = look / looks[-1]
        spend = alpha * (now * now - before * before)
        sd = math.sqrt(now - before)
        if density is None:
            density = np.exp(-0.5 * (grid / sd) ** 2) / (sd * math.sqrt(2 * math.pi))
        else:
            kernel = np.exp(-0.5 * ((grid[:, None] - grid[None, :]) / sd) ** 2)
            density = kernel @ density * step / (sd * math.sqrt(2 * math.pi))
        # The tail beyond each grid point; the boundary is where it equals what may be spent.
        tail = np.concatenate(
            [np.cumsum((0.5 * (density[1:] + density[:-1]) * step)[::-1])[::-1], [0.0]])
        index = int(np.argmax(tail < spend))
        share = (math.log(tail[index - 1]) - math.log(spend)) / (
            math.log(tail[index - 1]) - math.log(tail[index]))
        boundary = grid[index - 1] + share * step
        result.append(upper(boundary / math.sqrt(now)))
        density = np.where(grid < boundary, density, 0.0)
        # The cell that holds the boundary counts in part.
        density[index - 1] *= 0.5 + share
        before = now
    return result


cases = [([4], 0.05), ([2, 4], 0.0125), ([2, 3, 4], 0.1), ([2, 4, 6, 8], 0.00125)]
answers = [{"looks": looks, "alpha": alpha, "levels": levels(looks, alpha)}
           for looks, alpha in cases]
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(answers, indent=1) + "\n")
