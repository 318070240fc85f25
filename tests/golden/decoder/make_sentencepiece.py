"""A tiny SentencePiece model, and what the Python package makes of lines with it: writes sentencepiece.model and .json."""
import io
import json
import pathlib
import random

import sentencepiece

from awkward_lines import CAPTIONS, SCRIPTS, awkward_lines

SEED, LINES, PIECES, DECODED = 8, 200, 160, 40


def trained(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CAPTIONS * 20 + SCRIPTS[:2] * 5), model_writer=model, vocab_size=PIECES,
                                             minloglevel=2, num_threads=1, **options)
    return model.getvalue()


def main():
    model = trained(model_type="unigram", pad_id=3, character_coverage=0.98, hard_vocab_limit=False,
                    normalization_rule_name="identity")  # the usual rule alone is 240 KB
    theirs = sentencepiece.SentencePieceProcessor(model_proto=model)
    lines = awkward_lines(LINES, SEED)
    draw = random.Random(SEED)
    sequences = [theirs.encode(caption) for caption in CAPTIONS]
    sequences += [[draw.randrange(4, len(theirs)) for _ in range(draw.randrange(12))] for _ in range(DECODED - len(sequences))]
    special = {theirs.unk_id(), theirs.bos_id(), theirs.eos_id(), theirs.pad_id()}
    golden = {"made_by": f"sentencepiece {sentencepiece.__version__}", "size": len(theirs),
              "specials": [theirs.pad_id(), theirs.bos_id(), theirs.eos_id(), theirs.unk_id()],
              "lines": [[line, theirs.encode(line)] for line in lines],
              "decoded": [[ids, theirs.decode([id for id in ids if id not in special])] for ids in sequences]}
    folder = pathlib.Path(__file__).parent
    (folder / "sentencepiece.model").write_bytes(model)
    (folder / "sentencepiece.json").write_text(json.dumps(golden) + "\n")
    print(f"{folder / 'sentencepiece.model'}: {len(model)} bytes, {len(theirs)} pieces, {len(lines)} lines")


if __name__ == "__main__":
    main()
