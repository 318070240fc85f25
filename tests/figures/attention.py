#!/usr/bin/env python3
"""The figures of attention: tests/figures/attention.py BUILD_FOLDER [ROW ...]"""
import json
import os
import re
import statistics
import tempfile
import time

import rows


def row_ops(f):
    for op in ("Attend", "AdditiveAttend", "WindowAttend", "LinearAttend"):
        _, passed = f.tests("test_ops", f"*{op}*")
        f.line(f"{op}: float64 loops, masks, gradients, laws, every CPU build", "all tests pass" if passed else "failed",
               "within the header's error", passed)


def row_layers(f):
    for name, pattern in (("MultiHeadAttention, Transformer layers against PyTorch", "MultiHeadAttention*:Transformer*"),
                          ("scores, the seeds' own module, fusions, worked example", "GlobalAttention*:ContextFusion*")):
        _, passed = f.tests("test_attention", pattern)
        f.line(name, "all tests pass" if passed else "failed", "1e-5 relative (the seeds' 1e-6)", passed)


def row_memory(f):
    output, passed = f.tests("test_ops", "AttendMemory*")
    used = [float(x) for x in re.findall(r"attend \w+: (\S+) MiB", output)]
    f.line("attend, 8 heads, 4096 x 4096, width 64, key sums: above inputs and outputs",
           f"{max(used):.1f} MiB" if used else "not measured", "64 MiB", passed and bool(used))
    _, passed = f.tests("test_ops", "AdditiveAttendMemory*")
    f.line("additive_attend, T 20, S 196, H 512, B 32: scratch", "tests pass" if passed else "failed", "4 MB", passed)


def row_speed(f):
    result = f.run(f.program("bench_attention"))
    for line in (json.loads(text) for text in result.stdout.splitlines() if text.startswith("{")):
        limit = 20 if line["name"].startswith("window") else 5 if line["name"].startswith("linear") else 0
        f.line(f"{line['name']} against {line['peer']}", f"{line['ratio']:.2f} x faster ({line['ours_ms']:.2f} and {line['peer_ms']:.2f} ms)",
               f"{limit} x" if limit else "none", line["ratio"] >= limit)
    if result.returncode:
        f.line("speed", result.stderr[-300:], "exit 0", False)


def translate(f, model, sources):
    """The translations of the sources as JSON objects."""
    result = f.run(f.gaze, "translate", "--model", model, "--beam", "3", "--json", input="\n".join(sources) + "\n")
    return [json.loads(text) for text in result.stdout.splitlines()]


def read_pairs(path):
    with open(path, encoding="utf-8") as stream:
        return [line.rstrip("\n").split("\t") for line in stream]


def mass_on_spans(answer, alignment):
    """For each output character that is linked, its weights' mass on its source span and a character to either side."""
    spans = {}
    for link in alignment.split():
        source, target = map(int, link.split("-"))
        spans.setdefault(target, []).append(source)
    for target, sources in spans.items():
        weights = answer["tokens"][target]["weights"]
        yield sum(weights[max(0, min(sources) - 1):max(sources) + 2])


def row_dates(f, seconds=120):
    exact, mass = [], []
    with tempfile.TemporaryDirectory() as folder:
        train, test = os.path.join(folder, "train.tsv"), os.path.join(folder, "test.tsv")
        f.run(f.gaze, "data", "pairs", "--kind", "dates", "--split", "train", "--count", "20000", "--out", train, check=True)
        f.run(f.gaze, "data", "pairs", "--kind", "dates", "--split", "test", "--count", "1000", "--out", test, check=True)
        pairs = read_pairs(test)
        slowest = 0
        for seed in (1, 2, 3):
            out = os.path.join(folder, f"run{seed}")
            start = time.time()
            result = f.run(f.gaze, "train", "translate", "--recipe", os.path.join(rows.root, "weights", "recipes", "dates.json"),
                           "--data", train, "--out", out, "--seed", str(seed), "--threads", "2")
            slowest = max(slowest, time.time() - start)
            if result.returncode:
                f.line("dates", result.stderr[-300:], "exit 0", False)
                return
            answers = translate(f, os.path.join(out, "model.safetensors"), [pair[0] for pair in pairs])
            exact.append(sum(a["target"] == p[1] for a, p in zip(answers, pairs)) / len(pairs))
            shares = [m for a, p in zip(answers, pairs) if a["target"] == p[1] for m in mass_on_spans(a, p[2])]
            mass.append((sum(s >= 0.9 for s in shares) / len(shares), statistics.mean(shares)))
    f.line("dates, additive score, bidirectional LSTM, 1,000 held out, median of 3 seeds: exact",
           f"{100 * statistics.median(exact):.1f} % ({', '.join(f'{100 * e:.1f}' for e in exact)}) in at most {slowest:.0f} s", "99 % in 120 s",
           statistics.median(exact) >= 0.99 and slowest <= seconds)
    print("    characters of day, month and year with 90 % of their mass within a character of their field's span: "
          + ", ".join(f"{100 * share:.1f} %" for share, _ in mass))
    middle = statistics.median(mean for _, mean in mass)
    f.line("dates: mass of those characters on their field's source span +- 1 character, mean, median of 3 seeds", f"{100 * middle:.1f} %",
           "90 %", middle >= 0.9)


def row_english_chinese(f):
    scores = {True: [], False: []}
    with tempfile.TemporaryDirectory() as folder:
        train, test = os.path.join(folder, "train.tsv"), os.path.join(folder, "test.tsv")
        for split, path in (("train", train), ("test", test)):
            f.run(f.gaze, "data", "pairs", "--kind", "english-chinese", "--split", split, "--out", path, check=True)
        for attention in (True, False):
            for seed in (1, 2, 3):
                out = os.path.join(folder, f"run-{attention}-{seed}")
                flags = [] if attention else ["--no-attention"]
                f.run(f.gaze, "train", "translate", "--recipe", os.path.join(rows.root, "weights", "recipes", "english-chinese.json"),
                      "--data", train, "--out", out, "--seed", str(seed), "--threads", "2", *flags, check=True)
                result = f.run(f.gaze, "eval", "pairs", "--data", test, "--model", os.path.join(out, "model.safetensors"), "--json")
                scores[attention].append(json.loads(result.stdout)["chrf2"])
    with_attention, without = (statistics.median(scores[a]) for a in (True, False))
    f.line("English-Chinese, held-out lines, chrF2, median of 3 seeds", f"{with_attention:.1f} with attention, {without:.1f} without",
           "attention higher", with_attention > without)


def row_bad_input(f):
    for name, program, pattern in (("pairs", "test_data", "*Pair*"), ("ops", "test_ops", "*Errors*"), ("programs", "test_gaze", "Translate*:DataPairs*")):
        _, passed = f.tests(program, pattern)
        f.line(f"bad input ({name})", "clear errors" if passed else "failed", "all", passed)


if __name__ == "__main__":
    rows.main({"ops": row_ops, "layers": row_layers, "memory": row_memory, "speed": row_speed, "dates": row_dates,
               "english-chinese": row_english_chinese, "bad-input": row_bad_input})
