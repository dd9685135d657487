#!/bin/bash
# Takes a fresh Debian 12 (root, or a user with sudo) to a working chokepoint: installs packages, builds, does one job.
# Must not touch anything outside the source folder, except by the package manager.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'END'
usage: tools/setup.sh COMMAND
  demo [CASE] [ARGS]   build, then run a real NCCL job without a GPU, recorded and reported ('demo late-rank' slows one rank)
  build                build only; the command is then build/release/bin/chokepoint
  test [LEG...]        run the tests; LEGs: gcc asan tsan lint (default: these four, in this order) and tidy
  bench                ratios of the recorder's and the reader's cost (docs/overhead.md)
  fuzz [SECONDS]       fuzz the trace reader (default 60)
  nccl-matrix          the plugin under every NCCL version that runs without a GPU (downloads about 2 GB)
END
}

# ---- Packages: the only list. ----
build_packages=(g++ cmake ninja-build git ca-certificates libcli11-dev libfmt-dev nlohmann-json3-dev libspdlog-dev libxxhash-dev)
run_packages=(python3 python3-pip)  # find or download NCCL
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev binutils strace iproute2 nftables util-linux)
clang_packages=(clang libclang-rt-14-dev clang-format clang-tidy)

install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "setup.sh: needs root or sudo to install: ${missing[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  echo "setup.sh: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q >/dev/null
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null
}

build() {  # PRESET [TARGETS]
  local preset=$1
  shift
  mkdir -p "build/$preset"
  cmake --preset "$preset" >"build/$preset/configure.log" 2>&1 || { tail -n 40 "build/$preset/configure.log" >&2; exit 1; }
  grep -E 'chokepoint: ' "build/$preset/configure.log" || true
  ninja -C "build/$preset" -j "$(nproc)" "$@" >"build/$preset/build.log" 2>&1 || { tail -n 60 "build/$preset/build.log" >&2; exit 1; }
}

run_ctest() {  # PRESET [CTEST OPTIONS]
  local preset=$1
  shift
  # Some tests measure a machine that others use too: a failed one is tried once more, and both outputs are shown.
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error --timeout 300 --repeat until-pass:2 "$@"
}

# ---- Legs of the test command. ----
leg_gcc() { build release && run_ctest release; }
leg_asan() { build asan && run_ctest asan; }
# Threads are what this leg is about: the reader has none, and damaging it at every byte takes long here.
leg_tsan() {
  build tsan trace_test plugin_unit_test plugin_script_test sanitizer_faulty
  run_ctest tsan -L 'trace|plugin|sanitizer' -LE e2e -E '^(Docs|Golden|Reader)\.|ForgedRing'
}
leg_lint() { tests/lint/run.sh; }
leg_tidy() { tests/lint/tidy.sh; }

run_tests() {
  install_packages "${build_packages[@]}" "${run_packages[@]}" "${test_packages[@]}" "${clang_packages[@]}"
  local leg
  for leg in "${@:-all}"; do
    case $leg in
      all) run_tests gcc asan tsan lint ;;
      gcc|asan|tsan|lint|tidy) echo "== test leg: $leg =="; "leg_$leg" ;;
      *) echo "setup.sh: no test leg '$leg'" >&2; usage >&2; exit 2 ;;
    esac
  done
}

command=${1:-help}
[ $# -gt 0 ] && shift
case $command in
  demo)
    install_packages "${build_packages[@]}" "${run_packages[@]}"
    build demo
    build/demo/bin/chokepoint demo "$@"
    ;;
  build)
    install_packages "${build_packages[@]}" "${run_packages[@]}" "${test_packages[@]}"
    build release
    ;;
  test) run_tests "$@" ;;
  bench)
    install_packages "${build_packages[@]}" "${run_packages[@]}" "${test_packages[@]}"
    build release
    tests/bench/run.sh build/release
    ;;
  fuzz)
    install_packages "${build_packages[@]}" "${run_packages[@]}" "${test_packages[@]}" "${clang_packages[@]}"
    build fuzz
    tests/fuzz/run.sh build/fuzz "${1:-60}"
    ;;
  nccl-matrix)
    install_packages "${build_packages[@]}" "${run_packages[@]}" "${test_packages[@]}"
    build release
    tests/softgpu/nccl_matrix.sh build/release
    ;;
  help|-h|--help) usage ;;
  *) echo "setup.sh: no command '$command'" >&2; usage >&2; exit 2 ;;
esac
