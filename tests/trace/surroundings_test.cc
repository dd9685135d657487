// Full disks, missing directories, few descriptors, closed descriptors: the process is not
// disturbed and losses are counted. Must not leave mounts behind: each lives in a namespace of the
// child.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>

#include "tests/trace/scenario.h"

namespace chokepoint::trace {
namespace {

using tests::ExpectSequence;
using tests::Numbered;
namespace fs = std::filesystem;

class Surroundings : public tests::Scenario {
 protected:
  // A tmpfs of `size` at `where`, for this process only.
  static bool MountSmall(const std::string& where, const char* size) {
    return unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tmpfs", where.c_str(), "tmpfs", 0, (std::string("size=") + size).c_str()) == 0;
  }
  static bool MayMount() {
    const pid_t child = fork();
    if (child == 0)
      _exit(unshare(CLONE_NEWNS) == 0 &&
                    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0
                ? 0
                : 1);
    return Wait(child) == 0;
  }
  static int Null() { return open("/dev/null", O_RDONLY); }
  std::uint64_t Accounted(const Contents& contents) {
    return contents.count() + contents.lost_in_all();
  }
};

// The disk fills, somebody makes room, recording goes on; the sum is exact.
TEST_F(Surroundings, FullDiskAndRoomAgain) {
  if (!MayMount()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  constexpr std::uint64_t kRecords = 50'000;
  fs::create_directories(traces());
  ASSERT_EQ(Run([this] {
              if (!MountSmall(traces(), "512k")) return 1;
              RecorderOptions options = SmallRings();
              options.ring_bytes = 1 << 20;
              if (!Begin(options)) return 2;
              for (std::uint64_t i = 0; i < kRecords; ++i) {
                if (!Emit(Numbered(i))) return 3;
                if (i % 10'000 == 9'999) Flush(10'000);
              }
              if (mount("tmpfs", traces().c_str(), "tmpfs", MS_REMOUNT, "size=16m") != 0) return 4;
              usleep(2'500'000);
              Flush(10'000);
              for (std::uint64_t i = kRecords; i < kRecords + 100; ++i) Emit(Numbered(i));
              Stop(10'000);
              fs::copy(traces(), root_ / "saved");
              return 0;
            }),
            0);
  Contents contents = Read(OnlyFile());
  EXPECT_EQ(Accounted(contents), kRecords + 100);
  EXPECT_GT(contents.lost[LossReason::kWriteFailed], 0u);
  EXPECT_EQ(contents.numbers.at(0).back(), kRecords + 99);
  EXPECT_TRUE(contents.result.ended);
  EXPECT_EQ(contents.result.lost_bytes, 0u) << "a block that did not fit leaves no damage";
}

TEST_F(Surroundings, DirectoryThatCannotBeMade) {
  const std::string leaf = "chokepoint-test-" + std::to_string(getpid());
  Set("CHOKEPOINT_DIR", "/proc/" + leaf);
  ASSERT_EQ(Run([] {
              if (!Begin(SmallRings())) return 1;
              Emit(Numbered(0));
              Stop(10'000);
              return 0;
            }),
            0);
  const std::string folder = "/tmp/chokepoint-" + std::to_string(getuid()) + "/" + leaf;
  ASSERT_TRUE(fs::exists(folder));
  for (const auto& entry : fs::directory_iterator(folder)) {
    const Contents contents = Read(entry.path().string());
    EXPECT_EQ(contents.count(), 1u);
    EXPECT_EQ(contents.file->meta("directory_refused"), "/proc/" + leaf);
    EXPECT_NE(contents.file->meta("directory_error"), "");
  }
  fs::remove_all(folder);
}

TEST_F(Surroundings, DirectoryIsMadeWithItsLetters) {
  Set("CHOKEPOINT_DIR", (root_ / "a/%u/%j-%r-%%-%x").string());
  Set("SLURM_JOB_ID", "4711");
  Set("SLURM_PROCID", "12");
  ASSERT_EQ(Run([] {
              umask(0);
              if (!Begin(SmallRings())) return 1;
              Stop(10'000);
              return 0;
            }),
            0);
  const fs::path path = OnlyFile();
  EXPECT_EQ(path.parent_path(), root_ / "a" / std::to_string(geteuid()) / "4711-12-%-%x");
  EXPECT_NE(path.filename().string().find("-rank12-"), std::string::npos);
  EXPECT_EQ(static_cast<unsigned>(fs::status(path).permissions()), 0640u);
  EXPECT_EQ(static_cast<unsigned>(fs::status(path.parent_path()).permissions()), 0750u);
  const Contents contents = Read(path);
  EXPECT_EQ(contents.file->meta("job_id"), "4711");
  EXPECT_EQ(contents.file->meta("job_id_source"), "SLURM_JOB_ID");
  EXPECT_EQ(contents.file->meta("rank"), "12");
}

TEST_F(Surroundings, OnlyListedVariablesAreRecorded) {
  Set("AWS_SECRET_ACCESS_KEY", "hush");
  Set("NCCL_ALGO", "Ring");
  Set("CHOKEPOINT_REDACT", "1");
  ASSERT_EQ(Run([] {
              if (!Begin(SmallRings())) return 1;
              Stop(10'000);
              return 0;
            }),
            0);
  const Contents contents = Read(OnlyFile());
  EXPECT_EQ(contents.file->meta("env.NCCL_ALGO"), "Ring");
  EXPECT_EQ(contents.file->meta("redacted"), "1");
  for (const auto& [key, value] : contents.file->all_meta()) {
    EXPECT_EQ(value.find("hush"), std::string::npos) << key;
    if (key != "exe" && key != "command") continue;
    EXPECT_EQ(value.find("trace_test"), std::string::npos) << key;
  }
}

// A small shared memory: a few rings there, the others in private memory, never a bus error.
TEST_F(Surroundings, SharedMemoryRunsOut) {
  if (!MayMount()) GTEST_SKIP() << "mounting a small tmpfs needs root";
  for (const char* size : {"64k", "4m"}) {
    fs::remove_all(traces());
    ASSERT_EQ(Run([&] {
                if (!MountSmall(shm_, size)) return 1;
                RecorderOptions options = SmallRings();
                options.max_rings = 64;
                if (!Begin(options)) return 2;
                std::vector<std::thread> threads;
                std::atomic<int> waiting{0};
                for (std::uint32_t t = 0; t < 40; ++t) {
                  threads.emplace_back([t, &waiting] {
                    for (std::uint64_t i = 0; i < 1000; ++i) Emit(Numbered(i, t));
                    ++waiting;
                    while (waiting.load() < 40) usleep(1000);
                  });
                }
                for (std::thread& thread : threads) thread.join();
                Stop(10'000);
                return 0;
              }),
              0);
    const Contents contents = Read(OnlyFile());
    EXPECT_EQ(contents.count(), 40'000u);
    EXPECT_EQ(contents.file->meta("ring_memory"),
              std::string(size) == "64k" ? "anonymous" : "shared");
  }
}

TEST_F(Surroundings, NoSharedMemoryIsWanted) {
  Set("CHOKEPOINT_SHM_DIR", "none");
  ASSERT_EQ(Run([] {
              if (!Begin(SmallRings())) return 1;
              for (std::uint64_t i = 0; i < 100; ++i) Emit(Numbered(i));
              Stop(10'000);
              return 0;
            }),
            0);
  const Contents contents = Read(OnlyFile());
  ExpectSequence(contents.numbers.at(0), 100);
  EXPECT_EQ(contents.file->meta("ring_memory"), "anonymous");
}

// No descriptor is free. The drain thread has a table of its own; where the kernel has no such
// thing, the rings hold what is recorded until one is free.
TEST_F(Surroundings, DescriptorsRunOut) {
  for (const rlim_t limit : {64u, 8u}) {
    fs::remove_all(traces());
    ASSERT_EQ(Run([&] {
                const rlimit few{limit, limit};
                setrlimit(RLIMIT_NOFILE, &few);
                const int lowest = Null();
                close(lowest);
                std::vector<int> taken;
                for (int fd = Null(); fd >= 0; fd = Null()) taken.push_back(fd);
                if (!Begin(SmallRings())) return 1;
                for (std::uint64_t i = 0; i < 500; ++i) Emit(Numbered(i));
                Flush(10'000);
                for (const int fd : taken) close(fd);
                if (*TracePath() == '\0') usleep(1'400'000);
                Flush(10'000);
                if (*TracePath() == '\0') return 3;
                // The program's next descriptors are the low ones, as ever.
                const bool low = Null() == lowest;
                Stop(10'000);
                return low ? 0 : 4;
              }),
              0)
        << limit;
    ExpectSequence(Read(OnlyFile()).numbers.at(0), 500);
  }
}

TEST_F(Surroundings, FileSizeLimitOfTheProcess) {
  Set("CHOKEPOINT_SHM_DIR", "none");  // a limit on files holds for shared memory too
  ASSERT_EQ(Run([] {
              const rlimit small{300'000, 300'000};
              setrlimit(RLIMIT_FSIZE, &small);
              RecorderOptions options = SmallRings();
              options.ring_bytes = 1 << 20;
              if (!Begin(options)) return 1;
              for (std::uint64_t i = 0; i < 30'000; ++i) {
                Emit(Numbered(i));
                if (i % 5000 == 4999) Flush(10'000);
              }
              Stop(10'000);
              return 0;
            }),
            0);
  Contents contents = Read(OnlyFile());
  EXPECT_GT(contents.count(), 0u);
  EXPECT_LT(contents.count(), 30'000u);
}

// Daemons and launchers close everything they do not know. Their own files must not receive our
// bytes.
TEST_F(Surroundings, TheProgramClosesOurDescriptors) {
  ASSERT_EQ(Run([this] {
              if (!Begin(SmallRings())) return 1;
              for (std::uint64_t i = 0; i < 100; ++i) Emit(Numbered(i));
              Flush(10'000);
              for (int fd = 3; fd < 1024; ++fd) close(fd);
              for (int fd = 3; fd < 1024; ++fd) {
                const int mine = open((root_ / "mine").c_str(), O_RDWR | O_CREAT, 0600);
                if (mine < 0) break;
              }
              for (int fd = 1000; fd < 1024; ++fd) close(fd);
              for (std::uint64_t i = 100; i < 200; ++i) Emit(Numbered(i));
              std::thread second([] { Emit(Numbered(0, 1)); });
              second.join();
              Stop(10'000);
              return 0;
            }),
            0);
  EXPECT_EQ(fs::file_size(root_ / "mine"), 0u);
  const Contents contents = Read(OnlyFile());
  ExpectSequence(contents.numbers.at(0), 200);
  ExpectSequence(contents.numbers.at(1), 1);
  EXPECT_TRUE(contents.result.ended);
}

TEST_F(Surroundings, SomebodyDeletesTheTrace) {
  ASSERT_EQ(Run([this] {
              if (!Begin(SmallRings())) return 1;
              InternName("name");
              Emit(Numbered(0));
              Flush(10'000);
              fs::remove_all(traces());
              Emit(Numbered(1));
              Stop(10'000);
              return 0;
            }),
            0);
  const Contents contents = Read(OnlyFile());
  EXPECT_EQ(contents.numbers.at(0), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(contents.file->name(256), "name");
  EXPECT_TRUE(contents.result.ended);
}

// No thread can be made: records wait in the rings and are written when the process flushes or
// stops.
TEST_F(Surroundings, NoThreadCanBeMade) {
  if (getuid() != 0) GTEST_SKIP() << "the limit on processes needs another user, so root";
  fs::permissions(root_, fs::perms::all);
  fs::permissions(shm_, fs::perms::all);
  ASSERT_EQ(Run([] {
              const rlimit none{0, 0};
              if (setgid(65534) != 0 || setuid(65534) != 0) return 1;
              setrlimit(RLIMIT_NPROC, &none);
              const rlimit small{120'000, 120'000};
              if (!Begin(SmallRings())) return 2;
              for (std::uint64_t i = 0; i < 100; ++i) Emit(Numbered(i));
              if (!Flush(1000)) return 3;
              setrlimit(RLIMIT_FSIZE, &small);
              for (std::uint64_t i = 100; i < 3000; ++i) Emit(Numbered(i));
              Stop(1000);
              return 0;
            }),
            0);
  const Contents contents = Read(OnlyFile());
  EXPECT_GE(contents.count(), 100u);
}

}  // namespace
}  // namespace chokepoint::trace
