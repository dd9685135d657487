// The enumerations and flags that the sampler's events (80 to 119 in events.def) use, with the
// names that reports print. Must not hold anything but numbers and names: they are in files, never
// renumber.
#pragma once

#include <cstdint>

namespace chokepoint::trace {

// SamplerRole.flags.
enum SamplerFlag : std::uint16_t {
  kSamplerLeader = 1,      // records the host's counters
  kSamplerEnding = 2,      // the sampler stops here
  kSamplerOwnThread = 4,   // samples on a thread of its own
  kSamplerNoElection = 8,  // no place for a lock: the local rank decided who leads
};

// SourceStatus.source.
#define CHOKEPOINT_SAMPLER_SOURCES(X)                      \
  X(1, kTcp, "TCP sockets of the process")                 \
  X(2, kRdma, "RDMA ports")                                \
  X(3, kNic, "network interfaces")                         \
  X(4, kNicDriver, "network driver counters (ethtool)")    \
  X(5, kGpu, "GPU (NVML)")                                 \
  X(6, kCpu, "CPU time of the host")                       \
  X(7, kProcess, "CPU time and I/O of the process")        \
  X(8, kThread, "run-queue wait of threads")               \
  X(9, kMemory, "memory")                                  \
  X(10, kPressure, "pressure stall information")           \
  X(11, kDisk, "block devices")                            \
  X(12, kMount, "NFS mounts")                              \
  X(13, kNetstat, "TCP counters of the network namespace") \
  X(14, kSoftnet, "network receive work")                  \
  X(15, kCgroup, "cgroup limits")

enum class SamplerSource : std::uint8_t {
#define X(number, name, title) name = (number),
  CHOKEPOINT_SAMPLER_SOURCES(X)
#undef X
};

// SourceStatus.state.
#define CHOKEPOINT_SOURCE_STATES(X)            \
  X(1, kMissing, "not on this machine")        \
  X(2, kForbidden, "no permission")            \
  X(3, kUnsupported, "not supported here")     \
  X(4, kUnreadable, "could not be understood") \
  X(5, kGone, "was there and disappeared")     \
  X(6, kPresent, "is there again")             \
  X(7, kIncomplete, "more of them than are kept")

enum class SourceState : std::uint8_t {
#define X(number, name, title) name = (number),
  CHOKEPOINT_SOURCE_STATES(X)
#undef X
};

// TcpConnection.traffic. The order is that of the layers: inside the job, inside the site, outside.
#define CHOKEPOINT_TRAFFIC_CLASSES(X)                                               \
  X(0, kUnknown, "unknown", "no address")                                           \
  X(1, kLocal, "same host", "loopback, or an address of this host")                 \
  X(2, kJobPeer, "job peer", "another rank of the job: east-west")                  \
  X(3, kStorage, "storage", "a storage service by port or name")                    \
  X(4, kSite, "site service", "a private address: scheduler, metadata, monitoring") \
  X(5, kInternet, "outside", "a public address: object store, registry, internet")

enum class TrafficClass : std::uint8_t {
#define X(number, name, title, doc) name = (number),
  CHOKEPOINT_TRAFFIC_CLASSES(X)
#undef X
};

// TcpConnection.flags.
enum TcpConnectionFlag : std::uint32_t {
  kTcpEcn = 1,         // ECN was negotiated
  kTcpSack = 2,        // selective acknowledgements were negotiated
  kTcpTimestamps = 4,  // timestamps were negotiated
};

// TcpSample.reason.
enum class TcpSampleReason : std::uint8_t {
  kPeriodic = 1,
  kLossMoved = 2,      // retransmits, DSACKs or timeouts have moved since the previous record
  kBeforeSlow = 3,     // the last reading before a slow operation was noticed
  kSlowOperation = 4,  // read at once because an operation was slow
  kFirst = 5,
  kLast = 6,  // the sampler ends
};

// TcpSample.flags: which groups of fields this kernel knows, and what was true at the moment of
// reading.
enum TcpSampleFlag : std::uint16_t {
  kTcpHasBytes = 1,     // acked_bytes, received_bytes
  kTcpHasBusy = 2,      // busy_us and its parts
  kTcpHasLoss = 4,      // retransmitted_bytes, dsacks, reorderings
  kTcpHasTimeouts = 8,  // timeouts, timeout_ms
  kTcpAppLimited = 16,  // delivery_rate is a lower bound: the program did not offer more
  kTcpBusiest = 32,     // among those read four times a second
};

// RdmaPort.link_layer.
enum class RdmaLinkLayer : std::uint8_t { kUnknown = 0, kInfiniband = 1, kEthernet = 2 };

// RdmaPort.driver.
#define CHOKEPOINT_RDMA_DRIVERS(X) \
  X(0, kOther, "other")            \
  X(1, kMlx5, "mlx5")              \
  X(2, kBnxtRe, "bnxt_re")         \
  X(3, kIrdma, "irdma")            \
  X(4, kEfa, "efa")                \
  X(5, kErdma, "erdma")            \
  X(6, kHns, "hns")                \
  X(7, kRxe, "rxe")

enum class RdmaDriver : std::uint8_t {
#define X(number, name, title) name = (number),
  CHOKEPOINT_RDMA_DRIVERS(X)
#undef X
};

// RdmaPort.flags.
enum RdmaPortFlag : std::uint8_t {
  kRdmaPortUsed = 1,          // this process has queue pairs on it
  kRdmaPortUseUnknown = 2,    // the kernel did not tell which ports are used: all are recorded
  kRdmaPortByNetlink = 4,     // counters come by netlink, else from sysfs
  kRdmaPortGone = 8,          // the device was removed
  kRdmaPortSlowRefresh = 16,  // the driver refreshes its counters once a minute only
};

// The u64 counters of RdmaSample in their order: bit numbers of `known` and `at_least`.
enum class RdmaMetric : std::uint8_t {
  kTxBytes = 0,
  kRxBytes,
  kTxPackets,
  kRxPackets,
  kRetransmitFast,
  kRetransmitTimeout,
  kRetransmitAdaptive,
  kSeenLoss,
  kSeenDuplicates,
  kReceiverNotReady,
  kNoBuffer,
  kEcnMarked,
  kCnpSent,
  kCnpHandled,
  kFatal,
  kRateLimited,
  kTransmitWait,
  kLinkDowned,
  kSymbolErrors,
  kTransmitDiscards,
  kReceiveErrors,
  kLinkRecoveries,
};
inline constexpr int kRdmaMetrics = 22;

// NicInterface.flags.
enum NicFlag : std::uint16_t {
  kNicUp = 1,            // operstate up
  kNicDefaultRoute = 2,  // carries the default route: front end
  kNicHasRdma = 4,       // an RDMA device sits on the same PCI function
  kNicVirtual = 8,       // no device behind it
  kNicBondMaster = 16,
  kNicBondSlave = 32,
  kNicLoopback = 64,
  kNicGone = 128,  // removed
};

// NicCounter.meaning.
#define CHOKEPOINT_NIC_COUNTER_MEANINGS(X)                                           \
  X(0, kOther, "other")                                                              \
  X(1, kPauseReceived, "pause frames received: the network asked this host to stop") \
  X(2, kPauseSent, "pause frames sent: this host could not drain")                   \
  X(3, kPauseReceivedUs, "microseconds stopped by received pause frames")            \
  X(4, kPauseSentUs, "microseconds for which it stopped the network")                \
  X(5, kReceiveDiscards, "received and discarded for lack of buffers")               \
  X(6, kTransmitDiscards, "discarded on sending")                                    \
  X(7, kLinkDown, "link went down")                                                  \
  X(8, kLineErrors, "errors on the line")                                            \
  X(9, kPcieStall, "PCIe stalls")                                                    \
  X(10, kProviderLimit, "held back by the provider's limit")                         \
  X(11, kRdmaBytesReceived, "RDMA bytes received")                                   \
  X(12, kRdmaBytesSent, "RDMA bytes sent")

enum class NicCounterMeaning : std::uint8_t {
#define X(number, name, title) name = (number),
  CHOKEPOINT_NIC_COUNTER_MEANINGS(X)
#undef X
};

// Bit numbers of GpuSample.known.
enum class GpuField : std::uint8_t {
  kUtilisation = 0,
  kClockReasons,
  kSmClock,
  kMemoryClock,
  kPower,
  kTemperature,
  kMemoryTemperature,
  kPcieGeneration,
  kPcieWidth,
  kNvlinksActive,
  kEnergy,
  kMemoryUsed,
  kPcieTx,
  kPcieRx,
  kNvlinkTx,
  kNvlinkRx,
  kLimitedPower,
  kLimitedThermal,
  kLimitedBrake,
};

// Bit numbers of GpuHealth.known.
enum class GpuHealthField : std::uint8_t {
  kRemappedRows = 0,
  kEccCorrected,
  kEccUncorrected,
  kPcieReplays,
  kNvlinkReplays,
  kNvlinkRecoveries,
  kNvlinkCrcErrors,
  kNvlinkEccErrors,
};

// GpuSample.clock_reasons: NVML's bits.
enum GpuClockReason : std::uint32_t {
  kGpuIdle = 0x1,
  kGpuUserClocks = 0x2,
  kGpuPowerCap = 0x4,
  kGpuHardwareSlowdown = 0x8,
  kGpuSyncBoost = 0x10,
  kGpuSoftwareThermal = 0x20,
  kGpuHardwareThermal = 0x40,
  kGpuPowerBrake = 0x80,
};

// ProcessSample.flags.
enum ProcessSampleFlag : std::uint16_t {
  kProcessHasIo = 1,      // /proc/self/io was readable
  kProcessHasCgroup = 2,  // cgroup CPU counters were readable
  kProcessHasQuota = 4,   // the cgroup has a CPU quota
};

// ThreadSample.flags.
enum ThreadFlag : std::uint16_t {
  kThreadMain = 1,
  kThreadPinned = 2,  // named by the recorder as critical: NCCL's proxy, ...
  kThreadOurs = 4,    // the recorder's own
};

// MemorySample.flags.
enum MemoryFlag : std::uint16_t { kMemoryHasHost = 1, kMemoryHasCgroup = 2 };

// PressureSample.scope.
enum class PressureScope : std::uint8_t { kHost = 1, kCgroup = 2 };

}  // namespace chokepoint::trace
