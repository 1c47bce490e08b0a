"""Times, one JSON line each as soon as it is known, within a part's seconds."""

import json
import statistics
import sys
import time

WARM_UPS = 5
RUNS = 20
# What takes longer than this many seconds is run less often.
SLOW = 0.5
FEW_WARM_UPS = 2
FEW_RUNS = 10
# Fewer do not make a median.
LEAST_RUNS = 5
BEGAN = time.monotonic()


class OutOfTime(Exception):
    """The part's seconds are spent."""


class Part:
    """A part of the measurements: `python PART.py SECONDS FILE EXPORTED...`."""

    def __init__(self):
        seconds, file, *self.folders = sys.argv[1:]
        self.deadline = BEGAN + float(seconds)
        self.file = open(file, "a", encoding="utf-8")

    def left(self):
        return self.deadline - time.monotonic()

    def write(self, setting, what, **found):
        line = json.dumps({"setting": setting.name, "shape": setting.shape(), "what": what} | found)
        print(line, file=self.file, flush=True)
        print(line, flush=True)

    def measure(self, setting, what, check, make, timed):
        """Checks, makes what is to be timed, times it, and writes the line; failures are lines, too.

        `check()` gives what the line says of it; `make()` gives work(i); `timed(work)` its seconds.
        """
        try:
            if self.left() < 2:
                raise OutOfTime
            begin = time.monotonic()
            checked = check()
            work = make()
            ready = time.monotonic() - begin
            runs = self.runs(work, timed)
            low, median, high = statistics.quantiles(runs, n=4, method="inclusive")
            ms = {"ms": 1e3 * median, "quartiles": [1e3 * low, 1e3 * high], "runs": len(runs)}
            self.write(setting, what, **ms, ready_seconds=round(ready, 2), **checked)
        except OutOfTime:
            self.write(setting, what, error="out of time")
        except Exception as error:  # One that fails must not take the others with it.
            self.write(setting, what, error=f"{type(error).__name__}: {error}"[:300])

    def runs(self, work, timed):
        first = timed(lambda: work(0))
        slow = min(first, timed(lambda: work(1))) > SLOW
        warm_ups, runs = (FEW_WARM_UPS, FEW_RUNS) if slow else (WARM_UPS, RUNS)
        for i in range(2, warm_ups):
            timed(lambda: work(i))
        found = []
        while len(found) < runs and self.left() > 0:
            found.append(timed(lambda: work(len(found))))
        if len(found) < LEAST_RUNS:
            raise OutOfTime
        return found


def checked(found):
    """What a line says of a check."""
    loss, gradient, tensor = found
    return {"loss_error": loss, "gradient_error": gradient, "tensor": tensor}
