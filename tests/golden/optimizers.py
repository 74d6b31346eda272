"""Golden values for trainer/optimizers: three steps of AdamW and of Muon in double precision.

Muon runs the five steps on the matrix itself, in the layout where rows are inputs of all experts and
columns are outputs, so that nothing of how the C++ does it is shared. Run: python3 optimizers.py
"""

import json
from pathlib import Path

import numpy as np

STEPS = 3
RATE = 0.02
DECAY = 0.1
COEFFICIENTS = [
    (8.1566, -22.4833, 15.8788),
    (4.0429, -2.8089, 0.5000),
    (3.8917, -2.7725, 0.5061),
    (3.2858, -2.3681, 0.4645),
    (2.3465, -1.7098, 0.4232),
]


def polar_express(matrix):
    x = matrix / (1.02 * np.linalg.norm(matrix) + 1e-6)
    for a, b, c in COEFFICIENTS:
        gram = x.T @ x
        x = a * x + x @ (b * gram + c * gram @ gram)
    return x


def muon(weights, gradients, momentum=0.95, beta2=0.95):
    """weights [outputs, inputs] or [experts, outputs, inputs]; gradients one per step."""
    experts = weights.ndim == 3
    to_matrix = (lambda w: w.transpose(0, 2, 1).reshape(-1, w.shape[1])) if experts else (lambda w: w)
    rate = RATE * 0.2 * np.sqrt(max(weights.shape[-2:]))
    shape = weights.shape
    p = to_matrix(weights)
    m = np.zeros_like(p)
    axis = 1 if p.shape[0] >= p.shape[1] else 0
    s = np.zeros_like(p.mean(axis=axis, keepdims=True))
    for gradient in gradients:
        g = to_matrix(gradient)
        m = momentum * m + (1 - momentum) * g
        u = polar_express((1 - momentum) * g + momentum * m)
        before = np.linalg.norm(u)
        s = beta2 * s + (1 - beta2) * (u**2).mean(axis=axis, keepdims=True)
        u = u / np.sqrt(np.maximum(s, 1e-10))
        u = u * before / np.linalg.norm(u)
        p = p - rate * (u + DECAY * p * (u * p >= 0))
    if experts:
        return p.reshape(shape[0], shape[2], shape[1]).transpose(0, 2, 1)
    return p


def adamw(weights, gradients, beta1=0.9, beta2=0.95, epsilon=1e-8):
    p, m, v = weights.copy(), np.zeros_like(weights), np.zeros_like(weights)
    for t, g in enumerate(gradients, 1):
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        update = (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + epsilon)
        p = p - RATE * DECAY * p - RATE * update
    return p


def case(step, name, *shape):
    # Values on a coarse grid, so that they are the same numbers in single precision.
    seed = np.random.default_rng(sum(map(ord, name)))
    draw = lambda: np.round(seed.standard_normal(shape) * 64) / 64
    weights = draw()
    gradients = [draw() for _ in range(STEPS)]
    return {
        "name": name,
        "shape": list(shape),
        "weights": weights.ravel().tolist(),
        "gradients": [g.ravel().tolist() for g in gradients],
        "after": step(weights, gradients).ravel().tolist(),
    }


golden = {
    "learning_rate": RATE,
    "weight_decay": DECAY,
    "adamw": [case(adamw, "vector", 7), case(adamw, "matrix", 5, 3)],
    "muon": [
        case(muon, "square", 6, 6),
        case(muon, "second_square", 6, 6),
        case(muon, "tall", 12, 5),
        case(muon, "wide", 4, 10),
        case(muon, "experts", 3, 6, 4),
        case(muon, "experts_with_many_outputs", 2, 9, 4),
    ],
}
Path(__file__).with_suffix(".json").write_text(json.dumps(golden) + "\n")
