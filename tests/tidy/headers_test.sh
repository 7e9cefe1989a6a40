#!/usr/bin/env bash
# headers_test.sh WORKSPACE: each header compiles alone, so that whoever
# includes it needs nothing before it.
#
# A header whose .cc or _test.cc includes it first, as the tidy test asks, is
# seen to by the build; the others are compiled here.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$1")")"

has_source() { [[ -e ${1%.h}.cc || -e ${1%.h}_test.cc ]]; }
compiles_alone() {
  g++ -std=c++20 -fsyntax-only -I. -x c++ - <<<"#include \"$1\"" || {
    echo "$1 does not compile alone: include in it what it uses"
    return 1
  }
}

mapfile -t headers < <(git -c safe.directory='*' ls-files '*.h' 2>/dev/null ||
  find hoplite tests -name '*.h')
((${#headers[@]})) || {
  echo 'no header is here'
  exit 1
}
failures=0 compiled=0
for header in "${headers[@]}"; do
  # Generated headers, and Bazel's own, are in Bazel's folders only.
  if ! has_source "$header" && [[ -e $header ]] &&
    ! grep -qE '^#include.*(\.pb\.h|wire/codec\.h|tools/cpp/)' -- "$header"
  then
    compiled=$((compiled + 1))
    compiles_alone "$header" || failures=$((failures + 1))
  fi
done
echo "${#headers[@]} headers, $compiled of them compiled here," \
  "$failures do not compile"
exit "$((failures > 0))"
