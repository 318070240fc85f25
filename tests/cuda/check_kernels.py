#!/usr/bin/env python3
"""Reads the machine code of the CUDA kernels in a library: registers, spills, and 128-bit loads and stores.

  check_kernels.py CUOBJDUMP LIBRARY

Prints a line for every kind of kernel and architecture; exits with 1 where one breaks its budget."""
import collections
import re
import subprocess
import sys

ARCHITECTURES = {"sm_80", "sm_90"}
# Two blocks of 256 threads fit a processor with 65536 registers; more is a kernel that grew unseen.
MOST_REGISTERS = 128
# Kernels that stream a map, and what they must do 128 bits at a time.
STREAMING = {"SqueezeExcitePool": ["LDG.E.128"], "SqueezeExciteScale": ["LDG.E.128", "STG.E.128"],
             "SqueezeExciteSpread": ["LDG.E.128", "STG.E.128"]}


def dump(cuobjdump, flag, library):
    """(architecture, lines) of each device image in the library."""
    out = subprocess.run([cuobjdump, flag, library], check=True, capture_output=True, text=True).stdout
    architecture, images = None, []
    for line in out.splitlines():
        found = re.match(r"arch = (\w+)", line.strip())
        if found:
            architecture = found[1]
            images.append((architecture, []))
        elif images:
            images[-1][1].append(line)
    return images


def kernels(images, start):
    """(architecture, kernel) -> its lines, a kernel beginning at a line that `start` matches."""
    result, key = collections.defaultdict(list), None
    for architecture, lines in images:
        for line in lines:
            found = re.search(start, line)
            if found:
                key = (architecture, found[1])
            if key:
                result[key].append(line)
        key = None
    return result


def kind(name):
    """The body of a mangled run_body<Body>: `SqueezeExciteScale`."""
    names = re.findall(r"\d+((?:SmallMatmul|SqueezeExcite[A-Z]\w*?|ColumnSums|[A-Z]\w*?))(?=I[A-Z0-9N]|E)", name)
    inner = [n for n in names if n != "SmallMatmul"]
    return inner[0] if inner else name


def is_packed(name):
    """Walks in packs of 128 bits: all but a channels-last walk of single channels."""
    return "ChannelWalk" not in name or not re.search(r"ChannelWalkI\w+?Li1EE", name)


def main():
    cuobjdump, library = sys.argv[1:]
    usage = kernels(dump(cuobjdump, "--dump-resource-usage", library), r"Function (\w+):")
    code = kernels(dump(cuobjdump, "--dump-sass", library), r"Function : (\w+)")
    problems, table = [], collections.defaultdict(lambda: [0, 0, 0])
    seen = {architecture for architecture, _ in code}
    if not ARCHITECTURES <= seen:
        problems.append(f"machine code for {sorted(ARCHITECTURES)} expected, found {sorted(seen)}")
    for key, lines in usage.items():
        text = " ".join(lines)
        registers = int(re.search(r"REG:(\d+)", text)[1])
        row = table[key[0], kind(key[1])]
        row[0] += 1
        row[1] = max(row[1], registers)
        if registers > MOST_REGISTERS:
            problems.append(f"{key}: {registers} registers, at most {MOST_REGISTERS}")
    for key, lines in code.items():
        text = "\n".join(lines)
        spills = len(re.findall(r"\b(?:LDL|STL)\b", text))
        if spills:
            problems.append(f"{key}: {spills} instructions that spill registers")
        for body, instructions in STREAMING.items():
            if body not in key[1] or not is_packed(key[1]):
                continue
            for instruction in instructions:
                count = len(re.findall(re.escape(instruction) + r"\b", text))
                table[key[0], kind(key[1])][2] += count
                if count == 0:
                    problems.append(f"{key}: no {instruction}")
    for (architecture, name), (count, registers, wide) in sorted(table.items()):
        print(f"{architecture}  {name:28} {count:3} kernels  at most {registers:3} registers  {wide:4} moves of 128 bits")
    if not table:
        problems.append(f"no kernels in {library}")
    for problem in problems:
        print(f"check_kernels: {problem}", file=sys.stderr)
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
