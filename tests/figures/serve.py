"""What the peers of the figures have in common: a process that does one piece of work each time it is asked."""
import json
import sys
import time

import torch


def timed(work):
    """What work() gives, and the milliseconds that it took."""
    start = time.perf_counter()
    result = work()
    return result, 1e3 * (time.perf_counter() - start)


def serve(threads, answer):
    """Each line of stdin, a JSON object, is answered by one of stdout, until stdin ends."""
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)
