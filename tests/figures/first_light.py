#!/usr/bin/env python3
"""The figures of the first release: tests/figures/first_light.py BUILD_FOLDER [ROW ...]"""
import json
import os
import re
import subprocess
import tempfile
import time

import rows
from rows import root


def row_demo(f):
    with tempfile.TemporaryDirectory() as folder:
        clone = os.path.join(folder, "gaze")
        f.run("git", "clone", "-q", root, clone, check=True)
        seconds = []
        for _ in range(2):
            start = time.time()
            result = f.run("./dev", "demo", cwd=clone, stdin=subprocess.DEVNULL)
            seconds.append(time.time() - start)
            if result.returncode:
                f.line("fresh clone, ./dev demo", result.stderr[-300:], "exit 0", False)
                return
        f.line("fresh clone to captioned photograph, ./dev demo", f"{seconds[0] / 60:.1f} min", "20 min", seconds[0] <= 1200)
        f.line("second ./dev demo", f"{seconds[1]:.1f} s", "10 s", seconds[1] <= 10)


def row_parity(f):
    output, passed = f.tests("test_backbone", "Lite0Photographs.*")
    found = re.findall(r"(\d+) photographs: largest difference of a probability (\S+)", output)
    count, worst = sum(int(n) for n, _ in found), max((float(gap) for _, gap in found), default=float("nan"))
    f.line("Lite0's top-5 against the original package, same input tensor",
           f"{count} photographs, same classes, probabilities {worst:.1e} apart" if found else "not measured",
           "1e-3", passed and worst <= 1e-3)


def row_resnet(f):
    for name in ("resnet18", "resnet50"):
        output, passed = f.tests("test_backbone", f"*stages_and_logits*/{name}")
        errors = [float(e) for e in re.findall(r"largest error (\S+) of the largest logit", output)]
        f.line(f"{name} against torchvision, golden weights", f"{max(errors):.1e} x max |logit|" if errors else "not measured", "1e-5",
               passed and bool(errors) and max(errors) <= 1e-5)


def row_formulas(f):
    for name, program, pattern in (("squeeze_excite against float64 loops", "test_ops", "SqueezeExcite.*"),
                                   ("spatial_gate against float64 loops", "test_ops", "SpatialGate.*"),
                                   ("attend, with the worked example", "test_ops", "Attend.*"),
                                   ("Se and Cbam against float64 loops", "test_attention", "Se.*:Cbam.*")):
        _, passed = f.tests(program, pattern)
        f.line(name, "all tests pass" if passed else "failed", "1e-5, and to the digits", passed)


def row_geometry(f):
    for program, pattern in (("test_image", "Geometry*"), ("test_overlay", "DrawMap*")):
        _, passed = f.tests(program, pattern)
        f.line(f"one-cell map on plain, portrait, EXIF, letterbox, crop ({program})", "within" if passed else "failed", "1 px", passed)


def row_scenes(f):
    for objects, key, nouns, limit in (("1-1", "named", "noun right", 0.60), ("2-3", "nouns_right", "all nouns right, and no other", 0.35)):
        result = f.run(f.gaze, "eval", "scenes", "--count", "1000", "--objects", objects, "--held-out", "0.5", "--seed", "7", "--size", "448",
                       "--json")  # the model's own input size
        lines = [json.loads(text) for text in result.stdout.splitlines() if text.startswith("{")]
        for held_out in (True, False):
            group = [entry for entry in lines if entry["held_out"] == held_out]
            count = sum(entry["n"] for entry in group)

            def mean(name, weight):
                known = [entry for entry in group if entry[name] is not None]
                total = sum(entry[weight] for entry in known)
                return sum(entry[name] * entry[weight] for entry in known) / total if total else float("nan")

            kind = "half or more held-out stamps" if held_out else "trained stamps in new poses, no limit"
            measured = mean(key, "n")
            f.line(f"scenes of {objects} objects, {kind}: {nouns}", f"{100 * measured:.1f} % of {count}", f"{100 * limit:.0f} %",
                   measured >= limit or not held_out)
            if objects == "1-1":
                print(f"    and nothing else named: {100 * mean('nouns_right', 'n'):.1f} %")
            else:
                related = mean("relations_right", "relations")
                f.line(f"scenes of {objects} objects, {kind}: relation right when the nouns are", f"{100 * related:.1f} %", "80 %",
                       related >= 0.80 or not held_out)
            point, centre = mean("pointing", "words"), mean("pointing_centre", "words")
            f.line(f"pointing, {objects} objects, {kind}", f"{100 * point:.1f} % (the picture's centre: {100 * centre:.1f} %)",
                   "above the centre", point > centre)


def row_photographs(f):
    result = f.run(f.gaze, "eval", "photographs")
    found = re.search(r"(\d+) of (\d+) right, (\d+) missing", result.stdout)
    print(result.stdout, end="")
    right, count = (int(found.group(1)), int(found.group(2))) if found else (0, 0)
    f.line("real photographs named", f"{right} of {count}", "80 % of at least 15", count >= 15 and right >= 0.8 * count)


def row_resume(f):
    _, passed = f.tests("test_gaze", "TrainCaption.killed*")
    f.line("kill -9 in mid-epoch, resume", "final weights bit-equal" if passed else "failed", "bit-equal", passed)


def row_bad_input(f):
    for program, pattern in (("test_image", "*Bad*"), ("test_checkpoint", "*"), ("test_gaze", "*")):
        _, passed = f.tests(program, pattern)
        f.line(f"bad input ({program})", "clear errors, right exit status" if passed else "failed", "all", passed)


rows.main({"demo": row_demo, "parity": row_parity, "resnet": row_resnet, "formulas": row_formulas, "geometry": row_geometry,
           "scenes": row_scenes, "photographs": row_photographs, "resume": row_resume, "bad_input": row_bad_input})
