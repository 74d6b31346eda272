#!/usr/bin/env python3
"""Checks that Hugging Face's tokenizers gives the ids of a packed corpus.

    pip install tokenizers numpy
    tests/corpus/check_tokenizer_json.py CORPUS_FOLDER

Decodes every document of every shard to its bytes, encodes them again with the folder's
tokenizer.json and compares the ids. Documents that are not UTF-8 cannot be given to that library;
they are counted apart. Also compares the validation text with the decoded validation documents.
"""

import json
import pathlib
import sys

import numpy as np
import tokenizers


def byte_of_letter():
    """GPT-2's alphabet, reversed."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in printable]
    letters = {chr(b): b for b in printable}
    letters.update({chr(256 + i): b for i, b in enumerate(others)})
    return letters


def main():
    folder = pathlib.Path(sys.argv[1])
    manifest = json.loads((folder / "manifest.json").read_text())
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    # Text that spells a special token is ordinary text.
    tokenizer.encode_special_tokens = True
    letters = byte_of_letter()
    begin = manifest["vocabulary_size"] - 1
    token_bytes = [bytes(letters[c] for c in tokenizer.id_to_token(i)) for i in range(begin)]
    dtype = np.uint16 if manifest["bytes_per_id"] == 2 else np.int32

    compared = unequal = not_utf8 = compared_tokens = 0
    for split in ("train", "validation"):
        shards = [np.fromfile(folder / s["file"], dtype) for s in manifest[split]["shards"]]
        ids = np.concatenate(shards).astype(np.int64)
        starts = np.flatnonzero(ids == begin)
        assert len(starts) == manifest[split]["documents"] and starts[0] == 0
        split_bytes = 0
        whole = []
        for first, last in zip(starts, [*starts[1:], len(ids)]):
            document = ids[first + 1 : last].tolist()
            raw = b"".join(token_bytes[i] for i in document)
            split_bytes += len(raw)
            if split == "validation":
                whole.append(raw)
            try:
                text = raw.decode("utf-8")
            except UnicodeDecodeError:
                not_utf8 += 1
                continue
            compared += 1
            compared_tokens += len(document)
            theirs = tokenizer.encode(text, add_special_tokens=False).ids
            if theirs != document:
                unequal += 1
                if unequal <= 3:
                    at = next((i for i, (a, b) in enumerate(zip(theirs, document)) if a != b), 0)
                    print(f"{split}: ids differ from {at} on: theirs "
                          f"{[token_bytes[i] for i in theirs[at : at + 8]]}, ours "
                          f"{[token_bytes[i] for i in document[at : at + 8]]}")
        assert split_bytes == manifest[split]["bytes"], "token bytes do not sum to the text's bytes"
        if split == "validation":
            assert b"".join(whole) == (folder / "validation.text").read_bytes()
    print(f"{compared} documents, {compared_tokens} tokens compared: {unequal} documents differ; "
          f"{not_utf8} documents are not UTF-8")
    return 1 if unequal else 0


if __name__ == "__main__":
    sys.exit(main())
