#!/usr/bin/env bash
# ci_test.sh RUN: .ci/run counts what happened, whatever happened. Bazel,
# clang-format, git and timeout are played by stand-ins.
#
# The text of a stand-in is its own to expand:
# shellcheck disable=SC2016
set -euo pipefail
run=$(readlink -f -- "$1")
readonly run

failures=0
checkout=$(mktemp -d)
trap 'rm -rf -- "$checkout"' EXIT
mkdir -p "$checkout/.ci" "$checkout/bin"
cp -- "$run" "$checkout/.ci/run"

stand_in() {
  printf '#!/bin/bash\n%s\n' "$2" >"$checkout/$1"
  chmod +x "$checkout/$1"
}

# A checkout in which all is well: each test run has two tests.
all_well() {
  stand_in bin/git 'echo a.cc'
  stand_in bin/clang-format ':'
  stand_in bin/timeout 'shift 3; exec "$@"'
  stand_in bazelw '
    test_in() { # test_in CONFIGURATION STATUS...
      for word in "${words[@]}"; do
        [[ $word != --build_event_json_file=* ]] || file=${word#*=}
      done
      for status in "${@:2}"; do
        echo "{\"testSummary\":{\"overallStatus\":\"$status\"}}" >>"$file"
      done
    }
    words=("$@")
    configuration=plain
    [[ " $* " != *" --config=tsan "* ]] || configuration=tsan
    [[ " $* " != *" --config=asan "* ]] || configuration=asan
    [[ $1 != build ]] || configuration=clang
    [[ $1 != query ]] || configuration=query
    [[ ! -f special_$configuration ]] || { . ./special_$configuration; }
    [[ $1 != test ]] || test_in "$configuration" PASSED FLAKY'
  rm -f "$checkout"/special_*
}

# In one kind of call, bazel does something else: special tsan 'exit 1'.
special() { printf '%s\n' "$2" >"$checkout/special_$1"; }

expect() { # expect WHAT LAST_LINE STATUS
  local status=0 output last
  output=$(PATH=$checkout/bin:/usr/bin:/bin "$checkout/.ci/run" 2>&1) ||
    status=$?
  last=${output##*$'\n'}
  if [[ $last != "$2" || $status != "$3" ]]; then
    printf 'FAILED: %s\n  expected: %s (%s)\n  found: %s (%s)\n%s\n' \
      "$1" "$2" "$3" "$last" "$status" "$output"
    failures=$((failures + 1))
  fi
}

all_well
expect 'all is well' '6 passed, 0 failed' 0

special plain 'test_in plain PASSED FAILED TIMEOUT; exit 3'
expect 'failed tests are counted' '5 passed, 2 failed' 1

special plain 'test_in plain PASSED; exit 1'
expect 'a target that does not build is a failure' '5 passed, 1 failed' 1

special plain 'test_in plain PASSED FAILED; exit 1'
expect 'and so it is beside a failed test' '5 passed, 2 failed' 1

special plain 'exit 3'
expect 'a failed run without a named test is a failure' '4 passed, 1 failed' 1

all_well
special tsan 'exit 4'
expect 'a run without tests is none' '4 passed, 0 failed' 0

all_well
special clang 'exit 1'
expect 'warnings of clang are a failure' '6 passed, 1 failed' 1

all_well
special query '[[ $* != *somepath* ]] || echo //hoplite/core:node'
expect 'a path from core to what acts is a failure' '6 passed, 1 failed' 1

special query 'exit 7'
expect 'without Bazel there is nothing' '0 passed, 1 failed' 1

all_well
stand_in bin/clang-format 'exit 1'
expect 'bad format is a failure' '6 passed, 1 failed' 1

all_well
stand_in bin/git 'exit 128'
expect 'no file to check is a failure' '6 passed, 1 failed' 1

all_well
stand_in bin/timeout 'shift 3; [[ $* != *tsan* ]] || exit 124; exec "$@"'
expect 'a sanitizer run is cut where the time ends' '4 passed, 0 failed' 0

all_well
stand_in bin/timeout 'shift 3; [[ $* != *somepath* ]] || exec "$@"; exit 124'
expect 'other stages are failures when not done in time' \
  '0 passed, 4 failed' 1

echo "$failures failed"
exit "$((failures > 0))"
