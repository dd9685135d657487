#!/bin/bash
# refuses_unusable.sh RUN LIBNCCL stripped|missing-symbol: damages a copy of the library; loading it must be refused.
# It must not touch the library itself.
run=$1 nccl=$2 damage=$3
for tool in strip objcopy python3; do
  command -v $tool >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
case $damage in
  stripped) strip -o "$scratch/libnccl.so.2" "$nccl" ;;
  missing-symbol) objcopy --strip-symbol=cudaMalloc "$nccl" "$scratch/libnccl.so.2" ;;
esac || exit 1
SOFTGPU_NCCL='' "$run" python3 -c "import ctypes; ctypes.CDLL('$scratch/libnccl.so.2')"
