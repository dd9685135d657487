// Version-free events into each version's descriptor, and the calls through its table.
// Must not initialise what NCCL does not: descriptors and arguments start as garbage.
#include "tests/fakes/fake_profiler.h"

#include <cstring>

namespace chokepoint::tests {
namespace {

constexpr int kGarbage = 0xa5;

int NumberOf(const char* const* names, int count, const char* name) {
  for (int i = 0; i < count; ++i)
    if (std::strcmp(names[i], name) == 0) return i;
  return 0xee;
}

constexpr const char* kFunctions[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                      "AllReduce", "SendRecv", "Send",      "Recv"};
constexpr const char* kDatatypes[] = {"ncclInt8",    "ncclUint8",   "ncclInt32",   "ncclUint32",
                                      "ncclInt64",   "ncclUint64",  "ncclFloat16", "ncclFloat32",
                                      "ncclFloat64", "ncclBfloat16"};
constexpr const char* kAlgorithms[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr const char* kProtocols[] = {"LL", "LL128", "SIMPLE"};

// A string, or up to v1 its number.
template <class Field, int N>
void Put(Field* field, const char* text, const char* const (&names)[N]) {
  if constexpr (std::is_pointer_v<Field>) {
    *field = text;
  } else {
    *field = static_cast<Field>(NumberOf(names, N, text));
  }
}

template <class Part>
void FillOperation(Part* part, const FakeEvent& event) {
  Put(&part->func, event.function, kFunctions);
  Put(&part->datatype, event.datatype, kDatatypes);
  part->count = event.count;
  if constexpr (requires { part->name; }) part->name = event.communicator_name;
  if constexpr (requires { part->commHash; }) part->commHash = event.communicator_hash;
  if constexpr (requires { part->nChannels; }) part->nChannels = event.channels;
  if constexpr (requires { part->nMaxChannels; }) part->nMaxChannels = event.channels;
  if constexpr (requires { part->parentGroup; }) part->parentGroup = event.group;
}

template <class Descr>
void FillOld(Descr* descr, const FakeEvent& event) {
  switch (event.type) {
    case ncclProfileColl:
      FillOperation(&descr->coll, event);
      Put(&descr->coll.algo, event.algorithm, kAlgorithms);
      Put(&descr->coll.proto, event.protocol, kProtocols);
      descr->coll.seqNumber = event.sequence;
      descr->coll.root = event.root;
      break;
    case ncclProfileP2p:
      FillOperation(&descr->p2p, event);
      descr->p2p.peer = event.peer;
      break;
    case ncclProfileProxyOp:
      descr->proxyOp = {event.pid,   event.channel,     event.peer,
                        event.steps, event.chunk_bytes, event.send ? 1 : 0};
      break;
    case ncclProfileProxyStep:
      descr->proxyStep.step = event.step;
      break;
    default:
      break;
  }
  if constexpr (requires { descr->kernelCh; }) {
    if (event.type == ncclProfileKernelCh) {
      descr->kernelCh.channelId = event.channel;
      if constexpr (requires { descr->kernelCh.pTimer; }) descr->kernelCh.pTimer = event.timer_ns;
    }
  }
}

template <class Part>
void FillCall(Part* part, const FakeEvent& event) {
  part->func = event.function;
  part->count = event.count;
  part->datatype = event.datatype;
  part->stream = nullptr;
  part->graphCaptured = event.graph_captured;
}

template <class Descr>
void FillNew(Descr* descr, const FakeEvent& event) {
  if constexpr (requires { descr->groupApi; }) {
    switch (event.type) {
      case ncclProfileGroupApi:
        descr->groupApi = {event.graph_captured, event.group_depth};
        break;
      case ncclProfileCollApi:
        FillCall(&descr->collApi, event);
        descr->collApi.root = event.root;
        break;
      case ncclProfileP2pApi:
        FillCall(&descr->p2pApi, event);
        break;
      default:
        break;
    }
  }
  if constexpr (requires { descr->ceColl; }) {
    switch (event.type) {
      case ncclProfileCeColl:
        descr->ceColl.func = event.function;
        descr->ceColl.datatype = event.datatype;
        descr->ceColl.seqNumber = event.sequence;
        descr->ceColl.count = event.count;
        break;
      case ncclProfileCeSync:
        descr->ceCollSync = {true, event.parts};
        break;
      case ncclProfileCeBatch:
        descr->ceCollBatch = {event.parts, event.bytes, false};
        break;
      default:
        break;
    }
  }
}

template <class Table, class Descr, class Args, int kVersion>
class Version final : public FakeProfiler {
 public:
  explicit Version(const Table* table) : table_(*table) {}
  int version() const override { return kVersion; }
  const char* name() const override { return table_.name; }

  ncclResult_t Init(void** context, int* mask, const FakeCommunicator& told) override {
    if constexpr (kVersion <= 3) {
      return table_.init(context, mask);
    } else if constexpr (kVersion == 4) {
      return table_.init(context, mask, told.name, told.id, told.nodes, told.ranks, told.rank,
                         &FakeNcclLog);
    } else {
      return table_.init(context, told.id, mask, told.name, told.nodes, told.ranks, told.rank,
                         &FakeNcclLog);
    }
  }

  ncclResult_t Start(void* context, void** handle, const FakeEvent* event) override {
    if (event == nullptr) return table_.startEvent(context, handle, nullptr);
    Descr descr;
    std::memset(static_cast<void*>(&descr), kGarbage, sizeof(descr));
    descr.type = static_cast<decltype(descr.type)>(event->type);
    descr.parentObj = event->parent;
    descr.rank = event->rank;
    FillOld(&descr, *event);
    FillNew(&descr, *event);
    return table_.startEvent(context, handle, &descr);
  }

  ncclResult_t Stop(void* handle) override { return table_.stopEvent(handle); }

  ncclResult_t State(void* handle, int state, const FakeStateArgs* told) override {
    if (told == nullptr) return table_.recordEventState(handle, state, nullptr);
    Args args;
    std::memset(static_cast<void*>(&args), kGarbage, sizeof(args));
    if constexpr (requires { args.proxyOp; }) {
      if (state <= ncclProfilerProxyOpRecvDone) args.proxyOp = {told->bytes, told->steps};
    } else if (state == ncclProfilerKernelChStop) {
      args.kernelCh.pTimer = told->timer_ns;
    } else {
      args.proxyStep.transSize = told->bytes;
    }
    return table_.recordEventState(handle, state, &args);
  }

  ncclResult_t Finalize(void* context) override { return table_.finalize(context); }

 private:
  Table table_;
};

template <class Table, class Descr, class Args, int kVersion>
std::unique_ptr<FakeProfiler> Make(const void* symbol) {
  return std::make_unique<Version<Table, Descr, Args, kVersion>>(static_cast<const Table*>(symbol));
}

}  // namespace

std::unique_ptr<FakeProfiler> MakeFakeProfiler(int version, const void* symbol) {
  switch (version) {
#define CHOKEPOINT_CASE(n)                                              \
  case n:                                                               \
    return Make<ncclProfiler_v##n##_t, ncclProfilerEventDescr_v##n##_t, \
                ncclProfilerEventStateArgs_v##n##_t, n>(symbol);
    CHOKEPOINT_CASE(1)
    CHOKEPOINT_CASE(2)
    CHOKEPOINT_CASE(3)
    CHOKEPOINT_CASE(4)
    CHOKEPOINT_CASE(5)
    CHOKEPOINT_CASE(6)
    CHOKEPOINT_CASE(7)
#undef CHOKEPOINT_CASE
    default:
      return nullptr;
  }
}

void* FakeProfiler::Start(void* context, const FakeEvent& event) {
  void* handle = reinterpret_cast<void*>(std::uintptr_t{0xdeadbeefdeadbeef});
  Start(context, &handle, &event);
  return handle;
}

}  // namespace chokepoint::tests
