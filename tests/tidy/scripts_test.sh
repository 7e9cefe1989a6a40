#!/usr/bin/env bash
# scripts_test.sh WORKSPACE: shellcheck has nothing to say about the project's
# shell scripts, and each of them may be executed.
set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$1")")"

mapfile -t scripts < <(
  grep -rlIE --exclude-dir=.git '^#!.*\b(ba)?sh$' bazelw .ci hoplite tests \
    apps experiments plots ray_integration)
failures=0
for script in "${scripts[@]}"; do
  shellcheck -- "$script" || failures=$((failures + 1))
  [[ -x $script ]] || {
    echo "$script is not executable: chmod +x"
    failures=$((failures + 1))
  }
done
echo "${#scripts[@]} scripts, $failures to mend"
exit "$((failures > 0 || ${#scripts[@]} < 2))"
