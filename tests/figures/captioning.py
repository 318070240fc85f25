#!/usr/bin/env python3
"""The figures of captioning: tests/figures/captioning.py BUILD_FOLDER [ROW ...]

The row `catr` needs a checkout of github.com/saahiluppal/catr: the environment variable CATR is its folder.
"""
import glob
import json
import os
import statistics
import tempfile

import many_pictures
import rows
from paired_workers import THREADS, Timing, Worker, alternate

ORACLE = os.path.join(rows.root, ".venv-oracle", "bin", "python")  # ./dev figures captioning makes it
PICTURE = os.path.join(rows.root, "tests", "photos", "red_panda.jpg")
WORDS = 20


def row_wordpiece(f):
    result = f.run(ORACLE, os.path.join(rows.root, "tests", "figures", "compare_wordpiece.py"), f.program("print_ids"))
    if result.returncode:
        f.line("WordPiece", result.stderr[-300:], "exit 0", False)
        return
    measured = json.loads(result.stdout)
    f.line(f"WordPiece against the original, BERT's uncased vocabulary, {measured['lines']:,} lines, {len(measured['scripts'])} scripts: equal ids",
           f"{measured['equal']:,} lines, encoded in {measured['seconds']:.2f} s", "all of 10,000 lines, at least 5 scripts, 1 s",
           measured["equal"] == measured["lines"] >= 10_000 and len(measured["scripts"]) >= 5 and measured["seconds"] <= 1)


def whole_lines(path):
    with open(path, "rb") as stream:
        return stream.read().split(b"\n")[:-1]


def row_many(f):
    count = int(os.environ.get("GAZE_FIGURE_PICTURES", 10_000))
    batch, warm, window = 8, min(500, count // 4), 512
    with tempfile.TemporaryDirectory() as folder:
        scenes = os.path.join(folder, "scenes")
        f.run(f.gaze, "data", "scenes", "--out", scenes, "--count", "60", "--seed", "3", check=True)
        sources = sorted(glob.glob(os.path.join(rows.root, "tests", "photos", "*.jpg")) + glob.glob(os.path.join(scenes, "images", "*.jpg")))
        every, bad = many_pictures.make_pictures(os.path.join(folder, "pictures"), sources, count)
        out, errors = os.path.join(folder, "out.jsonl"), os.path.join(folder, "errors")
        options = ("--batch", str(batch), "--beam", "1")
        command = (f.gaze, "caption", os.path.join(folder, "pictures"), "--out", out, *options)
        killed = many_pictures.WatchedRun(command, out, errors, kill_at=count * 2 // 5)
        resumed = many_pictures.WatchedRun(command, out, errors)

        lines = whole_lines(out)
        captioned, failed, damaged = [], [], set(bad)
        for line in lines:  # one at a time, as they are large
            found = json.loads(line)
            (captioned if found.get("captions") else failed).append(found["image"])
        good = [path for path in every if path not in damaged]
        f.line(f"{count:,} pictures, killed at {killed.lines:,} and run again: each good one captioned once",
               f"{len(captioned):,} captioned, {len(set(captioned)):,} different ones, exit {killed.status} and {resumed.status}, "
               f"{killed.seconds + resumed.seconds:.0f} s", f"{len(good):,}, exit -9 and 3",
               captioned == good and killed.status == -9 and killed.lines < count and resumed.status == 3)
        told, _, end = resumed.errors.rpartition(f"gaze: {len(bad):,} of {count:,} pictures failed:\n")
        named = [path for path in bad if f"gaze: {path}: " in told]
        first = end.count("\n  /") + end.startswith("  /")
        f.line("damaged ones told one by one, counted at the end", f"{len(named):,} told, {first} named again", f"all {len(bad):,}, the first 20",
               named == bad == failed and first == min(20, len(bad)))
        # A batch's activations come and go, so the most of many batches is compared, not single moments.
        for name, run in (("until it is killed", killed), ("run again", resumed)):
            before, after = run.most_memory(warm // 2, warm), run.most_memory(warm)
            f.line(f"most resident memory after {warm} pictures, {name}, above the most before", f"{after - before:.1f} MB above {before:.0f} MB",
                   "50 MB", after - before <= 50)

        # The pictures around the last one before the kill, in the same batches.
        start = max(0, killed.lines - window // 2) // batch * batch
        straight = os.path.join(folder, "straight.jsonl")
        f.run(f.gaze, "caption", "-", "--out", straight, *options, input="\n".join(every[start:start + window]) + "\n")
        expected = whole_lines(straight)
        equal = sum(a == b for a, b in zip(lines[start:start + window], expected))
        f.line("lines around the kill as an undisturbed run writes them", f"{equal} of {len(expected)} bit-equal",
               f"all {min(window, count - start)}", equal == len(expected) == min(window, count - start))


def ours(f, name):
    return Worker(f.program(name), str(THREADS))


def peer(name, *arguments):
    return Worker(ORACLE, os.path.join(rows.root, "tests", "figures", name), str(THREADS), *arguments)


def caption(worker, captions=1, **request):
    """The milliseconds of captions of 20 words."""
    answer = worker.ask(words=WORDS, **request)
    if answer["tokens"] != captions * WORDS:
        raise RuntimeError(f"{answer['tokens']} tokens in {captions} captions of {WORDS}")
    return answer["ms"]


def compared(timing):
    return f"{timing.ours:.1f} and {timing.theirs:.1f} ms, {THREADS} threads, spread {100 * timing.spread:.0f} %"


def row_catr(f, warm_ups=3, rounds=7):
    name, limit = f"picture to {WORDS} tokens, ResNet-101 and 6 + 6 layers, against CATR's original Python", 12
    folder = os.environ.get("CATR", "")
    if not os.path.exists(os.path.join(folder, "predict.py")):
        f.line(name, "not measured: give the folder of github.com/saahiluppal/catr in CATR", f"{limit} x", False)
        return
    with ours(f, "caption_worker") as gaze, peer("catr_worker.py", folder) as catr:
        ms = alternate({"gaze": lambda: caption(gaze, picture=PICTURE), "catr": lambda: caption(catr, picture=PICTURE)}, warm_ups, rounds)
    timing = Timing(ms["gaze"], ms["catr"])
    f.line(name, f"{timing.ratio:.1f} x faster ({compared(timing)})", f"{limit} x", timing.ratio >= limit)


def row_gpt2(f, limit=1.5):
    with ours(f, "decoder_worker") as gaze, peer("gpt2_worker.py") as gpt2:
        for batch in (1, 8):
            ways = {"gaze": lambda: caption(gaze, batch, batch=batch, beam=1)}
            for way in ("generate", "loop"):
                ways[way] = lambda way=way: caption(gpt2, batch, batch=batch, way=way)
            ms = alternate(ways)
            faster = min(("generate", "loop"), key=lambda way: statistics.median(ms[way]))
            timing = Timing(ms["gaze"], ms[faster])
            f.line(f"{WORDS} tokens, 6 layers of width 512, 196 cells, batch {batch}, against Hugging Face's GPT-2 with cross-attention ({faster})",
                   f"{timing.ratio:.2f} x faster ({compared(timing)})", f"{limit} x", timing.ratio >= limit)


def row_beam(f, limit=2.5):
    with ours(f, "decoder_worker") as gaze:
        for batch in (1, 8):
            ms = alternate({beam: lambda beam=beam: caption(gaze, batch, batch=batch, beam=beam) for beam in (1, 5)})
            timing = Timing(ms[1], ms[5])
            f.line(f"beam 5 against greedy, {WORDS} tokens, picture encoded, batch {batch}", f"{timing.ratio:.2f} x the time ({compared(timing)})",
                   f"{limit} x", timing.ratio <= limit)


def row_cache(f, limit=1.2, repeats=100):
    with ours(f, "decoder_worker") as gaze:
        for batch in (1, 8):
            gaze.ask(batch=batch, steps=WORDS, repeats=3)
            ms = gaze.ask(batch=batch, steps=WORDS, repeats=repeats)["ms"]
            ratio = ms[WORDS - 1] / ms[1]
            f.line(f"step of word {WORDS} against that of word 2, with the cache, batch {batch}",
                   f"{ratio:.2f} x the time ({ms[WORDS - 1]:.2f} and {ms[1]:.2f} ms, {THREADS} threads)", f"{limit} x", ratio <= limit)


if __name__ == "__main__":
    rows.main({"wordpiece": row_wordpiece, "many": row_many, "catr": row_catr, "gpt2": row_gpt2, "beam": row_beam, "cache": row_cache})
