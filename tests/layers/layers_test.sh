#!/usr/bin/env bash
# layers_test.sh BELOW_CORE BELOW_PLANTED WHAT_ACTS...: the first file is
# empty; the second names a target of each of WHAT_ACTS.
set -euo pipefail
below_core=$1 below_planted=$2
shift 2
failures=0

if [[ -s $below_core ]]; then
  echo 'hoplite/core depends on what acts on the world. It decides and never'
  echo 'acts: return a command, and act in hoplite/runtime. It reaches:'
  cat -- "$below_core"
  echo "See the path: ./bazelw query 'somepath(//hoplite/core/..., TARGET)'"
  failures=$((failures + 1))
fi
for part in "$@"; do
  if ! grep -q -E "^${part}[/:]" -- "$below_planted"; then
    echo "the planted dependency on $part was not found"
    failures=$((failures + 1))
  fi
done
exit "$((failures > 0))"
