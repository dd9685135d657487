// What the command says about input that is not as it should be: one clear line each, the right
// exit status, the rest is still done. Must not test readable traces: golden_test.cc does.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/job_builder.h"
#include "tests/tools/scratch.h"

namespace chokepoint::tests {
namespace {

std::size_t Lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void GoodTraces(const Scratch& scratch) {
  JobBuilder job(scratch.traces(), {.ranks = 2});
  for (int step = 0; step < 25; ++step) job.Step(step * 50_ms, 30_ms, 4_ms);
  job.End(2_s);
}

// One line about the file in the report, and everything else is reported.
void ExpectNoted(const Scratch& scratch, const std::string& file, const std::string& reason) {
  const CommandResult result = scratch.Run("$CHOKEPOINT report traces");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_NE(result.out.find("2 of 2 ranks, 50 operations"), std::string::npos) << result.out;
  std::istringstream lines(result.out);
  int about_file = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(file) == std::string::npos) continue;
    ++about_file;
    EXPECT_NE(line.find(reason), std::string::npos) << line;
  }
  EXPECT_EQ(about_file, 1) << result.out;
}

TEST(BadInput, EmptyDirectory) {
  const Scratch scratch;
  const CommandResult result = scratch.Run("$CHOKEPOINT report traces");
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(Lines(result.err), 1u) << result.err;
  EXPECT_NE(result.err.find("chokepoint: traces: no trace files (*.cpt) in it;"), std::string::npos)
      << result.err;
}

TEST(BadInput, MissingDirectory) {
  const Scratch scratch;
  const CommandResult result = scratch.Run("$CHOKEPOINT report nowhere");
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(Lines(result.err), 1u) << result.err;
  EXPECT_NE(result.err.find("chokepoint: nowhere: no such file or directory;"), std::string::npos)
      << result.err;
}

TEST(BadInput, OnlyForeignFiles) {
  const Scratch scratch;
  scratch.Write("traces/notes.txt", "hello");
  scratch.Write("traces/other.cpt", std::string(500, 'x'));
  const CommandResult result = scratch.Run("$CHOKEPOINT report traces");
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(Lines(result.err), 2u) << result.err;
  EXPECT_NE(result.err.find("traces/notes.txt: not a trace file"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("traces/other.cpt: not a trace"), std::string::npos) << result.err;
}

TEST(BadInput, ForeignFileBesideTraces) {
  const Scratch scratch;
  GoodTraces(scratch);
  scratch.Write("traces/notes.txt", "hello");
  ExpectNoted(scratch, "notes.txt", "not a trace file");
}

TEST(BadInput, ForeignTraceName) {
  const Scratch scratch;
  GoodTraces(scratch);
  scratch.Write("traces/other.cpt", std::string(500, 'x'));
  ExpectNoted(scratch, "other.cpt", "not a trace");
}

TEST(BadInput, EmptyFile) {
  const Scratch scratch;
  GoodTraces(scratch);
  scratch.Write("traces/a.cpt", "");
  ExpectNoted(scratch, "a.cpt", "empty");
}

// A directory of that name stands for what cannot be read: the permissions of files mean nothing to
// root.
TEST(BadInput, UnreadableFile) {
  const Scratch scratch;
  GoodTraces(scratch);
  std::filesystem::create_directory(scratch.traces() + "/x.cpt");
  ExpectNoted(scratch, "x.cpt", "not a regular file");
}

TEST(BadInput, FileWithoutPermission) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  const Scratch scratch;
  GoodTraces(scratch);
  scratch.Write("traces/x.cpt", "x");
  std::filesystem::permissions(scratch.traces() + "/x.cpt", std::filesystem::perms::none);
  ExpectNoted(scratch, "x.cpt", "cannot be opened: Permission denied");
}

TEST(BadInput, DanglingLink) {
  const Scratch scratch;
  GoodTraces(scratch);
  std::filesystem::create_symlink("nowhere", scratch.traces() + "/x.cpt");
  ExpectNoted(scratch, "x.cpt", "not a regular file");
}

TEST(BadInput, NewerFraming) {
  const Scratch scratch;
  GoodTraces(scratch);
  {
    TraceFileWriter file(scratch.traces() + "/newer.cpt");
    trace::FileHeader header;
    std::memcpy(&header, file.bytes().data(), sizeof(header));
    header.framing_version = 77;
    header = trace::Sealed(header);
    std::memcpy(file.bytes().data(), &header, sizeof(header));
  }
  ExpectNoted(scratch, "newer.cpt", "77");
}

TEST(BadInput, StillBeingWritten) {
  const Scratch scratch;
  {
    JobBuilder job(scratch.traces(), {.ranks = 2});
    for (int step = 0; step < 25; ++step) job.Step(step * 50_ms, 30_ms, 4_ms);
    job.Rank(0).Ends(2_s);
    job.Rank(1).Killed(2_s);  // no END, written just now
  }
  ExpectNoted(scratch, "node0-rank1-1001", "still being written");
}

TEST(BadInput, KilledProcess) {
  const Scratch scratch;
  {
    JobBuilder job(scratch.traces(), {.ranks = 2});
    for (int step = 0; step < 25; ++step) job.Step(step * 50_ms, 30_ms, 4_ms);
    job.Rank(0).Ends(2_s);
    job.Rank(1).Killed(2_s);
  }
  const CommandResult aged = scratch.Run("touch -d '1 hour ago' traces/*");
  EXPECT_EQ(aged.status, 0);
  ExpectNoted(scratch, "node0-rank1-1001", "was killed");
}

TEST(BadInput, NameWithEscapes) {
  const Scratch scratch;
  GoodTraces(scratch);
  scratch.Write("traces/a\x1b[31mred\n.txt", "x");
  const CommandResult result = scratch.Run("$CHOKEPOINT report traces");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
  EXPECT_NE(result.out.find("a\\x1b[31mred\\x0a.txt"), std::string::npos) << result.out;
}

TEST(BadInput, ClosedPipe) {
  const Scratch scratch;
  GoodTraces(scratch);
  const CommandResult result = scratch.Run(
      "{ $CHOKEPOINT dump traces/node0-rank0-1000-1.nccl.cpt; echo status $? >&2; } | head -n 1");
  EXPECT_EQ(Lines(result.out), 1u);
  EXPECT_EQ(result.err, "status 0\n");
}

TEST(BadInput, UnwritableOutput) {
  const Scratch scratch;
  GoodTraces(scratch);
  const CommandResult nowhere = scratch.Run("$CHOKEPOINT report traces -o nowhere/report.txt");
  EXPECT_EQ(nowhere.status, 4);
  EXPECT_EQ(Lines(nowhere.err), 1u);
  EXPECT_NE(nowhere.err.find("nowhere/report.txt: cannot be written: No such file or directory"),
            std::string::npos)
      << nowhere.err;
  const CommandResult full = scratch.Run("$CHOKEPOINT report traces >/dev/full");
  EXPECT_EQ(full.status, 4);
  EXPECT_NE(full.err.find("standard output: cannot be written: No space left on device"),
            std::string::npos)
      << full.err;
  const CommandResult full_file = scratch.Run("$CHOKEPOINT report traces -o /dev/full");
  EXPECT_EQ(full_file.status, 4) << full_file.err;
}

TEST(BadInput, FailedWriteLeavesTheOldReport) {
  const Scratch scratch;
  GoodTraces(scratch);
  EXPECT_EQ(scratch.Run("$CHOKEPOINT report traces -o r.txt && cp r.txt first.txt").status, 0);
  EXPECT_EQ(scratch.Run("mkdir r.txt.partial && $CHOKEPOINT report traces -o r.txt").status, 4);
  EXPECT_EQ(scratch.Run("cmp r.txt first.txt").status, 0);
}

TEST(BadInput, Usage) {
  const Scratch scratch;
  for (const char* line :
       {"$CHOKEPOINT", "$CHOKEPOINT report", "$CHOKEPOINT report traces --format pdf",
        "$CHOKEPOINT fly", "$CHOKEPOINT dump", "$CHOKEPOINT report --nonsense traces"}) {
    const CommandResult result = scratch.Run(line);
    EXPECT_EQ(result.status, 2) << line;
    EXPECT_EQ(result.out, "") << line;
    EXPECT_EQ(Lines(result.err), 1u) << result.err;
    EXPECT_EQ(result.err.rfind("chokepoint: ", 0), 0u) << result.err;
  }
}

}  // namespace
}  // namespace chokepoint::tests
