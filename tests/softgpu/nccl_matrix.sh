#!/bin/bash
# nccl_matrix.sh BUILD_FOLDER [VERSION...]: the software GPU's tests and the training job under many NCCL releases.
# Each release is fetched as a wheel by pip (0.3 GB) into BUILD_FOLDER/nccl-matrix and kept there. It must not run in CI:
# it takes minutes and downloads about 3 GB. Ends with a table; exit status 1 if a release that is supported failed.
set -u
build=$(cd "${1:?usage: nccl_matrix.sh BUILD_FOLDER [VERSION...]}" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- 2.23.4 2.24.3 2.25.1 2.26.2 2.26.5 2.27.3 2.27.7 2.28.3 2.28.9 2.29.2 2.29.7 2.30.3 2.30.7
programs=$build/tests/softgpu/programs
run=$build/demo/softgpu-run
store=$build/nccl-matrix
sockets=(NCCL_SHM_DISABLE=1 NCCL_P2P_DISABLE=1 NCCL_SOCKET_IFNAME=lo)
failed=0

# Prints the path of the release's library, downloading it if need be.
library_of() {
  local version=$1 folder=$store/$1
  if [ ! -e "$folder/libnccl.so.2" ]; then
    mkdir -p "$folder/wheel"
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --dest "$folder/wheel" \
      "nvidia-nccl-cu12==$version" >&2 && python3 -m zipfile -e "$folder"/wheel/*.whl "$folder/wheel" &&
      mv "$folder/wheel/nvidia/nccl/lib/libnccl.so.2" "$folder/libnccl.so.2"
    rm -rf "$folder/wheel"
  fi
  [ -e "$folder/libnccl.so.2" ] && echo "$folder/libnccl.so.2"
}

# check NAME PATTERN COMMAND...: one cell of the table.
check() {
  local name=$1 pattern=$2 log=$store/$version/$1.log
  shift 2
  if timeout 120 "$here/run_case.sh" 0 "$pattern" "$@" >"$log" 2>&1; then
    row+=" $(printf '%-10s' ok)"
  else
    row+=" $(printf '%-10s' FAILED)"
    failed=1
    echo "$version $name failed: $log" >&2
  fi
}

# The plugin in the training job: as many traces as ranks. What is in them is tests/e2e's business.
check_plugin() {
  local plugin=$build/plugin/libnccl-net-chokepoint.so out=$store/$version/plugin
  [ -e "$plugin" ] || { row+=" $(printf '%-10s' 'not built')"; return; }
  rm -rf "$out"
  check plugin '^4 traces$' bash -c '
    "$1" "$2" --out "$3" --steps 20 && find "$3/traces" -name "*.nccl.cpt" -size +1k | wc -l | sed "s/$/ traces/"' \
    bash "$run" "$build/demo/training_job" "$out"
}

check_version() {
  export SOFTGPU_NCCL=$1 NCCL_DEBUG=WARN
  check version "NCCL ${version%.post*}, 1 ranks" "$run" "$build/demo/training_job" --ranks 1 --nodes 1 --steps 1 \
    --out "$store/$version/version"
  check sockets 'coll: 2 ranks, 0 failed' env "${sockets[@]}" "$run" "$programs/softgpu_coll" 2
  check shm 'coll: 4 ranks, 0 failed' "$run" "$programs/softgpu_coll" 4
  check nodes 'coll: 4 ranks, 0 failed' env COLL_RANKS_PER_HOST=2 NCCL_SOCKET_IFNAME=lo "$run" "$programs/softgpu_coll" 4
  check pat 'coll: 3 ranks, 0 failed' env 'NCCL_ALGO=allgather:pat;reducescatter:pat' COLL_RANKS_PER_HOST=1 \
    "${sockets[@]}" "$run" "$programs/softgpu_coll" 3 1000
  check ll128 'coll: 4 ranks, 0 failed' env NCCL_PROTO=LL128 COLL_RANKS_PER_HOST=2 NCCL_SOCKET_IFNAME=lo \
    "$run" "$programs/softgpu_coll" 4 1000
  check threads 'a thread per GPU, 3 GPUs: 0 wrong' env SOFTGPU_DEVICES=3 "$run" "$programs/softgpu_threads" 3
  check abort 'the kernel has ended' "$run" "$programs/softgpu_abort"
  check dlopen 'ctypes default: 2 ranks, 0 failed' "$run" python3 "$here/programs/ctypes_allreduce.py" default "$1"
  check sealed 'coll: 2 ranks, 0 failed' env SOFTGPU_SEAL=1 "${sockets[@]}" "$run" "$programs/softgpu_coll" 2 1000
  check job 'truth: counts ok' python3 "$here/../jobs/truth_test.py" "$run" "$build/demo/training_job" \
    "$store/$version" counts
  check job-p2p 'truth: everything ok' python3 "$here/../jobs/truth_test.py" "$run" "$build/demo/training_job" \
    "$store/$version" everything
  NCCL_NET_PLUGIN=$build/plugin/libnccl-net-chokepoint.so CHOKEPOINT_DIR=$store/$version/plugin/traces check_plugin
}

table=$(printf '%-10s' version)
for name in version sockets shm nodes pat ll128 threads abort dlopen sealed job job-p2p plugin; do
  table+=" $(printf '%-10s' $name)"
done
for version in "$@"; do
  row=$(printf '%-10s' "$version")
  if library=$(library_of "$version"); then
    check_version "$library"
  else
    row+=" could not be downloaded"
    failed=1
  fi
  echo "$row"
  table+=$'\n'$row
done
printf '\n%s\n' "$table"
exit $failed
