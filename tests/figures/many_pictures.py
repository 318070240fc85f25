"""A folder of many pictures, some damaged, and gaze caption run over them with its memory watched. Standard library only."""
import os
import subprocess
import time

DAMAGES = (lambda jpeg: b"",
           lambda jpeg: jpeg[:len(jpeg) * 6 // 10],
           lambda jpeg: jpeg[:200],
           lambda jpeg: b"this is text\n",
           lambda jpeg: bytes(64) + jpeg[64:],
           lambda jpeg: b"\x89PNG\r\n\x1a\n")
ONE_BAD_IN = 33


def make_pictures(folder, sources, count):
    """COUNT pictures in the folder, links to the sources' copies; each 33rd is a damaged one. Returns the damaged ones' paths and all."""
    originals = folder + ".originals"
    os.makedirs(folder)
    os.makedirs(originals)
    contents, kept = [], []
    for number, source in enumerate(sources):
        with open(source, "rb") as stream:
            contents.append(stream.read())
        kept.append(os.path.join(originals, f"{number}.jpg"))
        with open(kept[-1], "wb") as stream:
            stream.write(contents[-1])
    every, bad = [], []
    for i in range(count):
        every.append(os.path.join(folder, f"{i // 1000:02}", f"{i:05}.jpg"))
        os.makedirs(os.path.dirname(every[-1]), exist_ok=True)
        if i % ONE_BAD_IN != ONE_BAD_IN // 2:
            os.link(kept[i % len(kept)], every[-1])
            continue
        damage = DAMAGES[len(bad) % len(DAMAGES)]
        bad.append(every[-1])
        with open(bad[-1], "wb") as stream:
            stream.write(damage(contents[i % len(contents)]))
    return every, bad


def resident_mb(pid):
    try:
        with open(f"/proc/{pid}/status") as stream:
            return next((int(line.split()[1]) / 1000 for line in stream if line.startswith("VmRSS:")), None)
    except OSError:
        return None


class LineCount:
    """Of a file that grows."""

    def __init__(self, path):
        self.path, self.offset, self.lines = path, 0, 0

    def update(self):
        if os.path.exists(self.path):
            with open(self.path, "rb") as stream:
                stream.seek(self.offset)
                new = stream.read()
            self.offset += len(new)
            self.lines += new.count(b"\n")
        return self.lines


class WatchedRun:
    """Runs a command that adds lines to a file, or prints them to it, until it ends or, with kill_at, until the file has so many
    lines; then it is killed."""

    def __init__(self, command, out, errors, kill_at=None, printed=False):
        count = LineCount(out)
        self.first = count.update()
        self.samples = []  # (lines this run has written, MB)
        self.seconds = -time.time()
        with open(errors, "wb") as stream, open(out if printed else os.devnull, "ab") as lines_of:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=stream, stdout=lines_of if printed else None)
        while process.poll() is None:
            lines, memory = count.update(), resident_mb(process.pid)
            if memory:
                self.samples.append((lines - self.first, memory))
            if kill_at and lines >= kill_at:
                process.kill()
                break
            time.sleep(0.02)
        self.status = process.wait()
        self.seconds += time.time()
        self.lines = count.update()
        with open(errors, encoding="utf-8") as stream:
            self.errors = stream.read()

    def most_memory(self, first, end=float("inf")):
        """The most while it had written so many lines."""
        return max((memory for written, memory in self.samples if first <= written < end), default=float("nan"))
