// FakeNccl: the part of NCCL that loads a plugin and calls it, for every interface version, with
// nothing behind it. Must not be kinder to a plugin than NCCL is: what NCCL leaves undefined is
// filled with garbage here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "plugin/abi/nccl_types.h"
#include "plugin/abi/profiler_events.h"

namespace chokepoint::tests {

// A release of NCCL, by what it asks a plugin library for.
struct FakeRelease {
  const char* name;
  int code;              // as ncclGetVersion says it
  int highest_profiler;  // 0 = has no profiler interface
  int highest_net;
  int lowest_net;
};
extern const FakeRelease kFakeReleases[];
extern const std::size_t kFakeReleaseCount;
// The last release with that native profiler version.
const FakeRelease& ReleaseWithProfiler(int version);
// What this process's ncclGetVersion says from now on; 0 = it fails.
void SetFakeNcclVersion(int code);

// What init tells about a communicator; versions 1 to 3 tell less, and some of it with each event.
struct FakeCommunicator {
  std::uint64_t id = 0x1234'5678'9abc'def0;
  const char* name = nullptr;
  int nodes = 1;
  int ranks = 2;
  int rank = 0;
};

// Any event descriptor. Fields that a version's struct does not have are left out there.
struct FakeEvent {
  std::uint64_t type = 0;
  void* parent = nullptr;
  int rank = 0;
  // Operations and API calls
  const char* function = "AllReduce";
  const char* datatype = "ncclFloat32";
  const char* algorithm = "RING";
  const char* protocol = "SIMPLE";
  std::uint64_t sequence = 0;
  std::size_t count = 0;
  int root = 0;
  int peer = 0;
  std::uint8_t channels = 0;
  void* group = nullptr;
  bool graph_captured = false;
  int group_depth = 1;
  const char* communicator_name = nullptr;  // up to v3
  std::uint64_t communicator_hash = 0;      // up to v3
  // Proxy operations and steps
  int pid = 0;
  int steps = 0;
  int chunk_bytes = 0;
  bool send = false;
  int step = 0;
  // Kernels
  std::uint8_t channel = 0;
  std::uint64_t timer_ns = 0;
  // Copy engine
  std::size_t bytes = 0;
  int parts = 0;
};

struct FakeStateArgs {
  std::size_t bytes = 0;  // transSize
  int steps = 0;          // up to v3
  std::uint64_t timer_ns = 0;
};

// One version's profiler table. Every call goes through the plugin's own function pointers.
class FakeProfiler {
 public:
  virtual ~FakeProfiler() = default;
  virtual int version() const = 0;
  virtual const char* name() const = 0;
  virtual ncclResult_t Init(void** context, int* mask, const FakeCommunicator& communicator) = 0;
  // Null `event`: a null descriptor.
  virtual ncclResult_t Start(void* context, void** handle, const FakeEvent* event) = 0;
  virtual ncclResult_t Stop(void* handle) = 0;
  // Null `args`: a null pointer.
  virtual ncclResult_t State(void* handle, int state, const FakeStateArgs* args) = 0;
  virtual ncclResult_t Finalize(void* context) = 0;

  // Start with a handle that holds garbage, as NCCL's often do; returns what the plugin put there.
  void* Start(void* context, const FakeEvent& event);
};

// One version's network table, called only as NCCL calls a plugin that may have no devices.
class FakeNet {
 public:
  virtual ~FakeNet() = default;
  virtual int version() const = 0;
  virtual const char* name() const = 0;
  virtual ncclResult_t Init(void** context) = 0;
  virtual ncclResult_t Devices(int* count) = 0;
  virtual ncclResult_t Finalize(void* context) = 0;  // before v11: does nothing
  // True when no function pointer of the table is null.
  virtual bool Complete() const = 0;
  // Calls a few functions that need a device; all must refuse.
  virtual bool RefusesWork() const = 0;
};

class FakeNccl {
 public:
  // dlopen as NCCL does it: RTLD_NOW | RTLD_LOCAL. Null, with the reason on stderr, when that
  // fails.
  static std::unique_ptr<FakeNccl> Load(const std::string& library);
  ~FakeNccl();
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;

  // The highest version that `highest` and the library have in common, probed from above. Null:
  // none.
  std::unique_ptr<FakeProfiler> Profiler(int highest) const;
  std::unique_ptr<FakeNet> Net(int highest, int lowest) const;
  // NCCL closes a plugin when its last communicator is gone.
  void Close();

 private:
  explicit FakeNccl(void* library) : library_(library) {}
  void* library_;
};

// ncclProfilerLogger as NCCL passes it: collects the lines in memory.
extern "C" void FakeNcclLog(ncclDebugLogLevel level, unsigned long flags, const char* file,
                            int line, const char* format, ...);
const std::string& FakeNcclLogText();

}  // namespace chokepoint::tests
