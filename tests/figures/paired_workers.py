"""Two or more ways to do the same work, each in a process that lives on, timed in turns.

Whatever else the machine does then hits all of them, and no process finds the caches as the start of a program leaves them.
"""
import json
import os
import statistics
import subprocess
import time

THREADS = 2
REST = 0.05  # seconds for the threads of the one that was asked last to stop waiting for work


class Worker:
    """A program that answers each line of its stdin, a JSON object, by one of its stdout; between two it sleeps on its pipe."""

    def __init__(self, *command):
        self.command = command

    def __enter__(self):
        threads = {"OMP_NUM_THREADS": str(THREADS), "MKL_NUM_THREADS": str(THREADS)}
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads})
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait()

    def ask(self, **request):
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            raise RuntimeError(f"{os.path.basename(self.command[0])} ended with exit status {self.process.wait()}")
        return json.loads(answer)


class Timing:
    """How often the first way went into the others: of the medians, and how far the rounds' own ratios spread."""

    def __init__(self, ours, theirs):
        self.ours, self.theirs = statistics.median(ours), statistics.median(theirs)
        self.ratio = self.theirs / self.ours
        low, middle, high = statistics.quantiles([b / a for a, b in zip(ours, theirs, strict=True)], n=4, method="inclusive")
        self.spread = (high - low) / middle


def alternate(ways, warm_ups=3, rounds=15):
    """The milliseconds of each round of each way, name -> function that returns them. Which goes first changes from round to round."""
    ms = {name: [] for name in ways}
    for round in range(-warm_ups, rounds):
        for name in (list(ways) if round % 2 == 0 else reversed(ways)):
            time.sleep(REST)
            taken = ways[name]()
            if round >= 0:
                ms[name].append(taken)
    return ms
