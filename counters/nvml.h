// The GPUs that this process uses, by NVML: identity, state, limits, errors.
// Must not be the first to load a driver: a process without CUDA is left alone. Must not call what
// samples for milliseconds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "counters/counter_value.h"
#include "counters/dynamic_library.h"
#include "counters/nvml_api.h"
#include "counters/round.h"

namespace chokepoint::counters {

// Contract: one thread. After a fork the child must not call the driver through it.
class NvmlReader {
 public:
  static constexpr std::size_t kMost = 16;    // GPUs of one process
  static constexpr std::size_t kFields = 12;  // asked for in one call

  // `library`: a path to load at once; null: libnvidia-ml.so.1, once the program has loaded CUDA or
  // NVML itself. `visible_devices`: CUDA_VISIBLE_DEVICES as the program had it, or null; both must
  // outlive the reader.
  void Init(const char* library, const char* visible_devices) noexcept;

  // Finds the library and the GPUs; error counters. Every ten seconds.
  void Refresh(const Round& round) noexcept;
  // State: once a second.
  void Sample(const Round& round) noexcept;
  void RepeatIdentities(const Sink& sink) const noexcept;

  std::size_t count() const noexcept { return count_; }

 private:
  // One bit for each call that a device has refused: not asked again.
  enum Call : std::uint32_t {
    kUtilisation,
    kClockReasons,
    kSmClock,
    kMemoryClock,
    kPower,
    kTemperature,
    kPcieGeneration,
    kPcieWidth,
    kEnergy,
    kMemory,
    kEccCorrected,
    kEccUncorrected,
    kRows,
    kReplays,
    kNvlink,
    kEvents,
    kCalls,
  };
  struct FieldState {
    bool dropped = false;
    std::uint8_t slow = 0;
    CounterValue value;
  };
  struct Gpu {
    nvml::Device device = nullptr;
    trace::GpuDevice identity;
    char pci_address[24] = {};
    std::uint32_t refused = 0;
    bool lost = false;
    std::uint16_t nvlinks_active = 0;
    FieldState fields[kFields];
  };

  bool Load(const Round& round) noexcept;
  void FindGpus(const Round& round) noexcept;
  bool FindByCuda(const Round& round) noexcept;
  bool FindByProcess(const Round& round) noexcept;
  void FindByVariable(const Round& round) noexcept;
  void AddGpu(const Round& round, nvml::Device device) noexcept;
  void Identify(const Round& round, Gpu* gpu) noexcept;
  bool Usable(const Gpu& gpu, Call call, const void* function) const noexcept;
  bool Note(const Round& round, Gpu* gpu, Call call, int result) noexcept;
  void SampleOne(const Round& round, Gpu* gpu) noexcept;
  bool KeepField(const Round& round, Gpu* gpu, std::size_t index,
                 const nvml::FieldValue& value) noexcept;
  void ReadFields(const Round& round, Gpu* gpu, trace::GpuSample* sample) noexcept;
  void SetField(Gpu* gpu, std::size_t index, trace::GpuSample* sample) noexcept;
  void ReadHealth(const Round& round, Gpu* gpu) noexcept;
  void ReadLinks(const Round& round, Gpu* gpu) noexcept;
  void ReadNvlinkErrors(Gpu* gpu, trace::GpuHealth* health) noexcept;
  void ReadXids(const Round& round) noexcept;

  const char* library_ = nullptr;
  const char* visible_devices_ = nullptr;
  DynamicLibrary handle_, cuda_;
  nvml::Functions call_;
  bool loaded_ = false;
  bool failed_ = false;
  bool said_unknown_ = false;
  int rounds_without_gpu_ = 0;
  nvml::EventSet events_ = nullptr;
  Gpu gpus_[kMost];
  std::size_t count_ = 0;
};

}  // namespace chokepoint::counters
