// The process's own readers: on recorded files, and on this very process for what only a kernel can
// say. Must not assume anything about the machine's load.
#include "counters/process.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "counters/threads.h"
#include "tests/counters/system_tree.h"

namespace chokepoint::tests {
namespace {

TEST(ProcessReader, StatIoAndCgroup) {
  SystemTree tree;
  tree.Write(
      "/proc/self/stat",
      "77 (a) strange (name) S 1 77 77 0 -1 4194304 101 0 102 0 201 202 0 0 20 0 33 0 400 500 "
      "600 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 44 0 0\n");
  tree.Write("/proc/self/io",
             "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
             "cancelled_write_bytes: 7\n");
  tree.Write("/sys/fs/cgroup/cpu.stat",
             "usage_usec 10\nuser_usec 5\nsystem_usec 5\nnr_periods 11\nnr_throttled "
             "12\nthrottled_usec 13\n");
  counters::CgroupPaths cgroup;
  std::snprintf(cgroup.cpu, sizeof(cgroup.cpu), "/sys/fs/cgroup");
  cgroup.cpu_v2 = cgroup.has_quota = true;
  counters::ProcessReader reader;
  reader.Init(cgroup);
  reader.Sample(tree.NextRound());
  const auto all = tree.events().All<trace::ProcessSample>();
  ASSERT_EQ(all.size(), 1u);
  const trace::ProcessSample& sample = all[0];
  EXPECT_EQ(sample.minor_faults, 101u);
  EXPECT_EQ(sample.major_faults, 102u);
  EXPECT_EQ(sample.user_ms, 2010u);
  EXPECT_EQ(sample.system_ms, 2020u);
  EXPECT_EQ(sample.threads, 33u);
  EXPECT_EQ(sample.resident_bytes, 600u * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(sample.block_wait_ms, 440u);
  EXPECT_EQ(sample.read_chars, 1u);
  EXPECT_EQ(sample.written_chars, 2u);
  EXPECT_EQ(sample.read_calls, 3u);
  EXPECT_EQ(sample.write_calls, 4u);
  EXPECT_EQ(sample.disk_read_bytes, 5u);
  EXPECT_EQ(sample.disk_written_bytes, 6u);
  EXPECT_EQ(sample.cgroup_usage_us, 10u);
  EXPECT_EQ(sample.cgroup_periods, 11u);
  EXPECT_EQ(sample.cgroup_throttled, 12u);
  EXPECT_EQ(sample.cgroup_throttled_us, 13u);
  EXPECT_EQ(sample.flags,
            trace::kProcessHasIo | trace::kProcessHasCgroup | trace::kProcessHasQuota);
}

TEST(ProcessReader, V1CountsThrottlingInNanoseconds) {
  SystemTree tree;
  tree.Write("/proc/self/stat", "1 (a) S 0\n");
  tree.Write("/sys/fs/cgroup/cpu/cpu.stat",
             "nr_periods 1\nnr_throttled 2\nthrottled_time 5000000\n");
  counters::CgroupPaths cgroup;
  std::snprintf(cgroup.cpu, sizeof(cgroup.cpu), "/sys/fs/cgroup/cpu");
  counters::ProcessReader reader;
  reader.Init(cgroup);
  reader.Sample(tree.NextRound());
  EXPECT_EQ(tree.events().All<trace::ProcessSample>().at(0).cgroup_throttled_us, 5000u);
}

TEST(ProcessReader, WithoutPermissionForIoTheFlagIsMissingAndSaid) {
  SystemTree tree;
  tree.Write("/proc/self/stat", "1 (a) S 0\n");
  counters::ProcessReader reader;
  reader.Init(counters::CgroupPaths{});
  reader.Sample(tree.NextRound());
  EXPECT_EQ(tree.events().All<trace::ProcessSample>().at(0).flags, 0);
  EXPECT_EQ(tree.events().All<trace::SourceStatus>().size(), 1u);
}

TEST(Cgroup, QuotaOfAParentIsTheOneInForce) {
  SystemTree tree;
  tree.Write("/proc/self/cgroup", "0::/pod/container\n");
  for (const char* path : {"", "/pod", "/pod/container"}) {
    tree.Write(std::string("/sys/fs/cgroup") + path + "/cpu.stat", "");
  }
  tree.Write("/sys/fs/cgroup/pod/cpu.max", "200000 100000\n");
  tree.Write("/sys/fs/cgroup/pod/container/cpu.max", "max 100000\n");
  tree.Write("/sys/fs/cgroup/pod/container/memory.current", "1\n");
  counters::CgroupPaths paths;
  counters::FindCgroup(tree.tree(), &paths);
  EXPECT_STREQ(paths.cpu, "/sys/fs/cgroup/pod");
  EXPECT_STREQ(paths.quota, "200000 100000");
  EXPECT_TRUE(paths.has_quota);
  EXPECT_TRUE(paths.cpu_v2);
  EXPECT_STREQ(paths.memory, "/sys/fs/cgroup/pod/container");
}

TEST(Cgroup, InsideAContainerTheMountIsTheContainersOwn) {
  SystemTree tree;
  tree.Write("/proc/self/cgroup", "0::/kubepods/burstable/podx/abc\n");
  tree.Write("/sys/fs/cgroup/cpu.stat", "");
  tree.Write("/sys/fs/cgroup/cpu.max", "max 100000\n");
  counters::CgroupPaths paths;
  counters::FindCgroup(tree.tree(), &paths);
  EXPECT_STREQ(paths.cpu, "/sys/fs/cgroup");
  EXPECT_FALSE(paths.has_quota);
}

TEST(Cgroup, V1ControllersAndTheirQuota) {
  SystemTree tree;
  tree.Write("/proc/self/cgroup", "4:memory:/job\n2:cpu,cpuacct:/job\n1:cpuset:/x\n0::/\n");
  tree.Write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.stat", "");
  tree.Write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
  tree.Write("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  tree.Write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1\n");
  counters::CgroupPaths paths;
  counters::FindCgroup(tree.tree(), &paths);
  EXPECT_STREQ(paths.cpu, "/sys/fs/cgroup/cpu,cpuacct/job");
  EXPECT_FALSE(paths.cpu_v2);
  EXPECT_STREQ(paths.quota, "50000 100000");
  EXPECT_STREQ(paths.memory, "/sys/fs/cgroup/memory/job");
}

TEST(ThreadReader, ThisProcessesThreadsByNameWithTheirWork) {
  SystemTree tree(std::string(""));
  std::atomic<bool> stop{false};
  std::atomic<std::uint32_t> tid{0};
  std::thread busy([&] {
    prctl(PR_SET_NAME, "busy-thread");
    tid = static_cast<std::uint32_t>(gettid());
    while (!stop) {
    }
  });
  while (tid == 0) std::this_thread::yield();
  counters::ThreadReader reader;
  reader.Scan(tree.NextRound());
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  reader.Scan(tree.NextRound());
  tree.events().Clear();
  std::this_thread::sleep_for(std::chrono::milliseconds(150));
  reader.Sample(tree.NextRound());
  stop = true;
  busy.join();
  bool found = false;
  for (const auto& sample : tree.events().All<trace::ThreadSample>()) {
    if (sample.thread != tid) continue;
    found = true;
    EXPECT_EQ(tree.events().name(sample.name), "busy-thread");
    EXPECT_GT(sample.run_ns + sample.wait_ns, 200'000'000u);
  }
  EXPECT_TRUE(found) << "a busy thread was not followed";
  tree.events().Clear();
  reader.Sample(tree.NextRound());
  reader.Scan(tree.NextRound());
  for (const auto& sample : tree.events().All<trace::ThreadSample>()) EXPECT_NE(sample.thread, tid);
  reader.Close(tree.tree());
}

TEST(ThreadReader, RecordedTree) {
  SystemTree tree;
  tree.Write("/proc/self/task/7/schedstat", "1000000000 2000000000 5\n");
  tree.Write("/proc/self/task/7/comm", "NCCL Progress 0\n");
  tree.Write("/proc/self/task/8/schedstat", "0 0 0\n");
  tree.Write("/proc/self/task/8/comm", "idle\n");
  counters::ThreadReader reader;
  reader.Pin(8);
  reader.Scan(tree.NextRound());
  auto all = tree.events().All<trace::ThreadSample>();
  ASSERT_EQ(all.size(), 2u);
  const auto& worker = all[0].thread == 7 ? all[0] : all[1];
  const auto& idle = all[0].thread == 7 ? all[1] : all[0];
  EXPECT_EQ(worker.run_ns, 1'000'000'000u);
  EXPECT_EQ(worker.wait_ns, 2'000'000'000u);
  EXPECT_EQ(worker.slices, 5u);
  EXPECT_EQ(idle.flags, trace::kThreadPinned);
  tree.events().Clear();
  tree.Write("/proc/self/task/7/schedstat", "1500000000 2000000000 6\n");
  tree.Write("/proc/self/task/8/schedstat", "100 0 1\n");
  reader.Sample(tree.NextRound());
  all = tree.events().All<trace::ThreadSample>();
  ASSERT_EQ(all.size(), 1u) << "an idle thread was recorded";
  EXPECT_EQ(all[0].run_ns, 1'500'000'000u);
}

}  // namespace
}  // namespace chokepoint::tests
