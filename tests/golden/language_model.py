"""Logits, auxiliary losses and gradients of small language models, computed with numpy alone.

Written from the formulas, in double, with explicit loops over positions, heads and experts, and with
rotary positions as products of complex numbers. Gradients are central differences of the loss below. Run in this folder:  python3 language_model.py
"""

import json

import numpy as np

EPSILON = 1e-6


def rms_norm(x):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + EPSILON)


def silu(x):
    return x / (1 + np.exp(-x))


def rotate(x, position, base):
    half = len(x) // 2
    pairs = x[:half] + 1j * x[half:]
    turned = pairs * np.exp(1j * position * base ** (-2 * np.arange(half) / len(x)))
    return np.concatenate([turned.real, turned.imag])


def mix_weights(mix, p):
    if mix["kind"] == "fixed":
        return mix["first"], mix["own"]
    if mix["kind"] == "residual":
        return p["value_mix"][0], 1.0
    if mix["kind"] == "learned":
        return tuple(p["value_mix"])
    powers = np.exp(p["value_mix"])
    return tuple(powers / powers.sum())


def attention(x, p, options, window, scale, first_values):
    """Also returns the values, which later layers mix in where this is the first layer."""
    T, size = len(x), options["head_size"]
    q = (x @ p["query"].T).reshape(T, -1, size)
    k = (x @ p["key"].T).reshape(T, -1, size)
    v = (x @ p["value"].T).reshape(T, -1, size) * scale["values"]
    own_values = v
    mix = options.get("value_mix", {"kind": "none"})
    if first_values is not None and mix["kind"] != "none":
        first, own = mix_weights(mix, p)
        v = first * first_values + own * v
    heads, kv_heads = q.shape[1], k.shape[1]
    largest = options["initial_logit_scale"] or np.sqrt(size)
    y = np.zeros((T, heads, size))
    for h in range(heads):
        g = h * kv_heads // heads
        for t in range(T):
            query = rms_norm(rotate(q[t, h], t, options["rope_base"]))
            seen = range(max(0, t - window + 1), t + 1)
            logits = []
            for s in seen:
                key = rms_norm(rotate(k[s, g], s, options["rope_base"]))
                logits.append(p["query_gain"][0] * largest / size * (query @ key))
            weights = np.exp(np.array(logits) - max(logits))
            weights /= weights.sum()
            for weight, s in zip(weights, seen):
                y[t, h] += weight * v[s, g]
            if options.get("exclusive"):
                own = v[t, g]
                y[t, h] -= (y[t, h] @ own) / (own @ own) * own
            if "gate" in p:
                logit = scale["gate"] * (p["gate"][h] @ x[t]) + p["gate_bias"][h]
                y[t, h] *= (2 if options["gate"]["kind"] == "centered" else 1) / (1 + np.exp(-logit))
    return scale["output"] * (y.reshape(T, -1) @ p["out"].T), own_values


def feed_forward(x, gate, up, down):
    return down @ (silu(gate @ x) * (up @ x))


def experts(x, p, options):
    router = options["router"]
    kind, E, K = router["kind"], options["num_experts"], options["num_active"]
    settings = router[kind]
    logits = x @ p["router"].T
    if kind == "softmax":
        scores = np.exp(logits - logits.max(axis=1, keepdims=True))
        scores /= scores.sum(axis=1, keepdims=True)
        selection, shares = scores, scores
    else:
        scores = 1 / (1 + np.exp(-logits))
        selection = scores + p["bias"]
        shares = scores / scores.sum(axis=1, keepdims=True)
    y, load = np.zeros_like(x), np.zeros(E)
    for n in range(len(x)):
        chosen = np.argsort(-selection[n])[:K]
        total = scores[n, chosen].sum()
        for e in chosen:
            load[e] += 1
            y[n] += scores[n, e] / total * feed_forward(x[n], p["gate"][e], p["up"][e], p["down"][e])
    balance = E * np.sum(load / load.sum() * shares.mean(axis=0))
    z = np.mean(np.log(np.exp(logits).sum(axis=1)) ** 2)
    return y, settings["load_balance"] * balance + settings["z_loss"] * z


def depth_scale(placement, layer):
    """Factors of layer 1, 2, ... at each place; quarter powers at the inputs of feed-forward layers."""
    root, quarter = layer ** -0.5, layer ** -0.25
    names = placement.split("_") if placement not in ("none", "norms", "branches", "outputs") else []
    everywhere = placement in ("norms", "branches")
    return {
        "values": root if everywhere or "values" in names else 1.0,
        "gate": root if placement == "norms" or "gate" in names else 1.0,
        "feed_forward": root if everywhere else quarter if "forward" in names else 1.0,
        "output": root if placement == "outputs" else 1.0,
    }


def windows(options, letters, context):
    count = letters.count("*")
    pattern = options["windows"]
    return [
        context if i + 1 == count or pattern[i % len(pattern)] == "L" else options.get("short_window") or context // 2
        for i in range(count)
    ]


def model(config, parameters, tokens):
    letters, rows = config["pattern"], len(tokens)
    flat = rms_norm(parameters["embedding"][np.array(tokens)])
    remaining = windows(config["layers"]["*"], letters, config["context_tokens"]) if "*" in letters else []
    auxiliary, feed_forwards, attentions, first_values = 0.0, 0, 0, None
    for position, letter in enumerate(letters):
        kind = {"*": "attention", "D": "dense", "E": "experts"}[letter]
        start = f"layers.{position}.{kind}."
        p = {name[len(start):]: value for name, value in parameters.items() if name.startswith(start)}
        x = rms_norm(flat)
        if letter == "*":
            window, attentions = remaining.pop(0), attentions + 1
            scale = depth_scale(config.get("depth_scaling", "none"), attentions)
            done = [
                attention(row, p, config["layers"]["*"], window, scale, first_values and first_values[i])
                for i, row in enumerate(x)
            ]
            flat = flat + np.stack([output for output, _ in done])
            first_values = first_values or [values for _, values in done]
            continue
        feed_forwards += 1
        scale = depth_scale(config.get("depth_scaling", "none"), feed_forwards)
        x = x * scale["feed_forward"]
        if letter == "D":
            flat = flat + scale["output"] * np.stack(
                [[feed_forward(token, p["gate"], p["up"], p["down"]) for token in row] for row in x]
            )
        else:
            y, loss = experts(x.reshape(-1, x.shape[-1]), p, config["layers"]["E"])
            flat, auxiliary = flat + scale["output"] * y.reshape(flat.shape), auxiliary + loss
    logits = rms_norm(flat) @ parameters["head"].T
    assert len(logits) == rows
    return logits, auxiliary / max(1, feed_forwards)


def draw(config, random):
    D, V = config["width"], config["vocabulary_size"]
    shapes = {"embedding": (V, D), "head": (V, D)}
    for position, letter in enumerate(config["pattern"]):
        if letter == "*":
            o, start = config["layers"]["*"], f"layers.{position}.attention."
            keys = o["kv_heads"] * o["head_size"]
            shapes |= {start + "query": (D, D), start + "key": (keys, D), start + "value": (keys, D)}
            shapes |= {start + "out": (D, D), start + "query_gain": (1,)}
            if o.get("gate", {"kind": "none"})["kind"] != "none":
                heads = D // o["head_size"]
                shapes |= {start + "gate": (heads, D), start + "gate_bias": (heads,)}
            mix = o.get("value_mix", {"kind": "none"})["kind"]
            if position > 0 and mix not in ("none", "fixed"):
                shapes[start + "value_mix"] = (1,) if mix == "residual" else (2,)
        elif letter == "D":
            H, start = config["layers"]["D"]["hidden"], f"layers.{position}.dense."
            shapes |= {start + "gate": (H, D), start + "up": (H, D), start + "down": (D, H)}
        else:
            o, start = config["layers"]["E"], f"layers.{position}.experts."
            E, H = o["num_experts"], o["hidden"]
            shapes |= {start + "router": (E, D), start + "gate": (E, H, D), start + "up": (E, H, D)}
            shapes |= {start + "down": (E, D, H)}
            if o["router"]["kind"] == "sigmoid":
                shapes[start + "bias"] = (E,)
    values = {}
    for name, shape in shapes.items():
        scale = 0.2 if name.endswith("bias") else 1 / np.sqrt(shape[-1])
        # Three digits, so that the file holds the very numbers that were used.
        values[name] = np.round(random.normal(size=shape) * scale, 3)
        if name.endswith("query_gain"):
            values[name] = np.abs(values[name]) + 0.5
    return values


ATTENTION = {"head_size": 4, "kv_heads": 1, "windows": "SL", "rope_base": 100.0, "initial_logit_scale": 3.0}
SOFTMAX = {"kind": "softmax", "softmax": {"load_balance": 0.5, "z_loss": 0.25}}
SIGMOID = {"kind": "sigmoid", "sigmoid": {"load_balance": 0.5, "z_loss": 0.25}}


EVERYTHING = ATTENTION | {
    "exclusive": True,
    "gate": {"kind": "sigmoid"},
    "value_mix": {"kind": "fixed", "first": 0.75, "own": 0.25},
}
PLACEMENTS = (
    "norms", "branches", "feed_forward", "feed_forward_values", "feed_forward_values_gate", "values",
    "values_gate", "outputs",
)


def expert_options(router, active):
    return {"num_experts": 4, "num_active": active, "hidden": 5, "router": router}


CASES = {
    "attention_grouped_and_windowed": ("***", 8, {"*": ATTENTION}),
    "attention_of_six_in_two_groups": (
        "**", 24, {"*": ATTENTION | {"head_size": 6, "kv_heads": 2, "windows": "S", "initial_logit_scale": 0.0}}),
    "dense": ("D", 6, {"D": {"hidden": 7}}),
    "experts_softmax": ("E", 6, {"E": expert_options(SOFTMAX, 2)}),
    "experts_sigmoid": ("E", 6, {"E": expert_options(SIGMOID, 3)}),
    "attention_exclusive_grouped": ("**", 8, {"*": ATTENTION | {"exclusive": True}}),
    "attention_gate": ("**", 8, {"*": ATTENTION | {"gate": {"kind": "sigmoid"}}}),
    "attention_gate_centered": ("*", 8, {"*": ATTENTION | {"gate": {"kind": "centered"}}}),
    **{
        f"value_mix_fixed_{name}": ("***", 8, {"*": ATTENTION | {"value_mix": {"kind": "fixed", "first": first, "own": own}}})
        for name, first, own in (("half", 0.5, 0.5), ("first_heavy", 0.75, 0.25), ("two_to_one", 2.0, 1.0), ("three_to_one", 3.0, 1.0))
    },
    **{
        f"value_mix_{kind}": ("***", 8, {"*": ATTENTION | {"value_mix": {"kind": kind}}})
        for kind in ("learned", "normalized", "residual")
    },
    **{f"depth_scaling_{name}": ("*E*D", 8, {"*": EVERYTHING, "D": {"hidden": 3}, "E": expert_options(SIGMOID, 2)}) for name in PLACEMENTS},
    "stem_and_experts": (
        "*D*E*E", 8, {"*": EVERYTHING | {"windows": "SSL"}, "D": {"hidden": 6}, "E": expert_options(SIGMOID, 2)}),
    "whole": ("*D*E", 8, {"*": ATTENTION, "D": {"hidden": 6}, "E": expert_options(SIGMOID, 2)}),
}


def loss_of(config, parameters, tokens):
    """Logits weighed with cosines of 0, 1, 2, ..., and the auxiliary loss."""
    logits, auxiliary = model(config, parameters, tokens)
    return np.sum(logits.ravel() * np.cos(np.arange(logits.size))) + auxiliary


def gradients(config, parameters, tokens):
    """[flat index, derivative] for a few entries of each parameter that is trained."""
    step, found = 1e-6, {}
    for name, value in parameters.items():
        if name.endswith("experts.bias"):
            continue
        flat, found[name] = value.reshape(-1), []
        for index in sorted({0, flat.size // 2, flat.size - 1}):
            before = flat[index]
            flat[index] = before + step
            above = loss_of(config, parameters, tokens)
            flat[index] = before - step
            below = loss_of(config, parameters, tokens)
            flat[index] = before
            found[name].append([index, (above - below) / (2 * step)])
    return found


def main():
    random = np.random.default_rng(7)
    cases = {}
    for name, (pattern, width, layers) in CASES.items():
        config = {"pattern": pattern, "width": max(width, 8), "context_tokens": 7, "vocabulary_size": 5, "layers": layers}
        if name.startswith("depth_scaling_"):
            config["depth_scaling"] = name.removeprefix("depth_scaling_")
        tokens = random.integers(0, 5, size=(2, 7)).tolist()
        parameters = draw(config, random)
        logits, auxiliary = model(config, parameters, tokens)
        cases[name] = {
            "config": config,
            "parameters": {key: value.round(3).tolist() for key, value in parameters.items()},
            "tokens": tokens,
            "logits": logits.tolist(),
            "auxiliary_loss": auxiliary,
            "gradients": gradients(config, parameters, tokens),
        }
    with open("language_model.json", "w") as file:
        json.dump(cases, file)


if __name__ == "__main__":
    main()
