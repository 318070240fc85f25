"""CIDEr-D of a few made captions by pycocoevalcap 1.2 (pip install pycocoevalcap): writes cider.json beside this file."""

import json
import pathlib
import random

from pycocoevalcap.cider.cider import Cider

WORDS = "a the cat dog ball goldfish grass sand on in left right of above and two".split()


def sentence(rng, longest):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(1, longest)))


def varied(rng, text):
    """The sentence with some words dropped, changed or doubled, so that n-grams are shared."""
    words = []
    for word in text.split():
        words += rng.choice([[word]] * 6 + [[], [rng.choice(WORDS)], [word, word]])
    return " ".join(words) or "a"


def main():
    rng = random.Random(20)
    pairs = []
    for _ in range(24):
        truth = sentence(rng, 14)
        pairs.append({"caption": varied(rng, truth), "references": [varied(rng, truth) for _ in range(rng.randint(1, 5))]})
    pairs[3]["caption"] = pairs[3]["references"][0]  # the same words
    pairs[5]["caption"] = "unheard words only"
    pairs[7]["caption"] = "cat"  # no bigram
    mean, scores = Cider().compute_score(
        {i: pair["references"] for i, pair in enumerate(pairs)}, {i: [pair["caption"]] for i, pair in enumerate(pairs)}
    )
    golden = {"made_by": "pycocoevalcap 1.2", "seed": 20, "mean": float(mean), "scores": [float(s) for s in scores], "pairs": pairs}
    path = pathlib.Path(__file__).with_name("cider.json")
    path.write_text(json.dumps(golden, indent=1) + "\n")
    print(f"{path}: {len(pairs)} pictures, mean {mean:.6f}")


if __name__ == "__main__":
    main()
