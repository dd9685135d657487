#!/bin/bash
# The lint leg: clang-format on everything, the tests of the tree.
# Must not change any file of the source tree.
set -euo pipefail
cd "$(dirname "$0")/../.."
mapfile -t sources < <(git ls-files '*.cc' '*.h' '*.c' 2>/dev/null || find trace counters plugin interpose tools tests -name '*.cc' -o -name '*.h' -o -name '*.c')

echo "clang-format: ${#sources[@]} files"
clang-format --dry-run --Werror "${sources[@]}"

for check in layers docs style; do python3 "tests/lint/${check}_test.py" "$PWD"; done
echo "lint: ${#sources[@]} passed, 0 failed"
