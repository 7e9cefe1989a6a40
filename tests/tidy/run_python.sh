#!/usr/bin/env bash
# Runs a Python program under the system's interpreter (Bazel's own rules take
# whatever `python` is on PATH, and under the strict environment none is).
set -euo pipefail
exec /usr/bin/python3 -B "$@"
