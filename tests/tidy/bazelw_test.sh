#!/usr/bin/env bash
# bazelw_test.sh BAZELW PACKAGES: what bazelw does on machines of all kinds,
# played by stand-ins for dpkg-query, apt-get, sudo and bazel on its PATH.
#
# The text of a stand-in is its own to expand:
# shellcheck disable=SC2016
set -euo pipefail
bazelw=$(readlink -f -- "$1")
packages=$(readlink -f -- "$2")
readonly bazelw packages

failures=0
machine=$(mktemp -d)
trap 'rm -rf -- "$machine"' EXIT

# A machine that has every package of the list, at its floor.
new_machine() {
  rm -rf -- "${machine:?}"/*
  mkdir -p "$machine/bin" "$machine/checkout/third_party"
  cp -- "$bazelw" "$machine/checkout/"
  cp -- "$packages" "$machine/checkout/third_party/"
  awk '/^[a-z]/ { print $1, $2 "-1", "installed" }' "$packages" \
    >"$machine/installed"
  stand_in dpkg-query 'cat "$machine/installed"'
  stand_in bazel 'printf "bazel in %s:" "$PWD"; printf " <%s>" "$@"; echo'
  stand_in sleep ':'
  stand_in sudo 'exit 1'
  # Installs what it is asked for, in version 9:99; fails $machine/flaky times.
  stand_in apt-get '
    printf "apt-get %s\n" "$*" >>"$machine/calls"
    [[ ! -s $machine/flaky ]] || { sed -i 1d "$machine/flaky"; exit 100; }
    [[ " $* " == *" install "* ]] || exit 0
    for word in "$@"; do printf "%s 9:99 installed\n" "$word"; done \
      >>"$machine/installed"'
}

stand_in() {
  printf '#!/bin/bash\nmachine=%q\n%s\n' "$machine" "$2" >"$machine/bin/$1"
  chmod +x "$machine/bin/$1"
}

lacks() { sed -i "/^$1 /d" "$machine/installed"; }

# Runs bazelw; its output is in $out, what it says to people in $err, its exit
# status in $status, and apt-get's calls in $calls.
run() {
  status=0
  : >"$machine/calls"
  out=$(cd -- "${directory:-$machine/checkout}" &&
    PATH=$machine/bin:/usr/bin:/bin BAZEL=$machine/bin/bazel \
      "${as[@]}" "$machine/checkout/bazelw" "$@" 2>"$machine/err") ||
    status=$?
  err=$(<"$machine/err")
  calls=$(<"$machine/calls")
}

expect() { # expect WHAT TEXT PATTERN
  # shellcheck disable=SC2053 # the right side is a pattern
  [[ $2 == $3 ]] || {
    printf 'FAILED: %s\n  expected: %s\n  found: %s\n' "$1" "$3" "$2"
    failures=$((failures + 1))
  }
}

as=(env)
[[ $EUID == 0 ]] || as=(unshare --user --map-root-user)

new_machine
run test //... --flag='a b'
expect 'arguments are handed on' "$out" \
  "bazel in $machine/checkout: <test> <//...> <--flag=a b>"
expect 'with all there nothing is installed' "$calls$err" ''
expect 'the exit status is bazel'"'"'s' "$status" 0

directory=/ run build
expect 'from outside, as if from the top' "$out" \
  "bazel in $machine/checkout: <build>"
mkdir "$machine/checkout/inner"
directory=$machine/checkout/inner run build
expect 'from inside, where one is' "$out" \
  "bazel in $machine/checkout/inner: <build>"

stand_in bazel 'exit 37'
run test
expect 'a failure of bazel is handed back' "$status" 37

new_machine
lacks libgtest-dev
lacks 'g++'
run build
expect 'the lists are fetched first' "$calls" 'apt-get * update'$'\n''*'
expect 'what is missing is installed, and no more' "$calls" \
  '*apt-get *install -y --no-install-recommends g++ libgtest-dev'
expect 'one line says what is installed' "$err" \
  'bazelw: installing 2 packages*: g++ libgtest-dev'
expect 'then bazel runs' "$out" 'bazel in *: <build>'

new_machine
lacks clang
echo 'clang 1:13.0-55 installed' >>"$machine/installed"
run build
expect 'an older version is replaced' "$calls" '*recommends clang'

new_machine
lacks clang
echo 'clang 1:14.0~rc1 installed' >>"$machine/installed"
run build
expect 'a release candidate is older' "$calls" '*recommends clang'

new_machine
lacks clang
echo 'clang 1:14.0-55 deinstall' >>"$machine/installed"
run build
expect 'removed is not installed' "$calls" '*recommends clang'

new_machine
lacks clang
echo 'clang 1:140.0-1 installed' >>"$machine/installed"
run build
expect 'a newer version will do' "$calls" ''

new_machine
lacks clang
printf 'x\nx\n' >"$machine/flaky"
run build
expect 'a flaky mirror is asked again' "$out" 'bazel in *: <build>'
expect 'and that is said' "$err" '*attempt 2 of 4; trying again*'

new_machine
lacks clang
printf 'x\nx\nx\nx\nx\nx\n' >"$machine/flaky"
run build
expect 'a dead mirror ends in failure' "$status$out" 1
expect 'with the command that remains' "$err" \
  '*apt-get update && apt-get install -y --no-install-recommends clang'

new_machine
lacks clang
stand_in apt-get ':'
run build
expect 'an old release is named as the cause' "$err" \
  '*only an older version of: clang. *Debian 12*'

# As an ordinary user.
as=(unshare --user)
if "${as[@]}" true 2>/dev/null; then
  new_machine
  chmod -R a+rwX "$machine"
  run build
  expect 'a user who lacks nothing needs no rights' "$out" \
    'bazel in *: <build>'
  lacks clang
  run build
  expect 'who may not install is not left alone' "$err" \
    'bazelw: these packages are missing, and this user may not install*'
  expect 'but told what an administrator has to run' "$err" \
    '*run: apt-get update && apt-get install -y --no-install-recommends clang'
  expect 'and bazel does not run' "$status$out" 1
  # The stand-in drops sudo's -n, and with it acts as root would.
  stand_in sudo '[[ $1 != -n ]] || shift; exec "$@"'
  run build
  expect 'with sudo, it installs' "$calls" '*recommends clang'
  expect 'and goes on' "$out" 'bazel in *: <build>'
fi

echo "$failures failed"
exit "$((failures > 0))"
