#!/bin/bash
# run_case.sh STATUS PATTERN COMMAND...: the command must end with STATUS and print a line that matches PATTERN.
# run_case.sh skip REASON: says why a case cannot run here (exit status 77). It must not hide any output of the command.
if [ "$1" = skip ]; then
  echo "SKIPPED: $2"
  exit 77
fi
wanted=$1 pattern=$2
shift 2
output=$("$@" 2>&1)
status=$?
printf '%s\n' "$output"
if [ "$status" != "$wanted" ]; then
  echo "FAILED: exit status $status instead of $wanted"
  exit 1
fi
if ! grep -Eq -- "$pattern" <<<"$output"; then
  echo "FAILED: nothing matches '$pattern'"
  exit 1
fi
if grep -q 'nccl_emu: not implemented' <<<"$output"; then
  echo "FAILED: the emulator skipped work"
  exit 1
fi
