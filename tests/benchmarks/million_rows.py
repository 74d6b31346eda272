#!/usr/bin/env python3
"""Reading and fitting a long table, in seconds and as a ratio to Python's own reading of the file.

    python3 tests/benchmarks/million_rows.py build/bin/windtunnel [ROWS]

The table follows a known law of size and tokens with 0.2 % of noise, so that the answer is checked too.
Needs nothing but Python.
"""

import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time

TRUTH = {"E": 1.8, "A": 480.0, "B": 2100.0, "alpha": 0.35, "beta": 0.37}
NOISE = 0.002


def write_table(path, rows):
    draw = random.Random(1)
    with open(path, "w") as table:
        table.write("N,D,L\n")
        for _ in range(rows):
            n, d = 10 ** draw.uniform(7, 10), 10 ** draw.uniform(9, 12)
            loss = TRUTH["E"] + TRUTH["A"] * n ** -TRUTH["alpha"] + TRUTH["B"] * d ** -TRUTH["beta"]
            table.write(f"{n:.6g},{d:.6g},{loss * math.exp(draw.gauss(0, NOISE)):.8g}\n")


def main():
    program, rows = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.csv")
        write_table(path, rows)
        began = time.perf_counter()
        with open(path) as table:
            for row in csv.DictReader(table):
                float(row["N"]), float(row["D"]), float(row["L"])
        python = time.perf_counter() - began
        began = time.perf_counter()
        answer = json.loads(subprocess.check_output(
            [program, "fit", path, "--map", "N=N,D=D,L=L", "--law", "loss_nd", "--json"]))
        ours = time.perf_counter() - began
    found = answer["parameters"]
    off = max(abs(found[name] / TRUTH[name] - 1) for name in TRUTH)
    print(f"{rows} rows read and fitted with all intervals, flags and hold-outs: {ours:.2f} s")
    print(f"Python's csv module only reads them in {python:.2f} s: ratio {ours / python:.2f}")
    print(f"parameters within {100 * off:.2g} % of the truth")


if __name__ == "__main__":
    main()
