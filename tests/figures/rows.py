"""What the figures of a set are made of: one function a row, each printing name, measured, limit, met or not.

A set is a program: it hands its row functions to main(), which takes BUILD_FOLDER [ROW ...] from the command line.
"""
import os
import re
import subprocess
import sys

root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Figures:
    def __init__(self, build):
        self.build = os.path.join(root, build)
        self.gaze = self.program("gaze")
        self.met_all = True
        self.features = re.search(r"CPU (.*)", self.run(self.gaze, "--version").stdout).group(1)

    def program(self, name):
        return os.path.join(self.build, "bin", name)

    def run(self, *command, **options):
        return subprocess.run(command, capture_output=True, text=True, **options)

    def line(self, name, measured, limit, met):
        self.met_all = self.met_all and met
        print(f"{name}: {measured} (limit {limit}) [{self.features}] {'met' if met else 'NOT MET'}", flush=True)

    def tests(self, program, pattern):
        """Runs the tests of a program that match; returns their output, and whether all passed and there was at least one."""
        if not os.path.exists(self.program(program)):
            return f"{program} is not built", False
        result = self.run(self.program(program), f"--gtest_filter={pattern}")
        count = re.search(r"\[  PASSED  \] (\d+) test", result.stdout)
        return result.stdout, result.returncode == 0 and count is not None and int(count.group(1)) > 0


def main(rows):
    """Measures the rows (name -> function of Figures) that the command line names, or all."""
    if len(sys.argv) < 2:
        sys.exit(f"usage: {os.path.relpath(sys.argv[0])} BUILD_FOLDER [ROW ...]     rows: {' '.join(rows)}")
    chosen = sys.argv[2:] or list(rows)
    unknown = [row for row in chosen if row not in rows]
    if unknown:
        sys.exit(f"unknown row {unknown[0]}; there are {' '.join(rows)}")
    figures = Figures(sys.argv[1])
    for row in chosen:
        rows[row](figures)
    sys.exit(0 if figures.met_all else 1)
