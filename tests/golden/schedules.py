"""Golden values for trainer/schedule: each kind at points of progress, or at steps. Run: python3 schedules.py

Written from the sentences in trainer/schedule.h, with tables and interpolation instead of formulas where the
shape is made of straight lines.
"""

import json
from pathlib import Path

import numpy as np

PROGRESS = np.linspace(0, 1, 41)
STEPS = [0, 1, 50, 99, 100, 101, 500, 1245, 2000, 2389, 2390, 2391, 10000]


def cosine(warmup, final):
    def factor(x):
        if x < warmup:
            return x / warmup
        return (1 + final) / 2 + (1 - final) / 2 * np.cos(np.pi * (x - warmup) / (1 - warmup))

    return [factor(x) for x in PROGRESS]


def wsd(warmup, final, decay):
    start = max(warmup, 1 - decay)
    return np.interp(PROGRESS, [0, warmup, start, 1], [0, 1, 1, final]).tolist()


def constant(warmup):
    return np.interp(PROGRESS, [0, warmup, 1], [0, 1, 1]).tolist()


def step_cosine(warmup, estimated, final):
    wave = lambda t: final + (1 - final) * (1 + np.cos(np.pi * t)) / 2
    return [s / warmup if s < warmup else wave(min(1, (s - warmup) / (estimated - warmup))) for s in STEPS]


golden = {
    "progress": PROGRESS.tolist(),
    "steps": STEPS,
    "cases": [
        {"schedule": {"kind": "cosine", "warmup_fraction": 0.1, "final_fraction": 0.2}, "factors": cosine(0.1, 0.2)},
        {"schedule": {"kind": "cosine"}, "factors": cosine(0.05, 0.1)},
        {"schedule": {"kind": "wsd"}, "factors": wsd(0.05, 0.1, 0.2)},
        {"schedule": {"kind": "wsd", "decay_fraction": 0.35, "final_fraction": 0}, "factors": wsd(0.05, 0, 0.35)},
        {
            "schedule": {"kind": "wsd", "warmup_fraction": 0.6, "decay_fraction": 0.5},
            "factors": wsd(0.6, 0.1, 0.5),
        },
        {"schedule": {"kind": "constant"}, "factors": constant(0.05)},
    ],
    "step_cases": [
        {"schedule": {"kind": "step_cosine"}, "factors": step_cosine(100, 2390, 0.1)},
        {
            "schedule": {"kind": "step_cosine", "warmup_steps": 0, "estimated_steps": 2000, "final_fraction": 0},
            "factors": step_cosine(0, 2000, 0),
        },
    ],
}
Path(__file__).with_suffix(".json").write_text(json.dumps(golden, indent=1) + "\n")
