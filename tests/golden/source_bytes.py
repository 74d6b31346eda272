"""Golden values for evaluation/source_bytes: bytes of broken and whole UTF-8 with errors replaced, as Python does it.

Run: python3 source_bytes.py
"""

import json
import random
from pathlib import Path

source = random.Random(1)


def length(data):
    return len(data.decode("utf-8", errors="replace").encode("utf-8"))


by_hand = [
    b"", b"plain", "naïve".encode(), "中文".encode(), "🙂".encode(), "👩‍👧".encode(),
    b"\xff", b"\x80\x80", b"\xc0\x80", b"\xc1", b"\xf5\x80\x80\x80", b"\xf8",
    b"\xe0\x80\x80", b"\xe0\xa0", b"\xed\xa0\x80", b"\xed\x9f\xbf", b"\xef\xbf\xbd",
    b"\xf0\x80\x80\x80", b"\xf0\x90\x80", b"\xf4\x8f\xbf\xbf", b"\xf4\x90\x80\x80",
    b"\xf0\x9f\x99", b"\xf0\x9fA", b"\xe4\xb8\xe4\xb8\xad", b"a\xe4b\xb8c", b"\xc3\xc3\xa9",
]  # fmt: skip
# Every way to cut a few characters into two tokens.
cuts = [part for text in ("é", "中", "🙂", "x中🙂y") for i in range(1, len(text.encode())) for part in (text.encode()[:i], text.encode()[i:])]
lead = [0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2, 0xE0, 0xE1, 0xED, 0xEF, 0xF0, 0xF1, 0xF4]
drawn = [bytes(source.choice(lead) for _ in range(source.randint(1, 9))) for _ in range(400)]

golden = {
    "sequences": [{"hex": data.hex(), "length": length(data)} for data in by_hand + cuts + drawn],
    # A token for each byte: all of a character's bytes are broken sequences.
    "texts": [
        {"hex": data.hex(), "bytes": len(data), "source_bytes": sum(length(bytes([byte])) for byte in data)}
        for data in ("the wind".encode(), "naïve 🙂 中文\n".encode(), b"a\xff\xfe\xe4\xb8 b", "🙂🙂".encode())
    ],
}
Path(__file__).with_suffix(".json").write_text(json.dumps(golden, indent=1) + "\n")
