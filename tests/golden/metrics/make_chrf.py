"""chrF2 of a few made translations by sacrebleu 2.6.0 (pip install sacrebleu==2.6.0): writes chrf.json beside this file."""

import json
import pathlib
import random

import sacrebleu

ENGLISH = "The red bird sings . A cat sleeps on Anna's warm blue sofa , and two dogs run home ! Café 3:15 pm (Monday) naïve".split()
CHINESE = "我 喜欢 猫 。 一只 红色 的 鸟 在 树上 唱歌 ， 两条 狗 跑 回家 ！ 今天 是 2024 年 三月 三日 𠀀 Ａ".split()


def sentence(rng, words, space, longest):
    return space.join(rng.choice(words) for _ in range(rng.randint(1, longest)))


def varied(rng, text, alphabet):
    """The text with some characters dropped, changed, doubled or swapped with the next, so that n-grams are shared."""
    characters = []
    for character in text:
        characters += rng.choice([[character]] * 12 + [[], [rng.choice(alphabet)], [character, character], [" "]])
    return "".join(characters)


def lines_of(rng, words, space, count):
    alphabet = "".join(words)
    lines = []
    for _ in range(count):
        truth = sentence(rng, words, space, 12)
        references = [truth] + [varied(rng, truth, alphabet) or truth for _ in range(rng.randint(0, 2))]
        lines.append({"translation": varied(rng, truth, alphabet), "references": references})
    lines[1]["translation"] = lines[1]["references"][-1]  # the same text
    lines[2]["translation"] = ""
    lines[3] = {"translation": words[1], "references": [words[1] + words[2], words[1]]}  # too short for most orders
    lines[4] = {"translation": "qqq", "references": ["zz zz"]}  # nothing in common
    lines[5] = {"translation": "\u3000" + words[0] + "\u00a0\t" + words[3], "references": [words[0] + words[3] + words[5]]}
    lines[6] = {"translation": words[6], "references": [" "]}  # a reference of white space alone
    return lines


def golden_of(name, lines):
    metric = sacrebleu.CHRF()
    translations = [line["translation"] for line in lines]
    most = max(len(line["references"]) for line in lines)
    columns = [[line["references"][i] if i < len(line["references"]) else None for line in lines] for i in range(most)]
    corpus = metric.corpus_score(translations, columns).score
    scores = [metric.sentence_score(line["translation"], line["references"]).score for line in lines]
    print(f"{name}: {len(lines)} lines, chrF2 {corpus:.6f}, {metric.get_signature()}")
    return {"name": name, "corpus": corpus, "scores": scores, "lines": lines}


def main():
    rng = random.Random(21)
    english, chinese = lines_of(rng, ENGLISH, " ", 24), lines_of(rng, CHINESE, "", 24)
    sets = [
        golden_of("english", english),
        golden_of("chinese", chinese),
        golden_of("short", [{"translation": "猫", "references": ["猫 狗"]}]),
        golden_of("nothing", [{"translation": "", "references": ["猫"]}]),
    ]
    path = pathlib.Path(__file__).with_name("chrf.json")
    golden = {"made_by": f"sacrebleu {sacrebleu.__version__}", "seed": 21, "sets": sets}
    path.write_text(json.dumps(golden, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(path)


if __name__ == "__main__":
    main()
