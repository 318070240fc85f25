"""Ids that the original BERT tokenizer gives awkward lines, and texts that Hugging Face's gives ids: writes wordpiece.json."""
import json
import pathlib
import random
import tempfile

import transformers

from awkward_lines import CAPTIONS, awkward_lines
from original_bert import OriginalBert, uncased_vocabulary

SEED, LINES, DECODED = 6, 400, 60
OFTEN = [*".?!,'", "n", "t", "s", "m", "re", "##s", "##ing", "[UNK]", "[MASK]", "[PAD]", "[SEP]", "[CLS]"]


def part_of_vocabulary(lines):
    """What the lines need of BERT's tokens, and every 40th of the others, so that there are wrong ones to pick."""
    tokens = uncased_vocabulary()
    original = OriginalBert(tokens)
    needed = {id for line in lines for id in original.encode(line)} | set(range(0, len(tokens), 40))
    return [token for id, token in enumerate(tokens) if id in needed or token in OFTEN]


def decoded(tokens, original):
    """[ids, text] pairs: captions, and drawn tokens with more than their share of special and punctuation ones."""
    draw = random.Random(SEED)
    often = [tokens.index(token) for token in OFTEN]
    sequences = [original.encode(caption) for caption in CAPTIONS]
    while len(sequences) < DECODED:
        sequences.append([draw.choice(often) if draw.random() < 0.6 else draw.randrange(len(tokens)) for _ in range(draw.randrange(12))])
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "vocab.txt"
        path.write_text("".join(token + "\n" for token in tokens), encoding="utf-8")
        theirs = transformers.BertTokenizer(path)
        return [[ids, theirs.decode(ids, skip_special_tokens=True, clean_up_tokenization_spaces=True)] for ids in sequences]


def main():
    lines = awkward_lines(LINES, SEED)
    tokens = part_of_vocabulary(lines)
    original = OriginalBert(tokens)
    golden = {"made_by": f"bert-tensorflow 1.0.4, transformers {transformers.__version__}", "tokens": tokens,
              "lines": [[line, original.encode(line)] for line in lines], "decoded": decoded(tokens, original)}
    path = pathlib.Path(__file__).with_name("wordpiece.json")
    path.write_text(json.dumps(golden) + "\n")
    print(f"{path}: {len(tokens)} tokens, {len(lines)} lines, {len(golden['decoded'])} decoded")


if __name__ == "__main__":
    main()
