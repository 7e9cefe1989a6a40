#!/usr/bin/env bash
# install_ray.sh VERSION FOLDER: Ray of that version from PyPI in FOLDER/venv,
# and ray_calls.cc, compiled against its headers, as FOLDER/ray_calls and
# FOLDER/ray_calls.so. What is there already is left as it is.
set -euo pipefail
readonly version=$1 folder=$2
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
readonly here

mkdir -p -- "$folder"
# Two benchmarks may begin at the same time.
exec {lock}>"$folder/lock"
flock "$lock"

if [[ ! -e $folder/installed ]]; then
  echo "installing Ray $version (95 MB) into $folder" >&2
  rm -rf -- "$folder/venv"
  /usr/bin/python3 -m venv "$folder/venv" >&2
  "$folder/venv/bin/python" -m pip install --quiet \
    --disable-pip-version-check "ray[cpp]==$version" >&2
  touch -- "$folder/installed"
fi

readonly sources=("$here/ray_calls.cc" "$here/call_figures.h")
sum=$(cat -- "${sources[@]}" | sha256sum)
if [[ ! -e $folder/compiled || $(<"$folder/compiled") != "$sum" ]]; then
  echo "compiling ray_calls.cc against Ray's headers" >&2
  ray=$("$folder/venv/bin/python" -c \
    'import ray, os; print(os.path.join(os.path.dirname(ray.__file__), "cpp"))')
  link=("-L$ray/lib" -lray_api "-Wl,-rpath,$ray/lib")
  # Ray's own library is built with the old form of std::string.
  g++ -std=c++17 -O3 -fPIC -w -D_GLIBCXX_USE_CXX11_ABI=0 \
    "-I$ray/include" "-I$here/../.." \
    -c "$here/ray_calls.cc" -o "$folder/ray_calls.o"
  # The driver, and what Ray's workers load: they take a library only where it
  # is linked with Ray's.
  g++ "$folder/ray_calls.o" -o "$folder/ray_calls" "${link[@]}"
  g++ -shared "$folder/ray_calls.o" -o "$folder/ray_calls.so" "${link[@]}"
  printf '%s\n' "$sum" >"$folder/compiled"
fi
