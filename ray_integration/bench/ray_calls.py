"""Measures Ray's tasks, actor calls and puts, as call_figures.h says.

Usage: ray_calls.py FOLDER WARM_UPS REPETITIONS BATCH CALLS [PROGRAM LIBRARY]

Runs a Ray of two processors, whose files are in FOLDER, and prints one JSON
object on a line. PROGRAM is ray_calls.cc, compiled: it then measures, through
Ray's C++ API. Ends with its input.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time

_PROCESSORS = 2
_STORE_BYTES = 256 << 20
_ANSWER = 42
_PUT_BYTES = 1024
# What else Ray would do beside the calls; and a token, which would turn on the
# checking of who calls, is not asked for.
_ENVIRONMENT = {
    'RAY_AUTH_MODE': 'disabled',
    'RAY_BACKEND_LOG_LEVEL': 'error',
    'RAY_USAGE_STATS_ENABLED': '0',
    'RAY_enable_metrics_collection': '0',
    'RAY_enable_worker_prestart': '0',
}


class RayCalls:
    """Ray's Python API, as CallSystem of call_figures.h."""

    def __init__(self, ray):
        @ray.remote
        def answer():
            return _ANSWER

        @ray.remote
        class Counter:
            """Counts its calls."""

            def __init__(self):
                self._calls = 0

            def next(self):
                """The number of calls so far."""
                self._calls += 1
                return self._calls

        self._ray = ray
        self._answer = answer
        self._actor = Counter.remote()
        self._calls = 0
        self._references = []

    def run_tasks(self, count):
        results = self._ray.get([self._answer.remote() for _ in range(count)])
        _check(all(result == _ANSWER for result in results))

    def call_actor(self, count):
        results = self._ray.get(
            [self._actor.next.remote() for _ in range(count)])
        first = self._calls + 1
        self._calls += count
        _check(results == list(range(first, first + count)))

    def put(self, values):
        self._references = [self._ray.put(value) for value in values]

    def take_back(self, values):
        _check(self._ray.get(self._references) == values)
        self._references = []


def _check(right):
    if not right:
        sys.exit('a call returned a wrong result')


def _seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _figures(system, warm_ups, repetitions, batch, calls):
    def rounds(figure):
        return statistics.median_high(
            [figure() for _ in range(warm_ups + repetitions)][warm_ups:])

    def batches(work):
        return rounds(lambda: batch / _seconds(work))

    def round_trips(work):
        return rounds(lambda: 1e6 * statistics.median_high(
            [_seconds(work) for _ in range(calls)]))

    values = [str(i).encode().ljust(_PUT_BYTES, b'x') for i in range(batch)]

    def puts():
        seconds = _seconds(lambda: system.put(values))
        system.take_back(values)
        return batch / seconds

    return {
        'system': 'ray-python',
        'tasks_per_s': round(batches(lambda: system.run_tasks(batch)), 1),
        'task_us': round(round_trips(lambda: system.run_tasks(1)), 2),
        'actor_call_us': round(round_trips(lambda: system.call_actor(1)), 2),
        'actor_calls_per_s': round(
            batches(lambda: system.call_actor(batch)), 1),
        'puts_per_s': round(rounds(puts), 1),
    }


def _end_with_input():
    """All that this starts, Ray's processes too, ends with it."""
    if os.getpgrp() != os.getpid():
        os.setpgrp()

    def wait():
        while os.read(0, 4096):
            pass
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def main():
    folder, *numbers = sys.argv[1:6]
    _end_with_input()
    os.environ.update(_ENVIRONMENT, HOME=folder)
    import ray  # it reads the environment when it is imported
    ray.init(num_cpus=_PROCESSORS, object_store_memory=_STORE_BYTES,
             include_dashboard=False, log_to_driver=False, _temp_dir=folder,
             logging_level='WARNING')
    if len(sys.argv) > 6:
        program, library = sys.argv[6:]
        address = ray.get_runtime_context().gcs_address
        code = subprocess.run([program, *numbers, address, library],
                              stdin=subprocess.DEVNULL).returncode
    else:
        print(json.dumps(_figures(RayCalls(ray), *map(int, numbers))))
        code = 0
    ray.shutdown()
    return code


if __name__ == '__main__':
    sys.exit(main())
