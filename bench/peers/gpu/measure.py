"""Times, one JSON line each as soon as it is known, within a part's seconds."""

import json
import statistics
import sys
import time

WARM_UPS = 5
RUNS = 20
# What takes longer than this many seconds is run only so often.
SLOW = 0.5
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
        warm = [timed(lambda: work(i)) for i in range(WARM_UPS) if self.left() > 0 or self.stop()]
        runs = []
        for i in range(RUNS if min(warm) <= SLOW else FEW_RUNS):
            if self.left() <= 0:
                break
            runs.append(timed(lambda: work(i)))
        return runs if len(runs) >= LEAST_RUNS else self.stop()

    def stop(self):
        raise OutOfTime


def checked(found):
    """What a line says of a check."""
    loss, gradient, tensor = found
    return {"loss_error": loss, "gradient_error": gradient, "tensor": tensor}
