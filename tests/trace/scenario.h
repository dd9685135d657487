// Runs the recorder in a child process with an environment of its own, and reads what it left
// behind. Must not let one test's recorder reach another: one process, one recorder.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trace/reader.h"
#include "trace/recorder.h"

namespace chokepoint::tests {

namespace fs = std::filesystem;

// A numbered record: `ticks` is the number, `communicator` the thread.
inline trace::CommunicatorEnd Numbered(std::uint64_t number, std::uint32_t thread = 0) {
  trace::CommunicatorEnd event;
  event.communicator = thread;
  event.ticks = number;
  return event;
}

class Scenario : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::temp_directory_path() /
            ("chokepoint-test-" + std::to_string(getpid()) + "-" + test->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
    shm_ = "/dev/shm/chokepoint-test-" + std::to_string(getpid()) + "-" + test->name();
    fs::create_directories(shm_);
    Set("CHOKEPOINT_DIR", traces());
    Set("CHOKEPOINT_SHM_DIR", shm_);
    setenv("CHOKEPOINT_SHM_DIR", shm_.c_str(), 1);  // for the reader's side
  }
  void TearDown() override {
    std::error_code error;
    fs::remove_all(root_, error);
    fs::remove_all(shm_, error);
    unsetenv("CHOKEPOINT_SHM_DIR");
  }

  void Set(const std::string& name, const std::string& value) { environment_[name] = value; }
  std::string traces() const { return (root_ / "traces").string(); }

  // Starts `body` in a child; its result is the exit status.
  pid_t Spawn(const std::function<int()>& body) {
    const pid_t pid = fork();
    if (pid == 0) {
      for (const auto& [name, value] : environment_) setenv(name.c_str(), value.c_str(), 1);
      _exit(body());
    }
    return pid;
  }
  static int Wait(pid_t pid) {
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int Run(const std::function<int()>& body) { return Wait(Spawn(body)); }

  static trace::RecorderOptions SmallRings() {
    trace::RecorderOptions options;
    options.ring_bytes = 64 * 1024;
    options.max_rings = 8;
    options.board_slots = 64;
    options.names_bytes = 64 * 1024;
    return options;
  }
  static bool Begin(const trace::RecorderOptions& options) {
    return trace::Configure(options) && trace::Start(-1, -1);
  }

  std::vector<std::string> Files(const std::string& extension) const {
    std::vector<std::string> files;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(root_, error)) {
      if (entry.path().extension() == extension) files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  std::string OnlyFile() const {
    const auto files = Files(".cpt");
    EXPECT_EQ(files.size(), 1u);
    return files.empty() ? std::string() : files[0];
  }

  struct Contents {
    std::unique_ptr<trace::TraceFile> file;
    trace::ReadResult result;
    std::map<std::uint32_t, std::vector<std::uint64_t>> numbers;  // by thread, of Numbered records
    std::map<std::uint32_t, std::vector<std::uint32_t>> linux_threads;
    std::map<trace::LossReason, std::uint64_t> lost;
    std::vector<trace::ClockSample> clocks;
    std::vector<trace::Cost> costs;
    std::vector<trace::Collective> open;
    std::uint64_t lost_bytes_of_records = 0;
    std::uint64_t count() const {
      std::uint64_t sum = 0;
      for (const auto& [thread, list] : numbers) sum += list.size();
      return sum;
    }
    std::uint64_t lost_in_all() const {
      std::uint64_t sum = 0;
      for (const auto& [reason, events] : lost) sum += events;
      return sum;
    }
  };
  static Contents Read(const std::string& path, bool with_ring = false) {
    Contents contents;
    const trace::Status status = trace::TraceFile::Open(path, &contents.file);
    EXPECT_TRUE(status.ok()) << status.message();
    if (!status.ok()) return contents;
    const std::string ring = with_ring ? trace::RingFileOf(path) : std::string();
    if (!ring.empty()) {
      const trace::Status attached = contents.file->AttachRing(ring);
      EXPECT_TRUE(attached.ok()) << attached.message();
    }
    contents.result = contents.file->Read([&](const trace::EventView& view) {
      trace::CommunicatorEnd numbered;
      trace::Loss loss;
      trace::ClockSample clock;
      trace::Cost cost;
      trace::Collective collective;
      if (contents.file->Decode(view, &numbered)) {
        contents.numbers[numbered.communicator].push_back(numbered.ticks);
        contents.linux_threads[numbered.communicator].push_back(view.thread);
      } else if (contents.file->Decode(view, &loss)) {
        contents.lost[static_cast<trace::LossReason>(loss.reason)] += loss.events;
        contents.lost_bytes_of_records += loss.bytes;
      } else if (contents.file->Decode(view, &clock)) {
        contents.clocks.push_back(clock);
      } else if (contents.file->Decode(view, &cost)) {
        contents.costs.push_back(cost);
      } else if (view.snapshot && contents.file->Decode(view, &collective)) {
        contents.open.push_back(collective);
      }
    });
    EXPECT_EQ(contents.result.file_bytes, contents.result.read_bytes + contents.result.lost_bytes);
    return contents;
  }

  fs::path root_;
  std::string shm_;
  std::map<std::string, std::string> environment_;
};

inline void ExpectSequence(const std::vector<std::uint64_t>& numbers, std::uint64_t count) {
  ASSERT_EQ(numbers.size(), count);
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(numbers[i], i);
}

}  // namespace chokepoint::tests
