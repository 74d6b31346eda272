#!/usr/bin/env python3
"""Speed of the law of size and tokens against SciPy, as a ratio measured in one run.

    python3 tests/benchmarks/fit_speed.py build/bin/windtunnel TABLE.csv 'N=Model Size,C=Training FLOP,L=loss'

Both sides do the same work on one core: the best of many starts for the Huber objective (delta 1e-3 on
ln L, sum), then bootstrap draws of rows from there. SciPy minimises with L-BFGS-B and an analytic
gradient, from the grid of starts of Hoffmann et al. 2022; it does a sample of the fits, and its time is
scaled up to all of them. Needs NumPy and SciPy.
"""

import csv
import itertools
import json
import os
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    import numpy as np
    from scipy.optimize import minimize
except ImportError:
    sys.exit("SciPy is not installed: skipped")

STARTS, DRAWS, SAMPLE, DELTA = 4500, 4000, 60, 1e-3


def objective(p, n, d, y):
    terms = np.stack([p[0] - p[3] * n, p[1] - p[4] * d, np.full_like(n, p[2])])
    top = terms.max(axis=0)
    shares = np.exp(terms - top)
    total = shares.sum(axis=0)
    r = top + np.log(total) - y
    shares /= total
    psi = np.clip(r, -DELTA, DELTA)
    value = (psi * (r - psi / 2)).sum()
    a, b, e = shares
    return value, np.array([psi @ a, psi @ b, psi @ e, -psi @ (a * n), -psi @ (b * d)])


def fit(start, rows):
    options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10}
    return minimize(objective, start, args=rows, jac=True, method="L-BFGS-B", options=options)


def main():
    program, table, columns = sys.argv[1:4]
    names = dict(part.split("=") for part in columns.split(","))
    rows = list(csv.DictReader(open(table)))
    loss = np.array([float(r[names["L"]]) for r in rows])
    keep = loss < np.sort(loss)[-5]
    n = np.array([float(r[names["N"]]) for r in rows])[keep]
    d = np.array([float(r[names["C"]]) for r in rows])[keep] / (6 * n)
    data = (np.log(n), np.log(d), np.log(loss[keep]))

    common = [program, "fit", table, "--map", columns, "--drop-worst", "5", "--law", "loss_nd",
              "--objective", "huber", "--no-gate", "--json"]
    began = time.process_time(), time.perf_counter(), os.times()
    answer = json.loads(subprocess.check_output(
        common + ["--starts", str(STARTS), "--bootstrap", str(DRAWS)]))
    used = os.times()
    ours = used.children_user + used.children_system - (
        began[2].children_user + began[2].children_system)
    wall = time.perf_counter() - began[1]

    grid = list(itertools.product([0, 5, 10, 15, 20, 25], [0, 5, 10, 15, 20, 25],
                                  [-1, -0.5, 0, 0.5, 1], [0, 0.5, 1, 1.5, 2], [0, 0.5, 1, 1.5, 2]))
    random = np.random.default_rng(1)
    began_cpu = time.process_time()
    best = min((fit(np.array(grid[i], float), data)
                for i in random.choice(len(grid), SAMPLE, replace=False)), key=lambda r: r.fun)
    starts_cpu = (time.process_time() - began_cpu) * STARTS / SAMPLE
    began_cpu = time.process_time()
    for _ in range(SAMPLE):
        drawn = random.integers(0, len(n), len(n))
        fit(best.x, tuple(column[drawn] for column in data))
    draws_cpu = (time.process_time() - began_cpu) * DRAWS / SAMPLE
    theirs = starts_cpu + draws_cpu
    print(f"windtunnel: {STARTS} starts, {DRAWS} bootstraps: {ours:.2f} s of one core "
          f"({wall:.2f} s on the clock), objective {answer['objective']:.13g}")
    print(f"SciPy, scaled from {SAMPLE} fits each: {theirs:.1f} s ({starts_cpu:.1f} starts, "
          f"{draws_cpu:.1f} bootstraps), objective {best.fun:.13g}")
    print(f"ratio {theirs / ours:.0f}")


if __name__ == "__main__":
    main()
