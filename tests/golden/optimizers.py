"""Golden values for trainer/optimizers: six steps of AdamW and of Muon in double precision.

Muon runs the five steps on the matrix itself and, for stacked experts, in the source's own layout, where a
layer's experts are one parameter [experts * inputs, outputs], so that nothing of how the C++ does it is
shared. Run: python3 optimizers.py
"""

import json
from pathlib import Path

import numpy as np

STEPS = 6
RATE = 0.02
DECAY = 0.1
COEFFICIENTS = [
    (8.156554524902461, -22.48329292557795, 15.878769915207462),
    (4.042929935166739, -2.808917465908714, 0.5000178451051316),
    (3.8916678022926607, -2.772484153217685, 0.5060648178503393),
    (3.285753657755655, -2.3681294933425376, 0.46449024233003106),
    (2.3465413258596377, -1.7097828382687081, 0.42323551169305323),
]


def polar_express(matrix):
    x = matrix / (1.02 * np.linalg.norm(matrix) + 1e-6)
    for a, b, c in COEFFICIENTS:
        gram = x.T @ x
        x = a * x + x @ (b * gram + c * gram @ gram)
    return x


def muon_matrix(weights, gradients, rate, momentum=0.95, beta2=0.95):
    """One matrix; gradients one per step."""
    p = weights.copy()
    m = np.zeros_like(p)
    axis = 1 if p.shape[0] >= p.shape[1] else 0
    s = np.zeros_like(p.mean(axis=axis, keepdims=True))
    for g in gradients:
        m = momentum * m + (1 - momentum) * g
        u = polar_express((1 - momentum) * g + momentum * m)
        before = np.linalg.norm(u)
        s = beta2 * s + (1 - beta2) * (u**2).mean(axis=axis, keepdims=True)
        u = u / np.sqrt(np.maximum(s, 1e-10))
        u = u * before / np.linalg.norm(u)
        p = p - rate * (u + DECAY * p * (u * p >= 0))
    return p


def rate_of(weights):
    return RATE * 0.2 * np.sqrt(max(weights.shape[-2:]))


def muon(weights, gradients):
    """weights [outputs, inputs], or [experts, outputs, inputs] taken as one tall matrix."""
    if weights.ndim == 2:
        return muon_matrix(weights, gradients, rate_of(weights))
    experts, outputs, inputs = weights.shape
    tall = lambda w: np.concatenate([expert.T for expert in w])  # [experts * inputs, outputs]
    after = muon_matrix(tall(weights), [tall(g) for g in gradients], rate_of(weights))
    return np.stack([after[e * inputs : (e + 1) * inputs].T for e in range(experts)])


def muon_separate(weights, gradients):
    """As muon, but every expert is a matrix of its own."""
    if weights.ndim == 2:
        return muon(weights, gradients)
    return np.stack([muon(weights[e], [g[e] for g in gradients]) for e in range(len(weights))])


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
        case(muon, "other_experts", 3, 6, 4),
        case(muon, "experts_with_many_outputs", 2, 9, 4),
        case(muon, "one_square_expert", 1, 5, 5),
    ],
    "muon_separate": [
        case(muon_separate, "matrix", 6, 4),
        case(muon_separate, "tall_experts", 3, 6, 4),
        case(muon_separate, "other_tall_experts", 3, 6, 4),
        case(muon_separate, "wide_experts", 2, 4, 9),
    ],
}
Path(__file__).with_suffix(".json").write_text(json.dumps(golden) + "\n")
