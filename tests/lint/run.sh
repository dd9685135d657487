#!/bin/bash
# The lint leg: clang-format on everything, clang-tidy on what has changed since it last passed, the tests of the tree.
# Must not change any file of the source tree.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t sources < <(git ls-files '*.cc' '*.h' '*.c' 2>/dev/null || find trace counters plugin interpose tools tests -name '*.cc' -o -name '*.h' -o -name '*.c')

echo "clang-format: ${#sources[@]} files"
clang-format --dry-run --Werror "${sources[@]}"

for check in layers docs style; do python3 "tests/lint/${check}_test.py" "$PWD"; done

cmake --preset tidy -DCMAKE_CXX_CLANG_TIDY= >/dev/null
mapfile -t units < <(printf '%s\n' "${sources[@]}" | grep -E '^(trace|counters|plugin|interpose|tools)/.*\.cc$')
echo "clang-tidy: ${#units[@]} files"
printf '%s\n' "${units[@]}" | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p build/tidy 2>/dev/null
echo "lint: ${#sources[@]} passed, 0 failed"
