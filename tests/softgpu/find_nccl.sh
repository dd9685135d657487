#!/bin/sh
# find_nccl.sh [--download-into DIR]: prints the absolute path of an NCCL library that the software GPU can run.
# It must not print anything else on stdout; why a library was passed over goes to stderr. Status 1: none found.
#
# Searched in this order: NCCL_HOME, the system's library path, /usr/local/cuda, the nvidia-nccl wheels that the pythons on
# PATH have installed; then, with --download-into, the wheel named below is fetched by pip into DIR.
set -u
wheel='nvidia-nccl-cu12==2.28.9'
oldest=23 newest=30 # NCCL 2.x releases whose kernels the emulator knows

note() { echo "find_nccl: $*" >&2; }

# Prints the path and ends the search if the library at $1 can be used.
try() {
  [ -e "$1" ] || return 0
  version=$(LC_ALL=C grep -a -o -m 1 'NCCL version 2\.[0-9]*\.[0-9]*' "$1" | head -n 1)
  version=${version#NCCL version }
  minor=${version#2.}
  minor=${minor%%.*}
  if [ -z "$version" ]; then
    note "$1: passed over, it does not tell its version"
  elif [ "$minor" -lt $oldest ] || [ "$minor" -gt $newest ]; then
    note "$1: passed over, it is NCCL $version and the software GPU knows 2.$oldest to 2.$newest"
  elif ! has_symbol_table "$1"; then
    note "$1: passed over, it is stripped (no .symtab)"
  else
    readlink -f "$1"
    exit 0
  fi
}

has_symbol_table() {
  if command -v readelf >/dev/null; then
    readelf -SW "$1" 2>/dev/null | grep -q ' \.symtab '
  else
    tail -c 65536 "$1" | LC_ALL=C grep -a -q '\.symtab' # the section names stand near the end of the file
  fi
}

try_folders() {
  for folder in "$@"; do
    try "$folder/libnccl.so.2"
  done
}

search_system() {
  old_ifs=$IFS
  IFS=:
  # shellcheck disable=SC2086
  set -- ${LD_LIBRARY_PATH:-}
  IFS=$old_ifs
  try_folders "$@"
  for found in $(PATH="$PATH:/sbin:/usr/sbin" ldconfig -p 2>/dev/null | sed -n 's/.*libnccl\.so\.2 .*=> //p'); do
    try "$found"
  done
}

# Every python on PATH is asked once where it keeps its packages.
search_wheels() {
  old_ifs=$IFS
  IFS=:
  # shellcheck disable=SC2086
  set -- $PATH
  IFS=$old_ifs
  for folder in "$@"; do
    for python in "$folder"/python3 "$folder"/python "$folder"/python3.[0-9] "$folder"/python3.[0-9][0-9]; do
      [ -x "$python" ] || continue
      for package_folder in $("$python" -c 'import sys; print("\n".join(p for p in sys.path if p))' 2>/dev/null); do
        try "$package_folder/nvidia/nccl/lib/libnccl.so.2"
      done
    done
  done
}

# The unpacked library is moved into place at the end, so that an interrupted download leaves nothing that looks usable.
download() {
  try_folders "$1"
  if ! python3 -m pip --version >/dev/null 2>&1; then
    note "no usable NCCL library, and python3 has no pip to download one"
    return 1
  fi
  mkdir -p "$1" && scratch=$(mktemp -d "$1/download.XXXXXX") || return 1
  note "downloading $wheel into $1"
  if python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --timeout 30 --retries 2 \
    --dest "$scratch" "$wheel" >&2 && python3 -m zipfile -e "$scratch"/nvidia_nccl*.whl "$scratch" >&2; then
    mv "$scratch"/nvidia/nccl/lib/libnccl.so.2 "$1/libnccl.so.2"
  else
    note "no usable NCCL library, and pip could not download $wheel"
  fi
  rm -rf "$scratch"
  try_folders "$1"
}

[ -z "${NCCL_HOME:-}" ] || try_folders "$NCCL_HOME/lib" "$NCCL_HOME/lib64"
search_system
try_folders /usr/local/cuda/lib64 /usr/local/cuda/lib /usr/local/cuda/targets/*/lib
search_wheels
if [ "${1:-}" = --download-into ] && [ -n "${2:-}" ]; then
  download "$2"
else
  note "no usable NCCL library found"
fi
exit 1
