"""Runs scripts one after the other in one process, as `python` would, so that PyTorch is imported only
once: SCRIPT WORD... -- SCRIPT WORD..."""
import runpy
import sys

words = [[]]
for word in sys.argv[1:]:
    words[-1].append(word) if word != "--" else words.append([])
for script in words:
    sys.argv = script
    runpy.run_path(script[0], run_name="__main__")
