// State of one emulated thread block (= one channel of one launch).
#pragma once
#include <atomic>
#include <cstdint>
#include "tests/softgpu/emu/layout.h"
#include "tests/softgpu/emu/functab.h"
#include "tests/softgpu/emu/fiber.h"
#include "tests/softgpu/emu/reduce.h"
namespace emu {

extern int gDebug;

struct Grid {
  const Layout* lay; const std::vector<Func>* funcs;
  const char* args; KernelArgs ka;
  int rank, nRanks, nNodes, buffSizes[kNumProtos], p2pChunkSize; bool isAllNvlink;
  volatile uint32_t* abortFlag; char* channels; int* rankToLocalRank; char *workStarted, *workCompleted; uint32_t* workConsumed;
};

struct Block {
  const Grid* g;
  int blockIdx, channelId;
  char* chan;  // ncclDevChannel
  ChannelPeer** peers;
  int ringPrev, ringNext, *ringRanks, ringIndex, treeUp, treeDown[3];
  bool aborted = false;
  bool checkAbort() { if (!aborted && g->abortFlag && *g->abortFlag) aborted = true; return aborted; }
};

// Waits until *ptr + add >= want (a counter the other side advances). False if aborted.
inline bool waitCounter(Block& b, const volatile uint64_t* ptr, uint64_t& cache, uint64_t add, uint64_t want, const char* what, int peer) {
  if (cache + add >= want) return true;
  Fiber* f = Scheduler::current()->self();
  f->what = what; f->waitPtr = ptr; f->waitWant = want - add; f->peer = peer;
  bool ok = waitUntil([&] { cache = __atomic_load_n(ptr, __ATOMIC_ACQUIRE); return cache + add >= want; }, [&] { return b.checkAbort(); });
  f->waitPtr = nullptr; f->what = "?";
  return ok;
}

// ---- primitives: one per (group of) peers, one implementation per protocol
enum Buf { kNone = -1, kIn = 0, kOut = 1 };

struct PrimsArgs {
  const int* recvPeers; int maxRecv; const int* sendPeers; int maxSend;
  char *in, *out; Op op;
  int connRecv = 0, connSend = 0;
  int slicePerChunk = 1, stepPerSlice = 1;  // Simple only
  int64_t stepSizeElts = 0;                 // Simple only; 0: from the buffer size
  // registration (Simple only)
  bool p2p = false, direct = false, sendIpc = false, recvIpc = false, sendNet = false, recvNet = false;
  bool netOffload = false;
  const Coll* coll = nullptr;
};

class Prims {
 public:
  virtual ~Prims() {}
  // Moves up to one chunk. Offsets and counts are in elements.
  virtual void op(bool recv, bool send, Buf src, Buf dst, int64_t srcIx, int64_t dstIx, int64_t n, bool post,
                  bool directRecv = false, bool directSend = false) = 0;
  virtual void setPtrs(char* in, char* out) = 0;
  virtual void finish() = 0;  // stores the steps for the next operation

  void send(int64_t i, int64_t n) { op(false, true, kIn, kNone, i, 0, n, false); }
  void directSend(int64_t i, int64_t o, int64_t n) { op(false, true, kIn, kNone, i, o, n, false, false, true); }
  void directSendFromOutput(int64_t o, int64_t n) { op(false, true, kOut, kNone, o, o, n, false, false, true); }
  void directRecv(int64_t o, int64_t n) { op(true, false, kNone, kOut, o, o, n, false, true, false); }
  void directCopySend(int64_t i, int64_t o, int64_t n) { op(false, true, kIn, kOut, i, o, n, false, false, true); }
  void recvReduceSend(int64_t i, int64_t n) { op(true, true, kIn, kNone, i, 0, n, false); }
  void directRecvReduceDirectSend(int64_t i, int64_t o, int64_t n) { op(true, true, kIn, kNone, i, o, n, false, true, true); }
  void recvReduceCopy(int64_t i, int64_t o, int64_t n, bool post) { op(true, false, kIn, kOut, i, o, n, post); }
  void directRecvReduceCopy(int64_t i, int64_t o, int64_t n, bool post) { op(true, false, kIn, kOut, i, o, n, post, true, false); }
  void directRecvReduceCopyDirectSend(int64_t i, int64_t o, int64_t n, bool post) { op(true, true, kIn, kOut, i, o, n, post, true, true); }
  void directRecvCopyDirectSend(int64_t i, int64_t o, int64_t n) { op(true, true, kNone, kOut, i, o, n, false, true, true); }
};

std::unique_ptr<Prims> makePrims(Block& b, int proto, const PrimsArgs& a);

inline int64_t divUp(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t roundUp(int64_t a, int64_t b) { return divUp(a, b) * b; }

// colls.cpp
bool runColl(Block& b, const Func& f, const Coll& c);
void runP2pBatch(Block& b, RawP2p* works, int n);
void runBcastBatch(Block& b, int proto, RawBcast* works, int n);
bool runParallel(Block& b, std::vector<std::function<void()>> parts);  // waits for all

}  // namespace emu
