#!/usr/bin/env python3
"""Byte-level BPE written the slow, obvious way: every pair counted again for every merge.

    pip install regex
    tests/golden/byte_pair_encoding.py          writes byte_pair_encoding.json beside it

The split pattern is spelled with the engine's own classes here. Bytes that are not UTF-8 form pieces
of their own.
"""

import collections
import json
import pathlib
import random

import regex

PATTERN = regex.compile(
    r"'(?:[sS]|[dD]|[mM]|[tT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}"
    r"| ?[^\p{White_Space}\p{L}\p{N}]++[\r\n]*|\p{White_Space}*[\r\n]"
    r"|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+"
)
VOCABULARY = 360
SPECIAL = "<|begin_of_document|>"

DOCUMENTS = [
    "The wind tunnel blows, and the wind doesn't stop. The winding tunnel winds on.\n\n"
    "  It's 1234 metres long; we'll measure it 12 times, they've said. THEY'VE SAID, IT'S!\n",
    "def tunnel(wind):\n    return [wind * 2 for _ in range(100)]  # aaaa aaaaaaa aaa\n\n\n",
    "風洞實驗：風吹過模型，模型不動。風洞很長，風很大。測量風速與風壓。",
    "Caf\u00e9 na\u00efve \u2014 \u201cquoted\u201d \U0001f32c\ufe0f\U0001f32c\ufe0f wind\u00a0tunnel\u3000end\u0085next\r\n\t tab",
    "abab cdcd abab cdcd xyxy zzzz zzzz yzyz",
]


def pieces(data):
    """Runs of valid UTF-8 are split by the pattern; runs of other bytes stay whole."""
    text = data.decode("utf-8", "surrogateescape")
    for run in regex.findall(r"[\uDC80-\uDCFF]+|[^\uDC80-\uDCFF]+", text):
        if "\udc80" <= run[0] <= "\udcff":
            yield run.encode("utf-8", "surrogateescape")
            continue
        found = PATTERN.findall(run)
        assert "".join(found) == run
        yield from (piece.encode("utf-8") for piece in found)


def merge(word, pair, token):
    result = []
    at = 0
    while at < len(word):
        if tuple(word[at : at + 2]) == pair:
            result.append(token)
            at += 2
        else:
            result.append(word[at])
            at += 1
    return result


def train():
    counts = collections.Counter(p for text in DOCUMENTS for p in pieces(text.encode("utf-8")))
    words = [(list(piece), count) for piece, count in counts.items()]
    tokens = [bytes([b]) for b in range(256)]
    merges = []
    while len(tokens) + 1 < VOCABULARY:
        pairs = collections.Counter()
        for word, count in words:
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        words = [(merge(word, best, len(tokens)), count) for word, count in words]
        tokens.append(tokens[best[0]] + tokens[best[1]])
    return tokens, merges


def encode(data, merges):
    ids = []
    for piece in pieces(data):
        word = list(piece)
        for index, pair in enumerate(merges):
            word = merge(word, pair, 256 + index)
        ids += word
    return ids


def letters():
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = {b: chr(b) for b in printable}
    alphabet.update({b: chr(256 + i) for i, b in enumerate(sorted(set(range(256)) - set(printable)))})
    return alphabet


def main():
    tokens, merges = train()
    alphabet = letters()
    spell = lambda token: "".join(alphabet[b] for b in token)
    rng = random.Random(7)
    samples = [text.encode("utf-8") for text in DOCUMENTS] + [
        "The tunnel's 12345678 winds: they'LL, we'Ve, i'D  don't   \n\n  stop!?\r\n\r\n".encode(),
        "   leading spaces, trailing spaces   ".encode(),
        "aaaaaaaaaaaaaaaaaaaaaaaaa bababababab".encode(),
        SPECIAL.encode() + b" " + SPECIAL.encode(),
        "風洞 wind 洞風 \U0001f468\u200d\U0001f469\u200d\U0001f467 \u0661\u0662\u0663 \u0301e\u0301".encode(),
        b"\xff\xfe wind \xe9\xa2 tunnel \xed\xa0\x80\xf5\x80 \xc0\xafend \xe9\xa2\xa8\xe9",
        b"\x80 \x80  \xc3\n\xc3\xa9\x00\x01\x02",
        b"",
        *(bytes(rng.randrange(256) for _ in range(200)) for _ in range(4)),
        *(bytes(rng.choice(b" \n\ra1'\xe9\xa2\xa8\xc3") for _ in range(200)) for _ in range(4)),
    ]
    golden = {
        "vocabulary_size": VOCABULARY,
        "documents_hex": [text.encode("utf-8").hex() for text in DOCUMENTS],
        "tokens_hex": [token.hex() for token in tokens],
        "samples": [{"hex": data.hex(), "ids": encode(data, merges)} for data in samples],
        "huggingface": {
            "vocab": {spell(token): i for i, token in enumerate(tokens)},
            "merges": [f"{spell(tokens[a])} {spell(tokens[b])}" for a, b in merges],
            "special": {"id": len(tokens), "content": SPECIAL},
        },
    }
    file = pathlib.Path(__file__).with_suffix(".json")
    file.write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
