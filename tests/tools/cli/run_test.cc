// chokepoint run: the job runs as if started directly, under the recorder's environment.
// Must not need NCCL: what is recorded is tested in tests/e2e.
#include <gtest/gtest.h>

#include "tests/tools/scratch.h"

namespace chokepoint::tests {
namespace {

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Run, ExitStatusIsTheJobs) {
  const Scratch scratch;
  EXPECT_EQ(scratch.Run("$CHOKEPOINT run -- true").status, 0);
  EXPECT_EQ(scratch.Run("$CHOKEPOINT run -- sh -c 'exit 42'").status, 42);
  EXPECT_EQ(scratch.Run("$CHOKEPOINT run -- sh -c 'kill -9 $$'").status, 137);
  EXPECT_EQ(scratch.Run("$CHOKEPOINT run -- sh -c 'kill -TERM $$'").status, 143);
}

TEST(Run, WhatCannotBeStarted) {
  const Scratch scratch;
  const CommandResult missing = scratch.Run("$CHOKEPOINT run -- ./nothing-here");
  EXPECT_EQ(missing.status, 127);
  EXPECT_TRUE(
      Has(missing.err, "chokepoint: ./nothing-here: cannot be started: No such file or directory"))
      << missing.err;
  scratch.Write("plain", "text");
  EXPECT_EQ(scratch.Run("$CHOKEPOINT run -- ./plain").status, 126);
  EXPECT_EQ(scratch.Run("$CHOKEPOINT run").status, 2);
  EXPECT_EQ(scratch.Run("$CHOKEPOINT run --").status, 2);
}

TEST(Run, OutputAndArgumentsAreTheJobs) {
  const Scratch scratch;
  const CommandResult result = scratch.Run(
      "echo input | $CHOKEPOINT run --out t -- sh -c 'cat; echo out; echo err >&2; for a; do echo "
      "\"[$a]\"; done' x "
      "--out '' -- '*'");
  EXPECT_EQ(result.out, "input\nout\n[--out]\n[]\n[--]\n[*]\n");
  EXPECT_TRUE(Has(result.err, "err\n")) << result.err;
}

TEST(Run, TheDashesAreOptional) {
  const Scratch scratch;
  EXPECT_EQ(scratch.Run("$CHOKEPOINT run --out t echo --format json").out, "--format json\n");
}

TEST(Run, EnvironmentOfTheRecorder) {
  const Scratch scratch;
  const CommandResult result = scratch.Run(
      "NCCL_NET_PLUGIN=ofi LD_LIBRARY_PATH=/theirs $CHOKEPOINT run --no-io --out t -- "
      "sh -c 'echo $CHOKEPOINT_DIR; echo $NCCL_NET_PLUGIN; echo $NCCL_PROFILER_PLUGIN; echo "
      "$LD_LIBRARY_PATH; echo p$LD_PRELOAD'");
  std::istringstream lines(result.out);
  std::string directory, net, profiler, path, preload;
  lines >> directory >> net;
  EXPECT_EQ(directory, std::filesystem::canonical(scratch.path() + "/t").string());
  EXPECT_EQ(net, "ofi");
  if (Has(result.err, "is not beside this command")) GTEST_SKIP() << "the plugin is not built";
  lines >> profiler >> path >> preload;
  EXPECT_EQ(profiler, "libnccl-profiler-chokepoint.so");
  EXPECT_TRUE(path.ends_with(":/theirs")) << path;
  EXPECT_TRUE(
      std::filesystem::exists(path.substr(0, path.find(':')) + "/libnccl-profiler-chokepoint.so"))
      << path;
  EXPECT_EQ(preload, "p");
}

TEST(Run, NoNcclLeavesNcclAlone) {
  const Scratch scratch;
  EXPECT_EQ(
      scratch.Run("$CHOKEPOINT run --no-nccl --no-io -- sh -c 'echo [$NCCL_PROFILER_PLUGIN]'").out,
      "[]\n");
}

TEST(Run, TheDirectory) {
  const Scratch scratch;
  EXPECT_EQ(scratch.Run("CHOKEPOINT_DIR=a/b $CHOKEPOINT run -- sh -c 'test -d \"$CHOKEPOINT_DIR\"'")
                .status,
            0);
  EXPECT_EQ(scratch.Run("stat -c %a a/b").out, "750\n");
  EXPECT_EQ(
      scratch.Run("CHOKEPOINT_DIR='x-%r' $CHOKEPOINT run -- sh -c 'basename \"$CHOKEPOINT_DIR\"'")
          .out,
      "x-%r\n");
  // A place that cannot be had does not keep the job from running.
  scratch.Write("file", "");
  const CommandResult result = scratch.Run("$CHOKEPOINT run --out file/t -- echo ran");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "ran\n");
  EXPECT_TRUE(Has(result.err, "file/t: cannot be made: ")) << result.err;
}

TEST(Run, SignalsReachTheJob) {
  const Scratch scratch;
  for (const char* signal : {"TERM", "INT", "HUP", "USR1"}) {
    // A shell starts background jobs with SIGINT ignored, which is inherited.
    const std::string line =
        std::string(
            "env --default-signal=INT $CHOKEPOINT run --out t -- sh -c 'trap \"echo got; exit "
            "7\" ") +
        signal + "; echo ready >ready; for i in $(seq 600); do sleep 0.05; done' & p=$!; " +
        "while ! test -s ready; do sleep 0.05; done; kill -" + signal +
        " $p; wait $p; s=$?; rm ready; exit $s";
    const CommandResult result = scratch.Run("(" + line + ")");
    EXPECT_EQ(result.status, 7) << signal << result.err;
    EXPECT_EQ(result.out, "got\n") << signal;
  }
}

TEST(Run, TheJobInheritsNoIgnoredSignals) {
  const Scratch scratch;
  // A pipe that nobody reads ends `yes` with SIGPIPE, as without us.
  EXPECT_EQ(
      scratch.Run("$CHOKEPOINT run --out t -- bash -c 'yes | head -n 1; echo ${PIPESTATUS[0]}'")
          .out,
      "y\n141\n");
}

TEST(Run, SaysThatNothingWasRecorded) {
  const Scratch scratch;
  const CommandResult result = scratch.Run("$CHOKEPOINT run --out t -- true");
  EXPECT_TRUE(Has(result.err, "no trace files (*.cpt) in it;")) << result.err;
}

TEST(Demo, SaysWhatIsMissing) {
  const Scratch scratch;
  const CommandResult result = scratch.Run("CHOKEPOINT_DEMO_DIR=nowhere $CHOKEPOINT demo");
  EXPECT_EQ(result.status, 5);
  EXPECT_EQ(result.err,
            "chokepoint: nowhere/softgpu-run: not there, the demo needs it; build it: bash "
            "tools/setup.sh demo\n");
  EXPECT_EQ(scratch.Run("$CHOKEPOINT demo no-such-case").status, 2);
}

}  // namespace
}  // namespace chokepoint::tests
