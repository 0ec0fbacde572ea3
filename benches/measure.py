"""Runs a command and prints its CPU seconds, wall seconds, peak bytes and failure as JSON.

A process of its own, and a small one: on Linux a child's peak memory counts what its parent held when it was started."""
import json
import os
import subprocess
import sys
import time

started = time.monotonic()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
message = process.stderr.read()
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
failure = None if process.returncode == 0 else message.decode(errors="replace").strip().splitlines()[-1:]
json.dump([usage.ru_utime + usage.ru_stime, time.monotonic() - started, usage.ru_maxrss * 1024, failure], sys.stdout)
