#!/usr/bin/env bash
# misuse_test.sh WORKSPACE: what a compiler can see to be wrong is an error
# that says what to do. Compiles misuse.txt, where each mistake stands below
# the words that are to come out.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$1")")"

snippets=ray_integration/api/misuse.txt
said=$(g++ -std=c++20 -fsyntax-only -fno-diagnostics-show-caret -I. \
  -x c++ "$snippets" 2>&1) && {
  echo "$snippets compiles"
  exit 1
}

failures=0 expected=0
while IFS= read -r words; do
  expected=$((expected + 1))
  grep -qF -- "static assertion failed: $words" <<<"$said" || {
    echo "the compiler does not say: $words"
    failures=$((failures + 1))
  }
done < <(sed -n 's,^ *// EXPECT: ,,p' "$snippets")
((expected)) || {
  echo "$snippets expects nothing"
  exit 1
}
((failures == 0)) || echo "$said"
echo "$expected messages expected, $failures of them missing"
exit "$((failures > 0))"
