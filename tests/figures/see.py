#!/usr/bin/env python3
"""The figures of seeing: tests/figures/see.py BUILD_FOLDER [ROW ...]"""
import glob
import os
import re
import tempfile

import many_pictures
import rows


def told(f, pattern, text):
    """The number that tests of explaining print behind `text`, or None where one failed."""
    output, passed = f.tests("test_explain", pattern)
    found = re.search(text + r" (\S+)", output)
    return float(found[1]) if passed and found else None


def row_cams(f):
    smallest = told(f, "GoldenMaps.class_activation*", "smallest correlation")
    f.line("Grad-CAM, Grad-CAM++, HiRes-CAM against pytorch-grad-cam: Lite0, three photographs, two classes each, three layers",
           f"smallest correlation {smallest}", "0.999", smallest is not None and smallest >= 0.999)
    furthest = told(f, "GoldenMaps.integrated*", "furthest sum")
    f.line("integrated gradients against captum, the same, sums over 8 x 8 pixels", f"{furthest} relative", "1e-3",
           furthest is not None and furthest <= 1e-3)


def row_memory(f, count=1000, warm=100):
    with tempfile.TemporaryDirectory() as folder:
        sources = sorted(glob.glob(os.path.join(rows.root, "tests", "photos", "*.jpg")))
        pictures = os.path.join(folder, "pictures")
        os.makedirs(pictures)
        for i in range(count):
            os.symlink(sources[i % len(sources)], os.path.join(pictures, f"{i:04}.jpg"))
        run = many_pictures.WatchedRun((f.gaze, "overlay", pictures, "--out", os.path.join(folder, "out"), "--maps", "cross,cbam,gradcam",
                                        "--format", "html", "--beam", "1"),
                                       os.path.join(folder, "printed"), os.path.join(folder, "errors"), printed=True)
        before, after = run.most_memory(warm // 2, warm), run.most_memory(warm)
        f.line(f"{count:,} pictures, most resident memory after the first {warm}, above the most before", f"{after - before:.1f} MB above {before:.0f} MB, "
               f"{run.lines:,} pictures, {run.seconds:.0f} s", "20 MB", after - before < 20 and run.lines == count and run.status == 0)


if __name__ == "__main__":
    rows.main({"cams": row_cams, "memory": row_memory})
