// The part of NVML's interface that we use: our own declarations of its functions, layouts and
// numbers. Must not include NVIDIA's header. Every function may be absent: drivers differ.
#pragma once

#include <cstddef>
#include <cstdint>

namespace chokepoint::counters::nvml {

using Device = void*;
using EventSet = void*;

enum Result : int {
  kSuccess = 0,
  kUninitialised = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNoPermission = 4,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
  kTimeout = 10,
  kFunctionNotFound = 13,
  kGpuLost = 15,
  kUnknown = 999,
};

enum ClockType : int { kClockSm = 1, kClockMemory = 2 };
enum EccError : int { kEccCorrected = 0, kEccUncorrected = 1 };
inline constexpr int kEccVolatile = 0;
inline constexpr int kTemperatureGpu = 0;
inline constexpr unsigned kInitNoAttach = 2;
inline constexpr unsigned long long kEventXid = 0x8;
inline constexpr unsigned kAllScopes = ~0u;
inline constexpr unsigned kMostLinks = 18;

struct Utilisation {
  unsigned gpu, memory;
};
static_assert(sizeof(Utilisation) == 8);

struct Memory {
  unsigned long long total, free, used;
};
static_assert(sizeof(Memory) == 24);

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp_us;
  long long latency_us;
  unsigned value_type;
  int result;
  union {
    double as_double;
    unsigned as_u32;
    unsigned long as_ulong;
    unsigned long long as_u64;
    long long as_s64;
    int as_s32;
    unsigned short as_u16;
  } value;
};
static_assert(sizeof(FieldValue) == 40 && offsetof(FieldValue, timestamp_us) == 8);
static_assert(offsetof(FieldValue, value_type) == 24 && offsetof(FieldValue, value) == 32);

enum ValueType : unsigned {
  kDouble = 0,
  kU32 = 1,
  kUlong = 2,
  kU64 = 3,
  kS64 = 4,
  kS32 = 5,
  kU16 = 6
};

struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(ProcessInfo) == 24);

struct EventData {
  Device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};
static_assert(sizeof(EventData) == 32);

// Field numbers.
enum Field : unsigned {
  kNvlinkCrcFlit = 38,
  kNvlinkCrcData = 45,
  kNvlinkReplay = 52,
  kNvlinkRecovery = 59,
  kLimitedPower = 74,
  kLimitedThermal = 75,
  kMemoryTemperature = 82,
  kNvlinkTxKib = 138,
  kNvlinkRxKib = 139,
  kNvlinkEcc = 160,
  kPcieTxBytes = 197,
  kPcieRxBytes = 198,
  kNvlink5TxBytes = 202,
  kNvlink5RxBytes = 204,
  kNvlink5RecoveriesFailed = 214,
  kNvlink5Recoveries = 215,
  kLimitedSoftwareThermal = 269,
  kLimitedHardwareThermal = 270,
  kLimitedPowerBrake = 271,
};

// X(member, "symbol", older symbol or null, parameters)
#define CHOKEPOINT_NVML_FUNCTIONS(X)                                                              \
  X(init_with_flags, "nvmlInitWithFlags", nullptr, (unsigned))                                    \
  X(init, "nvmlInit_v2", "nvmlInit", ())                                                          \
  X(driver_version, "nvmlSystemGetDriverVersion", nullptr, (char*, unsigned))                     \
  X(count, "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", (unsigned*))                            \
  X(by_index, "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex", (unsigned, Device*)) \
  X(by_pci, "nvmlDeviceGetHandleByPciBusId_v2", "nvmlDeviceGetHandleByPciBusId",                  \
    (const char*, Device*))                                                                       \
  X(by_uuid, "nvmlDeviceGetHandleByUUID", nullptr, (const char*, Device*))                        \
  X(uuid, "nvmlDeviceGetUUID", nullptr, (Device, char*, unsigned))                                \
  X(name, "nvmlDeviceGetName", nullptr, (Device, char*, unsigned))                                \
  X(index, "nvmlDeviceGetIndex", nullptr, (Device, unsigned*))                                    \
  X(pci_info, "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", (Device, PciInfo*))           \
  X(utilisation, "nvmlDeviceGetUtilizationRates", nullptr, (Device, Utilisation*))                \
  X(memory, "nvmlDeviceGetMemoryInfo", nullptr, (Device, Memory*))                                \
  X(clock, "nvmlDeviceGetClockInfo", nullptr, (Device, int, unsigned*))                           \
  X(clock_max, "nvmlDeviceGetMaxClockInfo", nullptr, (Device, int, unsigned*))                    \
  X(clock_reasons, "nvmlDeviceGetCurrentClocksEventReasons",                                      \
    "nvmlDeviceGetCurrentClocksThrottleReasons", (Device, unsigned long long*))                   \
  X(power, "nvmlDeviceGetPowerUsage", nullptr, (Device, unsigned*))                               \
  X(power_limit, "nvmlDeviceGetEnforcedPowerLimit", nullptr, (Device, unsigned*))                 \
  X(energy, "nvmlDeviceGetTotalEnergyConsumption", nullptr, (Device, unsigned long long*))        \
  X(temperature, "nvmlDeviceGetTemperature", nullptr, (Device, int, unsigned*))                   \
  X(ecc, "nvmlDeviceGetTotalEccErrors", nullptr, (Device, int, int, unsigned long long*))         \
  X(remapped_rows, "nvmlDeviceGetRemappedRows", nullptr,                                          \
    (Device, unsigned*, unsigned*, unsigned*, unsigned*))                                         \
  X(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration", nullptr, (Device, unsigned*))         \
  X(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", nullptr, (Device, unsigned*))                   \
  X(pcie_generation_max, "nvmlDeviceGetMaxPcieLinkGeneration", nullptr, (Device, unsigned*))      \
  X(pcie_width_max, "nvmlDeviceGetMaxPcieLinkWidth", nullptr, (Device, unsigned*))                \
  X(pcie_replays, "nvmlDeviceGetPcieReplayCounter", nullptr, (Device, unsigned*))                 \
  X(nvlink_state, "nvmlDeviceGetNvLinkState", nullptr, (Device, unsigned, int*))                  \
  X(field_values, "nvmlDeviceGetFieldValues", nullptr, (Device, int, FieldValue*))                \
  X(processes, "nvmlDeviceGetComputeRunningProcesses_v3", nullptr,                                \
    (Device, unsigned*, ProcessInfo*))                                                            \
  X(event_set_create, "nvmlEventSetCreate", nullptr, (EventSet*))                                 \
  X(register_events, "nvmlDeviceRegisterEvents", nullptr, (Device, unsigned long long, EventSet)) \
  X(event_wait, "nvmlEventSetWait_v2", nullptr, (EventSet, EventData*, unsigned))

struct Functions {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator cannot have any
#define X(member, symbol, older, parameters) int(*member) parameters = nullptr;
  CHOKEPOINT_NVML_FUNCTIONS(X)
#undef X
};

}  // namespace chokepoint::counters::nvml
