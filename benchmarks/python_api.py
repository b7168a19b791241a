"""The evaluation from Python, a whole process: ``python -m benchmarks.python_api LISTS TRUTH CATALOGUE``."""

from __future__ import annotations

import sys

import recdash

if __name__ == "__main__":
    lists, truth, catalogue = sys.argv[1:]
    print(len(recdash.evaluate({"us": lists}, truth, catalogue=catalogue).table()))
