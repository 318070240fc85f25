"""Ids and texts of a small byte-level BPE by Hugging Face's GPT2Tokenizer, which is OpenAI's encoder.py: writes byte_bpe.json.

The vocabulary is trained here, by `tokenizers`, on other awkward lines than those that are compared.
"""
import json
import pathlib
import random
import tempfile

import tokenizers
import transformers

from awkward_lines import CAPTIONS, awkward_lines

SEED, LINES, TOKENS, DECODED = 7, 400, 700, 60


def trained(folder):
    """The paths of vocab.json and merges.txt."""
    bpe = tokenizers.ByteLevelBPETokenizer()
    bpe.train_from_iterator(awkward_lines(3000, SEED + 1), vocab_size=TOKENS, min_frequency=2, special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
                            show_progress=False)
    return bpe.save_model(folder)


def main():
    with tempfile.TemporaryDirectory() as folder:
        vocabulary, merges = trained(folder)
        theirs = transformers.GPT2Tokenizer(vocabulary, merges, unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="<pad>")
        pairs = [line for line in pathlib.Path(merges).read_text(encoding="utf-8").split("\n")[1:] if line]
    tokens = [theirs.decoder[id] for id in range(len(theirs.encoder))]

    def encoded(line):  # without their search for special tokens in the text
        return [theirs.encoder[piece] for piece in theirs._tokenize(line)]

    draw = random.Random(SEED)
    sequences = [encoded(caption) for caption in CAPTIONS] + [[draw.randrange(len(tokens)) for _ in range(draw.randrange(12))] for _ in range(DECODED)]
    golden = {"made_by": f"transformers {transformers.__version__}, tokenizers {tokenizers.__version__}", "tokens": tokens, "merges": pairs,
              "lines": [[line, encoded(line)] for line in awkward_lines(LINES, SEED)],
              "decoded": [[ids, theirs.decode(ids, skip_special_tokens=True).strip()] for ids in sequences[:DECODED]]}
    path = pathlib.Path(__file__).with_name("byte_bpe.json")
    path.write_text(json.dumps(golden) + "\n")
    print(f"{path}: {len(tokens)} tokens, {len(pairs)} merges, {LINES} lines, {DECODED} decoded")


if __name__ == "__main__":
    main()
