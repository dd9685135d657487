// The host's readers on recorded files: every field of every record has a value that only its own
// source gives. Must not read the machine that the test runs on.
#include "counters/host.h"

#include <gtest/gtest.h>

#include "counters/netstat.h"
#include "counters/nic.h"
#include "counters/storage.h"
#include "tests/counters/system_tree.h"

namespace chokepoint::tests {
namespace {

template <class Event>
Event Last(SystemTree& tree) {
  const auto all = tree.events().All<Event>();
  return all.empty() ? Event{} : all.back();
}

TEST(CpuReader, SumsAndFindsTheBusiestSoftirqCpu) {
  SystemTree tree;
  counters::CpuReader reader;
  reader.Init();
  tree.Write(
      "/proc/stat",
      "cpu  100 10 20 1000 5 6 7 8 0 0\ncpu0 50 5 10 500 2 3 3 4 0 0\n"
      "cpu1 50 5 10 500 3 3 4 4 0 0\nintr 5 1 2\nctxt 4242\nprocs_running 3\nprocs_blocked 1\n");
  reader.Sample(tree.NextRound());
  const auto first = Last<trace::CpuSample>(tree);
  EXPECT_EQ(first.cpus, 2u);
  EXPECT_EQ(first.user_ms, 1100u);
  EXPECT_EQ(first.system_ms, 200u);
  EXPECT_EQ(first.idle_ms, 10'000u);
  EXPECT_EQ(first.iowait_ms, 50u);
  EXPECT_EQ(first.irq_ms, 60u);
  EXPECT_EQ(first.softirq_ms, 70u);
  EXPECT_EQ(first.steal_ms, 80u);
  EXPECT_EQ(first.context_switches, 4242u);
  EXPECT_EQ(first.running, 3u);
  EXPECT_EQ(first.blocked, 1u);
  tree.Write("/proc/stat",
             "cpu  100 10 20 1100 5 6 97 8 0 0\ncpu0 50 5 10 590 2 3 13 4 0 0\n"
             "cpu1 50 5 10 500 3 3 84 4 0 0\n");
  reader.Sample(tree.NextRound());
  const auto second = Last<trace::CpuSample>(tree);
  EXPECT_EQ(second.interval_ms, 1000u);
  EXPECT_EQ(second.softirq_cpu, 1u);
  EXPECT_EQ(second.softirq_cpu_ms, 800u);
  EXPECT_EQ(second.saturated_cpus, 1u);
}

TEST(SoftnetReader, AddsUpCpusInHex) {
  SystemTree tree;
  counters::SoftnetReader reader;
  reader.Init();
  const std::string zeros = " 00000000 00000000 00000000 00000000 00000000 00000000 00000000";
  tree.Write("/proc/net/softnet_stat",
             "000000ff 00000001 00000002" + zeros + " 00000003 00000000 00000000\n" +
                 "00000001 00000000 00000000" + zeros + " 00000000 00000000 00000007\n");
  reader.Sample(tree.NextRound());
  EXPECT_EQ(Last<trace::SoftnetSample>(tree).processed, 256u);
  EXPECT_EQ(Last<trace::SoftnetSample>(tree).dropped, 1u);
  EXPECT_EQ(Last<trace::SoftnetSample>(tree).squeezed, 2u);
  EXPECT_EQ(Last<trace::SoftnetSample>(tree).flow_limited, 3u);
  tree.Write("/proc/net/softnet_stat",
             "000000ff 00000001 00000002" + zeros + " 00000003 00000000 00000000\n" +
                 "00000001 00000000 00000009" + zeros + " 00000000 00000000 00000007\n");
  reader.Sample(tree.NextRound());
  EXPECT_EQ(Last<trace::SoftnetSample>(tree).worst_cpu, 7u);
}

TEST(MemoryReader, HostAndCgroupV2) {
  SystemTree tree;
  counters::CgroupPaths cgroup;
  cgroup.memory_v2 = true;
  std::snprintf(cgroup.memory, sizeof(cgroup.memory), "/sys/fs/cgroup/job");
  tree.Write(
      "/proc/meminfo",
      "MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 600 kB\nCached: 50 kB\nSwapCached: 9 kB\n"
      "SwapTotal: 30 kB\nSwapFree: 10 kB\nDirty: 7 kB\nWriteback: 8 kB\nWritebackTmp: 99 kB\n");
  tree.Write("/proc/vmstat",
             "pgmajfault 11\npswpin 12\npswpout 13\nallocstall_normal 20\nallocstall_movable 3\n");
  tree.Write("/sys/fs/cgroup/job/memory.current", "4096\n");
  tree.Write("/sys/fs/cgroup/job/memory.max", "8192\n");
  tree.Write("/sys/fs/cgroup/job/memory.events", "low 0\nhigh 1\nmax 5\noom 0\n");
  counters::MemoryReader reader;
  reader.Init(cgroup);
  reader.Sample(tree.NextRound());
  const auto sample = Last<trace::MemorySample>(tree);
  EXPECT_EQ(sample.flags, trace::kMemoryHasHost | trace::kMemoryHasCgroup);
  EXPECT_EQ(sample.total_bytes, 1000u * 1024);
  EXPECT_EQ(sample.available_bytes, 600u * 1024);
  EXPECT_EQ(sample.cached_bytes, 50u * 1024);
  EXPECT_EQ(sample.dirty_bytes, 7u * 1024);
  EXPECT_EQ(sample.writeback_bytes, 8u * 1024);
  EXPECT_EQ(sample.swap_used_bytes, 20u * 1024);
  EXPECT_EQ(sample.major_faults, 11u);
  EXPECT_EQ(sample.swap_in_pages, 12u);
  EXPECT_EQ(sample.swap_out_pages, 13u);
  EXPECT_EQ(sample.direct_reclaims, 23u);
  EXPECT_EQ(sample.cgroup_bytes, 4096u);
  EXPECT_EQ(sample.cgroup_limit_bytes, 8192u);
  EXPECT_EQ(sample.cgroup_failures, 5u);
}

TEST(MemoryReader, AnUnlimitedV1CgroupHasNoLimit) {
  SystemTree tree;
  counters::CgroupPaths cgroup;
  std::snprintf(cgroup.memory, sizeof(cgroup.memory), "/sys/fs/cgroup/memory");
  tree.Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "77\n");
  tree.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  tree.Write("/sys/fs/cgroup/memory/memory.failcnt", "6\n");
  counters::MemoryReader reader;
  reader.Init(cgroup);
  reader.Sample(tree.NextRound());
  EXPECT_EQ(Last<trace::MemorySample>(tree).cgroup_bytes, 77u);
  EXPECT_EQ(Last<trace::MemorySample>(tree).cgroup_limit_bytes, 0u);
  EXPECT_EQ(Last<trace::MemorySample>(tree).cgroup_failures, 6u);
}

TEST(PressureReader, TotalsAndWhatIsKnown) {
  SystemTree tree;
  tree.Write("/proc/pressure/cpu",
             "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\nfull avg10=0.00 avg60=0.00 "
             "avg300=0.00 total=0\n");
  tree.Write("/proc/pressure/io",
             "some avg10=0.00 avg60=0.00 avg300=0.00 total=22\nfull avg10=0.00 avg60=0.00 "
             "avg300=0.00 total=33\n");
  counters::PressureReader reader;
  reader.Init(counters::CgroupPaths{});
  reader.Sample(tree.NextRound());
  const auto sample = Last<trace::PressureSample>(tree);
  EXPECT_EQ(sample.scope, static_cast<std::uint8_t>(trace::PressureScope::kHost));
  EXPECT_EQ(sample.known, 1 | 2 | 4);
  EXPECT_EQ(sample.cpu_some_us, 11u);
  EXPECT_EQ(sample.io_some_us, 22u);
  EXPECT_EQ(sample.io_full_us, 33u);
}

TEST(PressureReader, AKernelWithoutItIsListedAsMissingOnce) {
  SystemTree tree;
  counters::PressureReader reader;
  reader.Init(counters::CgroupPaths{});
  reader.Sample(tree.NextRound());
  reader.Sample(tree.NextRound());
  const auto status = tree.events().All<trace::SourceStatus>();
  ASSERT_EQ(status.size(), 1u);
  EXPECT_EQ(status[0].source, static_cast<std::uint8_t>(trace::SamplerSource::kPressure));
  EXPECT_EQ(status[0].state, static_cast<std::uint8_t>(trace::SourceState::kMissing));
  EXPECT_TRUE(tree.events().All<trace::PressureSample>().empty());
}

TEST(DiskReader, WholeDisksThatMoved) {
  SystemTree tree;
  tree.Write("/sys/block/nvme0n1/size", "1");
  const std::string disk = " 259 0 nvme0n1 10 0 16 5 20 0 32 6 0 7 8 0 0 0 0 3 9\n";
  const std::string partition = " 259 1 nvme0n1p1 10 0 16 5 20 0 32 6 0 7 8 0 0 0 0 3 9\n";
  tree.Write("/proc/diskstats", disk + partition);
  counters::DiskReader reader;
  reader.Init();
  reader.Sample(tree.NextRound());
  reader.Sample(tree.NextRound());
  const auto all = tree.events().All<trace::DiskSample>();
  ASSERT_EQ(all.size(), 1u) << "the partition, or a disk at rest, was recorded";
  EXPECT_EQ(tree.events().name(all[0].device), "nvme0n1");
  EXPECT_EQ(all[0].reads, 10u);
  EXPECT_EQ(all[0].read_bytes, 16u * 512);
  EXPECT_EQ(all[0].read_ms, 5u);
  EXPECT_EQ(all[0].writes, 20u);
  EXPECT_EQ(all[0].written_bytes, 32u * 512);
  EXPECT_EQ(all[0].write_ms, 6u);
  EXPECT_EQ(all[0].busy_ms, 7u);
  EXPECT_EQ(all[0].queue_ms, 8u);
  EXPECT_EQ(all[0].flushes, 3u);
  EXPECT_EQ(all[0].flush_ms, 9u);
  tree.Write("/proc/diskstats", " 259 0 nvme0n1 10 0 16 5 20 0 32 6 4 9 8\n");
  reader.Sample(tree.NextRound());
  EXPECT_EQ(Last<trace::DiskSample>(tree).in_flight, 4u)
      << "a disk that answers nothing is one to see";
}

TEST(MountReader, NfsOperationsByKind) {
  SystemTree tree;
  tree.Write("/proc/self/mountstats",
             "device proc mounted on /proc with fstype proc\n"
             "device filer:/data mounted on /mnt/data with fstype nfs4 statvers=1.1\n"
             "\topts:\trw,vers=4.1\n\tage:\t100\n"
             "\tbytes:\t1000 2000 10 20 900 1900 3 4\n"
             "\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"
             "\txprt:\ttcp 800 1 1 0 0 10 10 0 10 0\n"
             "\tper-op statistics\n"
             "\t        NULL: 1 1 0 44 24 0 1 1 0\n"
             "\t        READ: 50 52 1 100 200 3 400 500 0\n"
             "\t       WRITE: 60 60 0 100 200 3 600 700 0\n"
             "\t     GETATTR: 7 7 0 100 200 3 8 9 0\n"
             "\ndevice tmpfs mounted on /tmp with fstype tmpfs\n");
  counters::MountReader reader;
  reader.Init();
  reader.Sample(tree.NextRound());
  reader.Sample(tree.NextRound());
  const auto all = tree.events().All<trace::MountSample>();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(tree.events().name(all[0].mount), "/mnt/data");
  EXPECT_EQ(tree.events().name(all[0].server), "filer:/data");
  EXPECT_EQ(all[0].read_bytes, 1010u);
  EXPECT_EQ(all[0].written_bytes, 2020u);
  EXPECT_EQ(all[0].server_read_bytes, 900u);
  EXPECT_EQ(all[0].server_written_bytes, 1900u);
  EXPECT_EQ(all[0].read_operations, 50u);
  EXPECT_EQ(all[0].read_round_trip_ms, 400u);
  EXPECT_EQ(all[0].read_execute_ms, 500u);
  EXPECT_EQ(all[0].write_operations, 60u);
  EXPECT_EQ(all[0].write_round_trip_ms, 600u);
  EXPECT_EQ(all[0].write_execute_ms, 700u);
  EXPECT_EQ(all[0].metadata_operations, 8u);
  EXPECT_EQ(all[0].metadata_execute_ms, 10u);
  EXPECT_EQ(all[0].retransmissions, 2u);
  EXPECT_EQ(all[0].timeouts, 1u);
}

TEST(NetstatReader, FieldsAreFoundByName) {
  SystemTree tree;
  tree.Write("/proc/net/snmp",
             "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
             "Tcp: MaxConn InSegs OutSegs RetransSegs InErrs OutRsts\nTcp: -1 100 200 3 4 5\n");
  tree.Write("/proc/net/netstat",
             "TcpExt: SyncookiesSent TCPDSACKRecv TCPTimeouts ListenDrops NewName\n"
             "TcpExt: 9 21 22 23 24\nIpExt: InNoRoutes\nIpExt: 0\n");
  counters::NetstatReader reader;
  reader.Init();
  reader.Sample(tree.NextRound());
  reader.Sample(tree.NextRound());
  const auto sample = Last<trace::NetstatSample>(tree);
  EXPECT_EQ(sample.segments_in, 100u);
  EXPECT_EQ(sample.segments_out, 200u);
  EXPECT_EQ(sample.retransmits, 3u);
  EXPECT_EQ(sample.receive_errors, 4u);
  EXPECT_EQ(sample.resets_out, 5u);
  EXPECT_EQ(sample.dsacks, 21u);
  EXPECT_EQ(sample.timeouts, 22u);
  EXPECT_EQ(sample.listen_drops, 23u);
  EXPECT_EQ(sample.known, 0b11111u | 1u << 10 | 1u << 5 | 1u << 14);
  EXPECT_EQ(sample.delivered, 0u);
}

std::string NetDev(const std::string& lines) {
  return "Inter-|   Receive                                                |  Transmit\n"
         " face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs\n" +
         lines;
}

TEST(NicReader, TrafficIdentityAndRole) {
  SystemTree tree;
  tree.Write("/proc/net/dev", NetDev("    lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
                                     "  eth0:1000 10 1 2 3 0 0 0 2000 20 4 5 6 0 7 0\n"));
  tree.Write("/proc/net/route",
             "Iface\tDestination\tGateway\tFlags\neth0\t00000000\t010011AC\t0003\neth0\t000011AC\t0"
             "0000000\t0001\n");
  tree.Write("/sys/class/net/eth0/speed", "100000\n");
  tree.Write("/sys/class/net/eth0/mtu", "9000\n");
  tree.Write("/sys/class/net/eth0/operstate", "up\n");
  tree.Write("/sys/class/net/eth0/carrier_changes", "2\n");
  tree.Write("/sys/class/net/lo/type", "772\n");
  tree.Write("/sys/class/net/lo/operstate", "unknown\n");
  tree.Write("/sys/devices/0000:1b:00.0/numa_node", "1\n");
  tree.Write("/sys/devices/0000:1b:00.0/current_link_speed", "16.0 GT/s PCIe\n");
  tree.Write("/sys/devices/0000:1b:00.0/current_link_width", "8\n");
  tree.Write("/sys/devices/0000:1b:00.0/max_link_speed", "16.0 GT/s PCIe\n");
  tree.Write("/sys/devices/0000:1b:00.0/max_link_width", "16\n");
  tree.Write("/sys/devices/0000:1b:00.0/infiniband/mlx5_0/x", "");
  tree.Link("/sys/devices/0000:1b:00.0/driver", "../../bus/pci/drivers/mlx5_core");
  tree.Link("/sys/class/net/eth0/device", "../../../devices/0000:1b:00.0");
  counters::NicReader reader;
  reader.Init();
  reader.Sample(tree.NextRound());
  const auto nics = tree.events().All<trace::NicInterface>();
  ASSERT_EQ(nics.size(), 2u);
  EXPECT_EQ(nics[0].flags, trace::kNicLoopback | trace::kNicVirtual | trace::kNicUp);
  EXPECT_EQ(tree.events().name(nics[1].name), "eth0");
  EXPECT_EQ(nics[1].flags, trace::kNicUp | trace::kNicDefaultRoute | trace::kNicHasRdma);
  EXPECT_EQ(tree.events().name(nics[1].driver), "mlx5_core");
  EXPECT_EQ(tree.events().name(nics[1].pci_address), "0000:1b:00.0");
  EXPECT_EQ(nics[1].speed_mbps, 100'000u);
  EXPECT_EQ(nics[1].mtu_bytes, 9000u);
  EXPECT_EQ(nics[1].numa_node, 1);
  EXPECT_EQ(nics[1].carrier_changes, 2u);
  EXPECT_EQ(nics[1].pci_nominal_mbps, 8u * 1969 * 8);
  EXPECT_EQ(nics[1].pci_max_mbps, 16u * 1969 * 8);
  const auto sample = Last<trace::NicSample>(tree);
  EXPECT_EQ(sample.index, nics[1].index);
  EXPECT_EQ(sample.rx_bytes, 1000u);
  EXPECT_EQ(sample.tx_bytes, 2000u);
  EXPECT_EQ(sample.rx_packets, 10u);
  EXPECT_EQ(sample.tx_packets, 20u);
  EXPECT_EQ(sample.rx_errors, 1u);
  EXPECT_EQ(sample.tx_errors, 4u);
  EXPECT_EQ(sample.rx_dropped, 2u);
  EXPECT_EQ(sample.tx_dropped, 5u);
  EXPECT_EQ(sample.rx_fifo, 3u);
  EXPECT_EQ(sample.tx_carrier, 7u);
}

TEST(NicReader, QuietInterfacesAreRecordedOnceAndChangesOfIdentityAgain) {
  SystemTree tree;
  tree.Write("/proc/net/dev", NetDev("eth0: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0\n"));
  tree.Write("/sys/class/net/eth0/operstate", "up\n");
  counters::NicReader reader;
  reader.Init();
  for (int i = 0; i < 5; ++i) reader.Sample(tree.NextRound());
  EXPECT_EQ(tree.events().All<trace::NicSample>().size(), 1u);
  reader.Refresh(tree.NextRound());
  EXPECT_EQ(tree.events().All<trace::NicInterface>().size(), 1u);
  tree.Write("/sys/class/net/eth0/operstate", "down\n");
  reader.Refresh(tree.NextRound());
  ASSERT_EQ(tree.events().All<trace::NicInterface>().size(), 2u);
  EXPECT_EQ(Last<trace::NicInterface>(tree).flags & trace::kNicUp, 0);
}

TEST(NicReader, ResetsAreFoldedInAndRemovalIsSaid) {
  SystemTree tree;
  tree.Write("/proc/net/dev", NetDev("eth0: 500 5 0 0 0 0 0 0 500 5 0 0 0 0 0 0\n"));
  counters::NicReader reader;
  reader.Init();
  reader.Sample(tree.NextRound());
  tree.Write("/proc/net/dev", NetDev("eth0: 100 6 0 0 0 0 0 0 600 6 0 0 0 0 0 0\n"));
  reader.Sample(tree.NextRound());
  EXPECT_EQ(Last<trace::NicSample>(tree).rx_bytes, 600u);
  EXPECT_EQ(Last<trace::NicSample>(tree).resets, 1u);
  tree.Write("/proc/net/dev", NetDev(""));
  reader.Sample(tree.NextRound());
  EXPECT_TRUE(Last<trace::NicInterface>(tree).flags & trace::kNicGone);
  EXPECT_EQ(Last<trace::SourceStatus>(tree).state,
            static_cast<std::uint8_t>(trace::SourceState::kGone));
}

TEST(Readers, RubbishIsNotAnAnswer) {
  SystemTree tree;
  for (const char* path : {"/proc/stat", "/proc/net/softnet_stat", "/proc/meminfo", "/proc/vmstat",
                           "/proc/diskstats", "/proc/self/mountstats", "/proc/net/snmp",
                           "/proc/net/netstat", "/proc/net/dev", "/proc/pressure/cpu"}) {
    tree.Write(path, "cpu\n: : :\nTcp: a b\nTcp:\ndevice \nsome total=\neth0: x\n\xff\xfe\n");
  }
  counters::CpuReader cpu;
  counters::SoftnetReader softnet;
  counters::MemoryReader memory;
  counters::DiskReader disk;
  counters::MountReader mount;
  counters::NetstatReader netstat;
  counters::NicReader nic;
  counters::PressureReader pressure;
  cpu.Init();
  softnet.Init();
  memory.Init(counters::CgroupPaths{});
  disk.Init();
  mount.Init();
  netstat.Init();
  nic.Init();
  pressure.Init(counters::CgroupPaths{});
  const counters::Round round = tree.NextRound();
  cpu.Sample(round);
  softnet.Sample(round);
  memory.Sample(round);
  disk.Sample(round);
  mount.Sample(round);
  netstat.Sample(round);
  nic.Sample(round);
  pressure.Sample(round);
  EXPECT_TRUE(tree.events().All<trace::NicSample>().empty());
  EXPECT_TRUE(tree.events().All<trace::DiskSample>().empty());
  EXPECT_TRUE(tree.events().All<trace::MountSample>().empty());
  EXPECT_TRUE(tree.events().All<trace::NetstatSample>().empty());
  EXPECT_TRUE(tree.events().All<trace::PressureSample>().empty());
}

}  // namespace
}  // namespace chokepoint::tests
