"""Golden values for the routers of model/routers, in double precision with loops over tokens and experts:
selection, weights, losses and health figures, and 50 updates of the balancing bias.

Run: python3 routers.py
"""

import json
from pathlib import Path

import numpy as np

N, E, K = 30, 6, 2
COEFFICIENTS = {"softmax": (0.0085, 7.5e-4), "sigmoid": (0.003, 7.5e-4)}  # load balance, z
draws = np.random.default_rng(5)


def grid(values):
    """On a coarse grid, so that the values are the same numbers in single precision."""
    return np.round(values * 256) / 256


def route(kind, logits, bias):
    experts, weights, shares = [], [], []
    load, squares, saturated = np.zeros(E), 0.0, 0
    for z in logits:
        if kind == "softmax":
            score = np.exp(z) / np.exp(z).sum()
            preference, share = score, score
        else:
            score = 1 / (1 + np.exp(-z))
            preference, share = score + bias, score / score.sum()
            saturated += int(((score < 0.01) | (score > 0.99)).sum())
        chosen = sorted(range(E), key=lambda e: -preference[e])[:K]
        experts.append(chosen)
        weights.append([score[e] / sum(score[c] for c in chosen) for e in chosen])
        shares.append(share)
        squares += np.log(np.exp(z).sum()) ** 2
        for e in chosen:
            load[e] += 1
    balance, z_weight = COEFFICIENTS[kind]
    fraction = load / load.sum()
    positive = fraction[fraction > 0]
    return {
        "kind": kind,
        "logits": logits.tolist(),
        "bias": bias.tolist(),
        "experts": experts,
        "weights": weights,
        "load": load.tolist(),
        "auxiliary_loss": balance * E * float(fraction @ np.mean(shares, axis=0)) + z_weight * squares / len(logits),
        "load_entropy": float(-(positive * np.log(positive)).sum() / np.log(E)),
        "load_cv": float(fraction.std() / fraction.mean()),
        "max_load": float(fraction.max()),
        "z_loss": squares / len(logits),
        "saturation": saturated / (len(logits) * E),
    }


def bias_updates(step, clamp, ema=0.9, steps=50):
    bias, average = np.zeros(E), np.full(E, 1 / E)
    shares, after = [], []
    for _ in range(steps):
        share = draws.dirichlet(np.linspace(0.3, 4, E))
        shares.append(share.tolist())
        average = ema * average + (1 - ema) * share
        bias = bias + step * (1 / E - average) * E
        bias = np.clip(bias - bias.mean(), -clamp, clamp)
        after.append(bias.tolist())
    return {"bias_step": step, "bias_clamp": clamp, "bias_ema": ema, "shares": shares, "after": after}


spread = grid(draws.standard_normal((N, E)) * 1.5)
skewed = grid(draws.standard_normal((N, E)) * 0.5 + np.array([5.5, 0, 0, 0, 0, -5.5]))
bias = grid(np.array([-0.2, 0.05, 0.1, 0.0, 0.02, 0.03]))
golden = {
    "num_active": K,
    "cases": [
        route("softmax", spread, np.zeros(E)),
        route("softmax", skewed, np.zeros(E)),
        route("sigmoid", spread, np.zeros(E)),
        route("sigmoid", spread, bias),
        route("sigmoid", skewed, bias),
    ],
    "bias_updates": [bias_updates(1e-3, 0.25), bias_updates(0.02, 0.1)],
}
Path(__file__).with_suffix(".json").write_text(json.dumps(golden) + "\n")
