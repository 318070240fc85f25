#!/usr/bin/env python3
"""gaze's WordPiece against the original tokenizer: .venv-oracle/bin/python tests/figures/compare_wordpiece.py PRINT_IDS

Of bert-base-uncased's vocabulary, on 10,000 lines: translations of the message catalogues that the tests' Debian packages
install, and awkward lines. Writes one JSON object; lines that differ go to stderr.
"""
import collections
import glob
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "golden" / "decoder"))
from awkward_lines import awkward_lines  # noqa: E402
from original_bert import OriginalBert, uncased_vocabulary  # noqa: E402

LINES, AWKWARD, SEED = 10_000, 2_000, 1
CATALOGUES = "/usr/share/locale/*/LC_MESSAGES/{}.mo"


def texts_of(path):
    """The originals and translations of a little-endian .mo file."""
    data = pathlib.Path(path).read_bytes()
    magic, _, count, *tables = struct.unpack_from("<5I", data)
    if magic != 0x950412DE:
        return
    for table in tables:
        for length, offset in struct.iter_unpack("<2I", data[table:table + 8 * count]):
            yield data[offset:offset + length].decode("utf-8", "ignore")


def translations():
    """Every line of the messages and their translations, once."""
    lines = set()
    for program in ("tuxpaint", "aisleriot"):
        for path in glob.glob(CATALOGUES.format(program)):
            for text in texts_of(path):
                lines.update(text.replace("\0", "\n").split("\n"))
    return sorted(lines)


def scripts(lines):
    """Writing systems with at least 20 lines, by the first word of their letters' names."""
    counts = collections.Counter()
    for line in lines:
        counts.update({unicodedata.name(c, "NONE").split()[0] for c in line if unicodedata.category(c)[0] == "L"})
    return sorted(name for name, count in counts.items() if count >= 20 and name not in ("NONE", "FEMININE", "MASCULINE", "MODIFIER"))


def main():
    lines = translations()
    random.Random(SEED).shuffle(lines)
    lines = lines[:LINES - AWKWARD] + awkward_lines(AWKWARD, SEED)
    tokens = uncased_vocabulary()
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"kind": "wordpiece", "data": tokens}, file)
        file.flush()
        ours = subprocess.run([sys.argv[1], file.name], input="".join(line + "\n" for line in lines).encode(), capture_output=True, check=True)
    original = OriginalBert(tokens)
    answers = [[int(id) for id in text.split()] for text in ours.stdout.decode().split("\n")[:-1]]
    wrong = [line for line, answer in zip(lines, answers, strict=True) if answer != original.encode(line)]
    for line in wrong[:20]:
        print(ascii(line), file=sys.stderr)
    natural = scripts(lines[:LINES - AWKWARD])
    print(json.dumps({"lines": len(lines), "equal": len(lines) - len(wrong), "scripts": natural, "seconds": float(ours.stderr)}))


if __name__ == "__main__":
    main()
