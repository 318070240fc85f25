#!/usr/bin/env python3
"""The figures of captioning: tests/figures/captioning.py BUILD_FOLDER [ROW ...]"""
import json
import os

import rows

ORACLE = os.path.join(rows.root, ".venv-oracle", "bin", "python")  # ./dev figures captioning makes it


def row_wordpiece(f):
    result = f.run(ORACLE, os.path.join(rows.root, "tests", "figures", "compare_wordpiece.py"), f.program("print_ids"))
    if result.returncode:
        f.line("WordPiece", result.stderr[-300:], "exit 0", False)
        return
    measured = json.loads(result.stdout)
    f.line(f"WordPiece against the original, BERT's uncased vocabulary, {measured['lines']:,} lines, {len(measured['scripts'])} scripts: equal ids",
           f"{measured['equal']:,} lines, encoded in {measured['seconds']:.2f} s", "all of 10,000 lines, at least 5 scripts, 1 s",
           measured["equal"] == measured["lines"] >= 10_000 and len(measured["scripts"]) >= 5 and measured["seconds"] <= 1)


if __name__ == "__main__":
    rows.main({"wordpiece": row_wordpiece})
