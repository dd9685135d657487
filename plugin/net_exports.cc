// The exported network tables, versions 4 to 12: a plugin without devices, so that NCCL accepts the
// library, keeps its own transport, and finds the profiler in it. Must not do anything but say "no
// devices".
#include "plugin/abi/net_abi.h"
#include "plugin/plugin_start.h"

namespace chokepoint::plugin {
namespace {

template <class... Arguments>
using Function = ncclResult_t (*)(Arguments...);

template <class... Arguments>
ncclResult_t Refuse(Arguments...) {
  return ncclInternalError;
}

// Becomes a function of any signature: for those that NCCL never reaches, because there are no
// devices.
struct Refusal {
  template <class... Arguments>
  constexpr operator Function<Arguments...>() const {  // NOLINT(google-explicit-constructor)
    return &Refuse<Arguments...>;
  }
};

template <class... Arguments>
ncclResult_t InitUpToV10(Arguments...) {
  NoteNetInit();
  return ncclSuccess;
}

ncclResult_t InitFromV11(void** ctx, std::uint64_t, ncclNetCommConfig_v10_t*, ncclDebugLogger_t,
                         ncclProfilerCallback_t) {
  if (ctx != nullptr) *ctx = nullptr;
  NoteNetInit();
  return ncclSuccess;
}

// v10 and before.
struct Acceptance {
  template <class... Arguments>
  constexpr operator Function<Arguments...>() const {  // NOLINT(google-explicit-constructor)
    return &InitUpToV10<Arguments...>;
  }
};

ncclResult_t NoDevices(int* ndev) {
  if (ndev != nullptr) *ndev = 0;
  return ncclSuccess;
}

// NCCL 2.28 calls this for a plugin without devices, with the context that init gave, or null.
ncclResult_t Finalize(void*) { return ncclSuccess; }

template <class Table>
constexpr Table Stub() {
  Table table{};
  table.name = "chokepoint";
  if constexpr (requires { table.finalize; }) {
    table.init = &InitFromV11;
    table.finalize = &Finalize;
    table.setNetAttr = Refusal{};
  } else {
    table.init = Acceptance{};
  }
  table.devices = &NoDevices;
  table.getProperties = Refusal{};
  table.listen = Refusal{};
  table.connect = Refusal{};
  table.accept = Refusal{};
  table.regMr = Refusal{};
  if constexpr (requires { table.regMrDmaBuf; }) table.regMrDmaBuf = Refusal{};
  table.deregMr = Refusal{};
  table.isend = Refusal{};
  table.irecv = Refusal{};
  table.iflush = Refusal{};
  table.test = Refusal{};
  table.closeSend = Refusal{};
  table.closeRecv = Refusal{};
  table.closeListen = Refusal{};
  if constexpr (requires { table.getDeviceMr; }) table.getDeviceMr = Refusal{};
  if constexpr (requires { table.irecvConsumed; }) table.irecvConsumed = Refusal{};
  if constexpr (requires { table.makeVDevice; }) table.makeVDevice = Refusal{};
  return table;
}

}  // namespace
}  // namespace chokepoint::plugin

// Writable on purpose: NCCL's own type is not const, and a table may one day be filled at load
// time.
#define CHOKEPOINT_EXPORT_NET(version)                                                         \
  __attribute__((visibility("default"), used)) ncclNet_##version##_t ncclNetPlugin_##version = \
      chokepoint::plugin::Stub<ncclNet_##version##_t>();

extern "C" {
CHOKEPOINT_EXPORT_NET(v4)
CHOKEPOINT_EXPORT_NET(v5)
CHOKEPOINT_EXPORT_NET(v6)
CHOKEPOINT_EXPORT_NET(v7)
CHOKEPOINT_EXPORT_NET(v8)
CHOKEPOINT_EXPORT_NET(v9)
CHOKEPOINT_EXPORT_NET(v10)
CHOKEPOINT_EXPORT_NET(v11)
CHOKEPOINT_EXPORT_NET(v12)
}
