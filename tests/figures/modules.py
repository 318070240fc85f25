#!/usr/bin/env python3
"""The figures of the modules: tests/figures/modules.py BUILD_FOLDER [ROW ...]"""
import json
import math
import os
import re
import tempfile
import time

import rows
from rows import root

# The networks' own programs print "NAME: largest error 3.1e-07 of the largest logit".
LOGIT_ERROR = r"largest error (\S+) of the largest logit"


def row_parity(f):
    for name, program, pattern in (
            ("every backbone against torchvision, golden weights", "test_backbone", "*stages_and_logits*"),
            ("SE, CBAM and ECA networks against timm and the official code", "test_network", "*ComputesTheOriginalsLogits*")):
        output, passed = f.tests(program, pattern)
        errors = [float(e) for e in re.findall(LOGIT_ERROR, output)]
        f.line(name, f"{len(errors)} outputs, {max(errors):.1e} x max |logit|" if errors else "not measured", "1e-5",
               passed and bool(errors) and max(errors) <= 1e-5)


def row_counts(f):
    for name, program, pattern in (("backbones", "test_backbone", "Backbone.has_the_published_number_of_parameters"),
                                   ("networks with blocks put in", "test_backbone", "Insert.adds_the_published_number_of_parameters"),
                                   ("others' networks", "test_network", "ForeignNetworks.HaveThePublishedNumbersOfParameters")):
        _, passed = f.tests(program, pattern)
        f.line(f"parameters of {name}", "as published" if passed else "not as published", "equal", passed)


def row_ops(f):
    """Each test of a kernel runs once for every build that this machine can run, which is the last part of its name."""
    others = ":".join(f"*{name}*" for name in ("AdditiveAttend", "WindowAttend", "LinearAttend"))
    for op, pattern in (("squeeze_excite", "*SqueezeExcite*"), ("spatial_gate", "*SpatialGate*-*ChannelSpatialGate*"),
                        ("channel_spatial_gate", "*ChannelSpatialGate*"), ("attend", f"*Attend*-{others}")):
        output, passed = f.tests("test_ops", pattern)
        builds = [isa for isa in ("baseline", "avx2", "avx512") if re.search(rf"OK \] \S*[/_]{isa}\b", output)]
        f.line(f"{op}: float64 loops, gradients, half types", f"{', '.join(builds)} {'pass' if passed else 'fail'}",
               "within the header's error", passed and bool(builds))


def row_host_runner(f):
    for name, program, pattern in (("CUDA bodies of squeeze_excite in the host runner", "test_ops", "SqueezeExciteHostRunner*"),
                                   ("seeded faults are caught", "test_host_runner", "HostRunner.catches*"),
                                   ("seeded faults in squeeze_excite are caught", "test_ops", "SqueezeExciteHostRunnerBugs.*")):
        _, passed = f.tests(program, pattern)
        f.line(name, "all tests pass" if passed else "failed", "all", passed)


def row_identity(f):
    _, passed = f.tests("test_backbone", "Insert.identity*:*IdentityInsertion*")
    f.line("identity insertion: bit-equal output, gradients, one step changes it", "all tests pass" if passed else "failed",
           "every slot that takes the module", passed)


def row_speed(f):
    """bench_modules prints a JSON object for every pair and, last, one with their geometric mean, which counts its "pairs"."""
    result = f.run(f.program("bench_modules"))
    lines = [json.loads(text) for text in result.stdout.splitlines() if text.startswith("{")]
    for module, limit in (("se", 1.7), ("cbam", 2.5)):
        for entry in lines:
            if entry["name"].startswith(module + " ") and "pairs" not in entry:
                print(f"    {entry['name']}: {entry['ours_ms']:.2f} ms, {entry['peer']} {entry['peer_ms']:.2f} ms, {entry['ratio']:.2f} x")
        mean = next((entry["ratio"] for entry in lines if entry["name"].startswith(module + " ") and "pairs" in entry), math.nan)
        f.line(f"{module} + residual + ReLU against LibTorch eager, ResNet-50's stages, batch 8, geometric mean", f"{mean:.2f} x faster",
               f"{limit} x", mean >= limit)


def row_fine_tune(f, threads=2):
    with tempfile.TemporaryDirectory() as folder:
        data, out = os.path.join(folder, "classes"), os.path.join(folder, "run")
        f.run(f.gaze, "data", "classes", "--out", data, "--classes", "5", "--count", "50", check=True)
        start = time.time()
        result = f.run(f.gaze, "train", "classify", "--data", data, "--backbone", "efficientnet_lite0", "--weights",
                       os.path.join(root, "weights", "cache", "efficientnet_lite0.pth"), "--insert", "blocks.*.attn=se",
                       "--recipe", os.path.join(root, "weights", "recipes", "lite0-se-classify.json"), "--threads", str(threads),
                       "--out", out, "--json")
        minutes = (time.time() - start) / 60
        if result.returncode:
            f.line("fine-tuning Lite0 + SE", result.stderr[-300:], "exit 0", False)
            return
        accuracy = json.loads(result.stdout)["val_accuracy"]
        f.line("fine-tuning Lite0 + SE on 5 classes x 50 composed pictures, other grounds to validate on",
               f"{100 * accuracy:.1f} % in {minutes:.1f} min on {threads} threads", "90 % in 10 min", accuracy >= 0.9 and minutes <= 10)


def row_bad_input(f):
    for name, program, pattern in (("checkpoints", "test_checkpoint", "*"), ("ops", "test_ops", "*Errors.*"),
                                   ("modules and specs", "test_attention", "Registry.*:Spec.*"),
                                   ("slots, patterns and networks", "test_backbone", "*mistakes*:*no_match*:*refused*:LoadBackbone.*"),
                                   ("the program", "test_gaze", "*-TrainCaption.*")):
        _, passed = f.tests(program, pattern)
        f.line(f"bad input ({name})", "clear errors" if passed else "failed", "all", passed)


if __name__ == "__main__":
    rows.main({"parity": row_parity, "counts": row_counts, "ops": row_ops, "host-runner": row_host_runner, "identity": row_identity,
               "speed": row_speed, "fine-tune": row_fine_tune, "bad-input": row_bad_input})
