"""Compares exported weights with logits and gradients, by an independent model in numpy.

    windtunnel export RUN --out weights
    windtunnel score RUN --tokens ids.json --logits logits.safetensors
    windtunnel step RUN --tokens ids.json --gradients gradients.safetensors
    python3 tests/golden/check_export.py weights --tokens ids.json \
        --logits logits.safetensors --gradients gradients.safetensors

Computes in double with the model of language_model.py, which was written from the formulas; gradients by
central differences of a few entries of each tensor. Reads safetensors itself. Rows of 16 to 32 ids keep it
to seconds. Exit code 1 if a difference is above its limit.
"""

import argparse
import json
import re
import sys

import numpy as np

import language_model

# Float32 against double: relative to the largest logit, and to the largest gradient of a tensor.
LOGITS_LIMIT = 2e-5
GRADIENTS_LIMIT = 2e-4
STEP = 1e-5


def read_safetensors(file):
    with open(file, "rb") as stream:
        content = stream.read()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        if entry["dtype"] != "F32":
            sys.exit(f"{file}: tensor {name} is {entry['dtype']}, not F32")
        begin, end = entry["data_offsets"]
        values = np.frombuffer(content[8 + size + begin : 8 + size + end], "<f4")
        tensors[name] = values.reshape(entry["shape"]).astype(np.float64)
    return tensors


def expand(pattern):
    """"(*D)2*E" -> "*D*D*E"."""
    group = re.compile(r"\(([^()]*)\)(\d*)|([^()\d])(\d+)")
    while match := group.search(pattern):
        letters, times = (match[1], match[2]) if match[1] is not None else (match[3], match[4])
        pattern = pattern[: match.start()] + letters * int(times or 1) + pattern[match.end() :]
    return pattern


def head_size(width):
    """What head_size 0 stands for: the most heads up to max(2, width / 128) of an even size."""
    heads = max(2, width // 128)
    while heads > 1 and width % (2 * heads) != 0:
        heads -= 1
    return width // heads


def model_config(folder):
    with open(f"{folder}/config.json") as file:
        config = json.load(file)["model"]
    config["pattern"] = expand(config["pattern"])
    attention = config["layers"].get("*", {})
    if attention:
        attention["head_size"] = attention["head_size"] or head_size(config["width"])
        mix = attention.get("value_mix", {"kind": "none"})
        if mix["kind"] != "none" and mix["from_layer"] != 1:
            sys.exit("value_mix.from_layer: only 1 is covered here")
    return config


def loss_of(config, parameters, rows):
    """Mean cross-entropy of the ids after the first, and the auxiliary loss."""
    rows = np.array(rows)
    logits, auxiliary = language_model.model(config, parameters, rows[:, :-1].tolist())
    largest = logits.max(axis=-1, keepdims=True)
    logarithms = logits - largest - np.log(np.exp(logits - largest).sum(axis=-1, keepdims=True))
    nats = -np.take_along_axis(logarithms, rows[:, 1:, None], axis=-1)
    return nats.mean(), auxiliary


def check_logits(config, parameters, rows, file):
    found = read_safetensors(file)["logits"]
    expected, _ = language_model.model(config, parameters, rows)
    if found.shape != expected.shape:
        sys.exit(f"{file}: logits are {found.shape}, expected {expected.shape}")
    difference = np.abs(found - expected).max()
    share = difference / np.abs(expected).max()
    print(f"logits     {found.shape}: largest difference {difference:.3g}, {share:.3g} of the largest logit")
    return share <= LOGITS_LIMIT


def check_gradients(config, parameters, rows, file, entries):
    found = read_safetensors(file)
    state = {name for name in parameters if name.endswith((".bias", ".average_share"))}
    if set(found) != set(parameters) - state:
        sys.exit(f"{file}: its tensors are not the parameters: {sorted(set(found) ^ (set(parameters) - state))}")
    loss, auxiliary = loss_of(config, parameters, rows)
    print(f"loss       {loss:.7g} nats per token, auxiliary {auxiliary:.7g}")
    random, worst, worst_name, count = np.random.default_rng(1), 0.0, "", 0
    for name, gradient in found.items():
        values, flat = parameters[name].reshape(-1), gradient.reshape(-1)
        scale = np.abs(flat).max()
        for index in {int(np.abs(flat).argmax()), *random.integers(0, flat.size, entries - 1).tolist()}:
            before = values[index]
            values[index] = before + STEP
            above = sum(loss_of(config, parameters, rows))
            values[index] = before - STEP
            below = sum(loss_of(config, parameters, rows))
            values[index] = before
            share = abs((above - below) / (2 * STEP) - flat[index]) / scale if scale else abs(above - below)
            count += 1
            if share > worst:
                worst, worst_name = share, f"{name}[{index}]"
    print(f"gradients  {count} entries of {len(found)} tensors: largest difference {worst:.3g} of the tensor's "
          f"largest gradient, at {worst_name}")
    return worst <= GRADIENTS_LIMIT


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("weights", help="folder of windtunnel export or init")
    parser.add_argument("--tokens", required=True, help="JSON file with rows of token ids")
    parser.add_argument("--logits", help="of windtunnel score")
    parser.add_argument("--gradients", help="of windtunnel step")
    parser.add_argument("--entries", type=int, default=3, help="gradients checked per tensor")
    arguments = parser.parse_args()
    config = model_config(arguments.weights)
    parameters = read_safetensors(f"{arguments.weights}/weights.safetensors")
    with open(arguments.tokens) as file:
        rows = json.load(file)
    good = True
    if arguments.logits:
        good &= check_logits(config, parameters, rows, arguments.logits)
    if arguments.gradients:
        good &= check_gradients(config, parameters, rows, arguments.gradients, arguments.entries)
    print("within the limits" if good else "NOT within the limits")
    sys.exit(0 if good else 1)


main()
