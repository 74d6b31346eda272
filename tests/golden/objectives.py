"""Golden values for trainer/objectives, in double precision and with plain loops.

Each case has the inputs of one objective (hidden states, logits, head and the objective's own weights
as independent arrays), and what must come out: a loss with its gradients by central differences, or
the share each token has in the loss, or rows, or a head. Run: python3 objectives.py
"""

import json
from pathlib import Path

import numpy as np

D, T, B = 8, 6, 2
STEP = 1e-5
MERGES = ["12", "th", "the", "7 "]


def log_softmax(x):
    return x - x.max() - np.log(np.exp(x - x.max()).sum())


def rms_norm(x):
    return x / np.sqrt((x**2).mean() + 1e-6)


def silu(x):
    return x / (1 + np.exp(-x))


def draw(random, *shape):
    return np.round(random.standard_normal(shape) * 64) / 64


def gradient(loss, inputs, name):
    """Central differences of loss(inputs) with respect to inputs[name]."""
    values = inputs[name]
    result = np.zeros_like(values)
    for index in np.ndindex(values.shape):
        original = values[index]
        values[index] = original + STEP
        above = loss(inputs)
        values[index] = original - STEP
        below = loss(inputs)
        values[index] = original
        result[index] = (above - below) / (2 * STEP)
    return result


def first_distances(upcoming):
    """Token -> places until it comes, from 0."""
    distances = {}
    for place, token in enumerate(upcoming):
        distances.setdefault(int(token), place)
    return distances


def token_order(options, tokens, x):
    losses = []
    for row in range(len(tokens)):
        for t in range(T):
            distances = first_distances(tokens[row, t + 1 : t + 1 + options["window"]])
            scores = log_softmax(x["parameters.head"] @ x["hidden"][row, t])
            wanted = {v: np.exp(options["window"] - d) for v, d in distances.items()}
            total = sum(wanted.values())
            losses.append(-sum(w / total * scores[v] for v, w in wanted.items()))
    return options["weight"] * np.mean(losses)


def future_bag(options, tokens, x):
    losses = []
    for row in range(len(tokens)):
        for t in range(T):
            bag = set(tokens[row, t + 1 : t + 1 + options["window"]].tolist())
            for v, score in enumerate(x["parameters.head"] @ x["hidden"][row, t]):
                chance = 1 / (1 + np.exp(-score))
                losses.append(-np.log(chance if v in bag else 1 - chance))
    return options["weight"] * np.mean(losses)


def future_hidden(options, tokens, x):
    # The target has no gradient: it is read from a copy that the differences do not touch.
    errors = []
    for row in range(len(tokens)):
        for t in range(T - options["ahead"]):
            h = x["hidden"][row, t]
            p = rms_norm(h + x["parameters.second"] @ silu(x["parameters.first"] @ h))
            errors.append(((p - x["fixed"][row, t + options["ahead"]]) ** 2).mean())
    return options["weight"] * np.mean(errors)


def multi_token(options, tokens, x, progress):
    rise = (progress - options["ramp_start"]) / (options["ramp_end"] - options["ramp_start"])
    weight = options["weight"] * min(max(rise, 0), 1)
    heads = []
    for i in range(1, options["heads"] + 1):
        losses = []
        for row in range(len(tokens)):
            for t in range(T - i):
                h = x["hidden"][row, t]
                own = rms_norm(h + silu(x[f"parameters.block{i}"] @ h))
                losses.append(-log_softmax(x["head"] @ own)[tokens[row, t + 1 + i]])
        heads.append(np.mean(losses))
    return weight * np.mean(heads)


def number_tokens(options, tokens, x, vocabulary):
    numbers = {i: int(b) for i, b in enumerate(vocabulary) if b.isascii() and b.isdigit()}
    ids, losses = list(numbers), []
    for row in range(len(tokens)):
        for t in range(tokens.shape[1] - 1):
            target = int(tokens[row, t + 1])
            if target not in numbers:
                continue
            shares = np.exp(log_softmax(x["logits"][row, t, ids]))
            if options["distance"] == "squared":
                expected = sum(p * numbers[i] for p, i in zip(shares, ids))
                losses.append((expected - numbers[target]) ** 2)
            else:
                losses.append(sum(p * abs(numbers[i] - numbers[target]) for p, i in zip(shares, ids)))
    return options["weight"] * (np.mean(losses) if losses else 0)


def output_centering(options, tokens, x):
    mean = sum(x["head"]) / len(x["head"])
    return options["weight"] * float(mean @ mean)


def shares(weights):
    return (weights / weights.sum()).tolist()


def loss_case(random, kind, options, loss, inputs, tokens, wrt, progress=1.0, **more):
    return {
        "kind": kind,
        "options": options,
        "tokens": tokens.tolist(),
        "progress": progress,
        "inputs": {k: v.tolist() for k, v in inputs.items() if k != "fixed"},
        "loss": float(loss(inputs)),
        "gradients": {name: gradient(loss, inputs, name).tolist() for name in wrt},
        **more,
    }


def main():
    random = np.random.default_rng(7)
    V = 7
    # Repeated tokens, so that a token upcoming twice is counted once.
    tokens = random.integers(0, V, (B, T + 1))
    tokens[0, 1:4] = tokens[0, 1]
    hidden, head = draw(random, B, T, D), draw(random, V, D)
    cases = []

    for window in (1, 3, 5):
        o = {"weight": 0.7, "window": window}
        x = {"hidden": hidden.copy(), "parameters.head": draw(random, V, D)}
        wrt = ["hidden", "parameters.head"]
        cases.append(loss_case(random, "token_order", o, lambda y, o=o: token_order(o, tokens, y), x, tokens, wrt))
        cases.append(loss_case(random, "future_bag", o, lambda y, o=o: future_bag(o, tokens, y), x, tokens, wrt))
    for ahead in (1, 3):
        o = {"weight": 1.5, "ahead": ahead}
        x = {
            "hidden": hidden.copy(),
            "fixed": hidden.copy(),
            "parameters.first": draw(random, D, D),
            "parameters.second": draw(random, D, D),
        }
        wrt = ["hidden", "parameters.first", "parameters.second"]
        cases.append(loss_case(random, "future_hidden", o, lambda y, o=o: future_hidden(o, tokens, y), x, tokens, wrt))
    for progress in (0.05, 0.3, 0.9):
        o = {"heads": 2, "weight": 0.4, "ramp_start": 0.1, "ramp_end": 0.5}
        x = {"hidden": hidden.copy(), "head": head.copy()}
        x |= {f"parameters.block{i}": draw(random, D, D) for i in (1, 2)}
        wrt = list(x)
        run = lambda y, o=o, p=progress: multi_token(o, tokens, y, p)
        cases.append(loss_case(random, "multi_token", o, run, x, tokens, wrt, progress))
    o = {"kind": "loss", "weight": 0.01}
    x = {"head": head.copy()}
    cases.append(loss_case(random, "output_centering", o, lambda y, o=o: output_centering(o, tokens, y), x, tokens, ["head"]))

    vocabulary = [bytes([i]) for i in range(256)] + [m.encode() for m in MERGES] + [b""]
    the, twelve, special = 258, 256, 260
    text = np.array([[special, ord("7"), twelve, ord("a"), ord("3")], [the, ord("x"), the, special, ord("0")]])
    for distance in ("wasserstein", "squared"):
        o = {"weight": 0.3, "distance": distance}
        x = {"logits": draw(random, B, 4, len(vocabulary))}
        case = loss_case(random, "number_tokens", o, lambda y, o=o: number_tokens(o, text, y, vocabulary), x, text, ["logits"], merges=MERGES)
        # Only the columns of number tokens are not zero.
        full = np.array(case["gradients"].pop("logits"))
        ids = [i for i, b in enumerate(vocabulary) if b.isascii() and b.isdigit()]
        rest = np.delete(full, ids, axis=-1)
        assert abs(rest).max() == 0
        case["number_ids"] = ids
        case["gradients"]["number_logits"] = full[..., ids].tolist()
        cases.append(case)

    weights = []
    for power in (0, 0.5, 1):
        w = np.array([[len(vocabulary[t]) ** power if vocabulary[t] or not power else 0 for t in r[1:]] for r in text])
        weights.append({"kind": "byte_weights", "options": {"power": power}, "tokens": text.tolist(),
                        "nats": np.ones(w.shape).tolist(), "shares": shares(w), "merges": MERGES})
    nats = np.round(np.abs(random.standard_normal((B, T))) * 256) / 256
    for keep in (1, 0.5, 0.1):
        order = np.sort(nats.ravel())[::-1]
        kept = max(1, round(keep * nats.size))
        w = np.array([[1.0 if n >= order[kept - 1] else 0.0 for n in row] for row in nats])
        weights.append({"kind": "selective", "options": {"keep": keep}, "tokens": tokens.tolist(),
                        "nats": nats.tolist(), "shares": shares(w)})
    for strength in (0, 2, -1):
        means = [sum(row) / len(row) for row in nats]
        w = np.array([[np.exp(strength * (m - sum(means) / B))] * T for m in means])
        weights.append({"kind": "row_weights", "options": {"strength": strength}, "tokens": tokens.tolist(),
                        "nats": nats.tolist(), "shares": shares(w)})

    # Rows of 12, from 3 on over half the budget: the longest divisor of 12 so far.
    long = random.integers(0, V, (2, 13))
    rows = []
    for progress in (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0):
        allowed = 12 * min(1, 0.25 + 0.75 * progress / 0.5)
        length = max(n for n in (1, 2, 3, 4, 6, 12) if n <= allowed + 1e-9)
        pieces = [r[s : s + length + 1].tolist() for r in long for s in range(0, 12, length)]
        rows.append({"progress": progress, "rows": pieces})
    warm_up = {"options": {"start_fraction": 0.25, "share": 0.5}, "tokens": long.tolist(), "cut": rows}

    centred = {"head": head.tolist(), "after": (head - head.mean(axis=0)).tolist()}
    result = {"losses": cases, "weights": weights, "sequence_warm_up": warm_up, "centering": centred}
    rounded = lambda v: (
        float(f"{v:.12g}") if isinstance(v, float) else [rounded(x) for x in v] if isinstance(v, list)
        else {k: rounded(x) for k, x in v.items()} if isinstance(v, dict) else v
    )
    path = Path(__file__).with_suffix(".json")
    path.write_text(json.dumps(rounded(result), separators=(",", ":")).replace('},{"kind"', '},\n{"kind"') + "\n")


main()
