"""Variance components of a table of configurations and seeds with holes, by least squares on indicator
columns (numpy.linalg.lstsq)."""

import json
import math
import pathlib

import numpy as np

table = {
    "baseline": {1: 2.941, 2: 2.902, 3: 2.967, 4: 2.926},
    "a": {1: 2.903, 2: 2.871},
    "b": {1: 2.955, 2: 2.934, 3: 2.959, 4: 2.949},
    "c": {1: 2.917, 2: 2.899, 3: 2.934},
}
cells = [(name, seed, value) for name, row in table.items() for seed, value in row.items()]
names = list(table)
seeds = sorted({seed for _, seed, _ in cells})
design = np.zeros((len(cells), len(names) + len(seeds)))
values = np.array([value for _, _, value in cells])
for index, (name, seed, _) in enumerate(cells):
    design[index, names.index(name)] = 1
    design[index, len(names) + seeds.index(seed)] = 1
solution, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
residual = values - design @ solution
pair_degrees = len(cells) - int(rank)
run_squares = sum(np.var(list(row.values())) * len(row) for row in table.values())
run_degrees = len(cells) - len(names)
answer = {
    "table": {name: {str(seed): value for seed, value in row.items()}
              for name, row in table.items()},
    "pair_sd": math.sqrt(2 * float(residual @ residual) / pair_degrees),
    "pair_degrees": pair_degrees,
    "run_sd": math.sqrt(float(run_squares) / run_degrees),
    "run_degrees": run_degrees,
    "baseline_sd": float(np.std(list(table["baseline"].values()), ddof=1)),
}
path = pathlib.Path(__file__).with_suffix(".json")
path.write_text(json.dumps(answer, indent=1) + "\n")
