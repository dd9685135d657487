// Entry points: decoding of the kernel arguments, the loop over work batches, profiler counters.
#include "tests/softgpu/emu/nccl_emu.h"
#include "tests/softgpu/emu/block.h"
#include <atomic>
#include <mutex>
#include <map>
#include <thread>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <algorithm>

namespace emu {
int gDebug = 0;
namespace {
std::once_flag once;
std::atomic<int> gVersion{0};
int gThreads = 1;
double gSlow = 0;
bool gTimerMono = false;
std::atomic<uint64_t> nLaunch{0}, nBlock{0}, nWork{0}, nBad{0}, nAbort{0};

struct Tables { Layout lay; std::vector<Func> funcs; };

std::atomic<bool> gVersionByHand{false};

int detectVersion() {
  if (const char* e = getenv("SOFTGPU_NCCL_VERSION")) { gVersionByHand = true; return atoi(e); }
  auto ask = [](void* h) -> int {
    int (*fn)(int*) = (int (*)(int*))dlsym(h, "ncclGetVersion");
    int v = 0;
    return fn && fn(&v) == 0 ? v : 0;
  };
  std::string path;
  dl_iterate_phdr([](dl_phdr_info* i, size_t, void* p) -> int {
    const char* s = i->dlpi_name ? strrchr(i->dlpi_name, '/') : nullptr;
    s = s ? s + 1 : i->dlpi_name;
    if (s && !strncmp(s, "libnccl.so", 10)) { *(std::string*)p = i->dlpi_name; return 1; }
    return 0;
  }, &path);
  if (!path.empty()) {
    if (void* h = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
      int v = ask(h);
      dlclose(h);
      if (v) return v;
    }
  }
  int v = ask(RTLD_DEFAULT);
  return v ? v : 22809;
}

void init() {
  std::call_once(once, [] {
    if (const char* e = getenv("SOFTGPU_EMU_DEBUG")) gDebug = atoi(e);
    if (const char* e = getenv("SOFTGPU_EMU_THREADS")) gThreads = atoi(e);
    if (const char* e = getenv("SOFTGPU_KERNEL_NS_PER_BYTE")) gSlow = atof(e);
    if (const char* e = getenv("SOFTGPU_EMU_GLOBALTIMER")) gTimerMono = !strcmp(e, "monotonic");
  });
}

const Tables& tables() {
  init();
  static std::mutex m;
  static auto& all = *new std::map<int, Tables*>;  // never freed: fibers hold references
  std::lock_guard<std::mutex> l(m);
  if (!gVersion) gVersion = detectVersion();
  Tables*& t = all[gVersion];
  if (!t) {
    t = new Tables{layoutFor(gVersion), {}};
    t->funcs = buildFuncTable(t->lay.nTypes, t->lay.hasAllGatherV, t->lay.signedPostDiv);
  }
  return *t;
}

uint64_t globaltimer() {
  timespec t;
  clock_gettime(gTimerMono ? CLOCK_MONOTONIC : CLOCK_REALTIME, &t);
  return t.tv_sec * 1000000000ull + t.tv_nsec;
}

// The counters that the host's profiler transport polls. [started, completed] x channel x (work counter % 64).
void profile(Block& b, char* table, const std::vector<bool>& on, uint64_t before) {
  if (!table) return;
  const Layout& L = *b.g->lay;
  if (!L.profSlots) {  // up to 2.26: a single counter per channel
    if (std::find(on.begin(), on.end(), true) != on.end())
      __atomic_store_n((uint64_t*)table + b.channelId, before + on.size(), __ATOMIC_RELEASE);
    return;
  }
  DevProfiler* p = (DevProfiler*)table + b.channelId;
  for (size_t i = 0; i < on.size(); i++) {
    if (!on[i]) continue;
    uint64_t wc = before + 1 + i;
    ProfSlot& s = p->data[wc % kProfEvents];
    __atomic_store_n(&s.timestamp, globaltimer(), __ATOMIC_RELAXED);
    __atomic_store_n(&s.counter, wc, __ATOMIC_RELEASE);
  }
}

void bad(const char* fmt, const char* a) {
  nBad++;
  fprintf(stderr, "nccl_emu[%d]: ", (int)getpid());
  fprintf(stderr, fmt, a);
  fputc('\n', stderr);
  fflush(stderr);
}

using Work = std::vector<uint64_t>;  // one work struct, as raw words

int workSize(const Layout& l, const WorkBatch& batch) {
  switch (batch.workType()) {
    case kWorkP2p: return (int)sizeof(RawP2p);
    case kWorkColl: return l.coll_size;
    case kWorkCollReg: return l.collreg_size;
    default: return (int)sizeof(RawBcast);
  }
}

Work readWork(const Grid& g, uint32_t offset, int size) {
  Work w(size / 8);
  for (int at = 0; at < size; at += 16) {  // a work may wrap around in the fifo, in pieces of 16 bytes
    uint32_t from = offset + at;
    const char* src = g.ka.workStorageType == kStoreArgs ? g.args + from : g.ka.workBuf + (from & g.ka.workMask);
    memcpy((char*)w.data() + at, src, 16);
  }
  return w;
}

// Reads the batch at index ix and the ones that extend it; returns the last one. ix moves to it.
WorkBatch loadBatch(const Grid& g, int* ix, std::vector<Work>* works, uint32_t* consumed) {
  const WorkBatch* batches = (const WorkBatch*)(g.args + sizeof(KernelArgs));
  works->clear();
  for (;;) {
    WorkBatch wb = batches[*ix];
    int size = workSize(*g.lay, wb);
    for (uint64_t bits = wb.offsetBitset; bits; bits &= bits - 1)
      works->push_back(readWork(g, wb.offsetBase + __builtin_ctzll(bits) * size, size));
    *consumed = wb.offsetBase + (wb.offsetBitset ? 64 - __builtin_clzll(wb.offsetBitset) : 0) * size;
    if (!wb.nextExtends()) return wb;
    *ix += wb.nextJump();
  }
}

bool isProfiled(const Layout& l, int workType, const Work& w) {
  if (workType == kWorkBcast) return false;
  return workType == kWorkP2p ? ((const RawP2p*)w.data())->prof() : decodeColl(l, w.data()).prof;
}

void printColl(const Block& b, const WorkBatch& wb, const Func& f, const Coll& c, uint64_t counter) {
  fprintf(stderr, "nccl_emu: r%d ch %d func %d %s type %d channels %d..%d counts %llu/%llu/%llu grains %llu/%llu/%llu root %d "
          "in %p out %p arg %llx%s%s%s prof %d wc %llu\n",
          b.g->rank, b.channelId, wb.funcId(), f.name.c_str(), wb.workType(), c.channelLo, c.channelHi, (unsigned long long)c.countLo,
          (unsigned long long)c.countMid, (unsigned long long)c.countHi, (unsigned long long)c.grainsLo,
          (unsigned long long)c.grainsMid, (unsigned long long)c.grainsHi, c.root, c.sendbuff, c.recvbuff,
          (unsigned long long)c.redOpArg, c.redOpArgIsPtr ? "*" : "", c.regUsed ? " reg" : "", c.netRegUsed ? " netReg" : "",
          (int)c.prof, (unsigned long long)counter);
}

template <class Raw> std::vector<Raw> asStructs(const std::vector<Work>& works) {
  std::vector<Raw> all(works.size());
  for (size_t i = 0; i < works.size(); i++) memcpy(&all[i], works[i].data(), sizeof(Raw));
  return all;
}

// Runs the works of one batch; returns how many bytes they are about.
uint64_t runBatch(Block& b, const WorkBatch& wb, const Func* f, const std::vector<Work>& works, uint64_t counter) {
  uint64_t bytes = 0;
  if (!f) {
    bad("funcId out of range%s", "");
  } else if (f->coll == kSendRecv && wb.workType() == kWorkP2p) {
    std::vector<RawP2p> w = asStructs<RawP2p>(works);
    for (auto& one : w) bytes += one.sendBytes;
    runP2pBatch(b, w.data(), (int)w.size());
  } else if (wb.workType() == kWorkColl || wb.workType() == kWorkCollReg) {
    for (size_t i = 0; i < works.size() && !b.aborted; i++) {
      Coll c = decodeColl(*b.g->lay, works[i].data());
      if (gDebug >= 2) printColl(b, wb, *f, c, counter + 1 + i);
      bytes += (c.countLo + c.countMid + c.countHi) * typeSize(f->type);
      if (!runColl(b, *f, c)) bad("not implemented: %s (set NCCL_ALGO=Ring,Tree or NCCL_PAT_ENABLE=0)", f->name.c_str());
    }
  } else if (f->coll == kAllGatherV && wb.workType() == kWorkBcast) {
    std::vector<RawBcast> w = asStructs<RawBcast>(works);
    for (auto& one : w) bytes += one.bytes;
    runBcastBatch(b, f->proto, w.data(), (int)w.size());
  } else {
    bad("not implemented: work type of %s", f->name.c_str());
  }
  return bytes;
}

void runBlock(Block& b) {
  const Grid& g = *b.g;
  const Layout& L = *g.lay;
  uint64_t noCounter = 0;
  uint64_t* counter = L.chan_workCounter >= 0 ? (uint64_t*)(b.chan + L.chan_workCounter) : &noCounter;
  uint64_t wc = *counter;
  uint32_t consumed = 0;
  std::vector<Work> works;
  for (int ix = b.blockIdx; ix >= 0 && !b.aborted;) {
    WorkBatch wb = loadBatch(g, &ix, &works, &consumed);
    int next = wb.nextJump() ? ix + (int)wb.nextJump() : -1;
    nWork += works.size();
    std::vector<bool> profiled(works.size());
    for (size_t i = 0; i < works.size(); i++) profiled[i] = isProfiled(L, wb.workType(), works[i]);
    profile(b, g.workStarted, profiled, wc);
    const Func* f = wb.funcId() < (int)g.funcs->size() ? &(*g.funcs)[wb.funcId()] : nullptr;
    Scheduler::current()->self()->label = f ? f->name.c_str() : "?";
    uint64_t begin = gSlow > 0 ? globaltimer() : 0;
    uint64_t bytes = runBatch(b, wb, f, works, wc);
    if (gSlow > 0) {  // pretend that the kernel takes that long
      uint64_t end = begin + (uint64_t)(bytes * gSlow);
      waitUntil([&] { return globaltimer() >= end; }, [&] { return b.checkAbort(); });
    }
    profile(b, g.workCompleted, profiled, wc);
    wc += works.size();
    ix = next;
  }
  __atomic_store_n(counter, wc, __ATOMIC_RELEASE);
  if (g.workConsumed) __atomic_store_n(g.workConsumed + b.channelId, consumed, __ATOMIC_RELEASE);  // fifo credits, up to 2.26
  if (b.aborted) nAbort++;
}

void runRange(const Grid& g, std::vector<Block>& blocks, size_t first, size_t stride, const char* name) {
  Scheduler s([&](FILE* f) {
    fprintf(f, "  kernel %s, rank %d of %d, channels %llx\n", name, g.rank, g.nRanks, (unsigned long long)g.ka.channelMask);
  });
  for (size_t i = first; i < blocks.size(); i += stride) {
    Block* b = &blocks[i];
    Fiber* f = s.spawn([b] { runBlock(*b); });
    f->channel = b->channelId;
  }
  s.run();
}

void launchNccl(const char* name, const void* args, size_t size, unsigned grid) {
  const Tables& t = tables();
  const Layout& L = t.lay;
  Grid g{};
  g.lay = &L; g.funcs = &t.funcs; g.args = (const char*)args;
  if (size < sizeof(KernelArgs)) { bad("parameter buffer too small for %s", name); return; }
  memcpy(&g.ka, args, sizeof g.ka);
  const char* c = g.ka.comm;
  g.rank = peek<int>(c, 0); g.nRanks = peek<int>(c, 4); g.nNodes = peek<int>(c, 12);
  for (int i = 0; i < kNumProtos; i++) g.buffSizes[i] = peek<int>(c, 16 + 4 * i);
  g.p2pChunkSize = peek<int>(c, L.comm_p2pChunkSize);
  g.isAllNvlink = peek<int>(c, L.comm_isAllNvlink) != 0;
  g.abortFlag = peek<volatile uint32_t*>(c, L.comm_abortFlag);
  g.channels = (char*)c + L.kcc_channels;
  g.rankToLocalRank = L.comm_rankToLocalRank >= 0 ? peek<int*>(c, L.comm_rankToLocalRank) : nullptr;
  if (L.comm_workStarted >= 0) {
    g.workStarted = peek<char*>(c, L.comm_workStarted);
    g.workCompleted = peek<char*>(c, L.comm_workCompleted);
  }
  if (L.comm_workConsumed >= 0 && g.ka.workStorageType == kStoreFifo) g.workConsumed = peek<uint32_t*>(c, L.comm_workConsumed);
  if (peek<char*>(c, L.comm_abortFlag + 8) != g.channels) {
    bad("%s: ncclDevComm looks wrong (channels pointer isn't behind it): another NCCL version?", name);
    return;
  }
  std::vector<Block> blocks;
  uint64_t mask = g.ka.channelMask;
  for (unsigned i = 0; i < grid && mask; i++, mask &= mask - 1) {
    Block b{};
    b.g = &g; b.blockIdx = i; b.channelId = __builtin_ctzll(mask);
    b.chan = g.channels + (size_t)b.channelId * L.channel_size;
    b.peers = peek<ChannelPeer**>(b.chan, 0);
    b.ringPrev = peek<int>(b.chan, 8); b.ringNext = peek<int>(b.chan, 12); b.ringRanks = peek<int*>(b.chan, 16);
    b.ringIndex = peek<int>(b.chan, 8 + L.ring_index);
    b.treeUp = peek<int>(b.chan, L.chan_tree + 4);
    for (int k = 0; k < 3; k++) b.treeDown[k] = peek<int>(b.chan, L.chan_tree + 8 + 4 * k);
    blocks.push_back(b);
  }
  nBlock += blocks.size();
  if (gDebug >= 1)
    fprintf(stderr, "nccl_emu: r%d/%d launch %s grid %u channels %llx storage %d\n", g.rank, g.nRanks, name, grid,
            (unsigned long long)g.ka.channelMask, g.ka.workStorageType);
  size_t nt = gThreads <= 0 ? blocks.size() : std::min<size_t>(gThreads, blocks.size());
  std::vector<std::thread> th;
  for (size_t i = 1; i < nt; i++) th.emplace_back([&, i] { runRange(g, blocks, i, nt, name); });
  if (nt) runRange(g, blocks, 0, nt, name);
  for (auto& x : th) x.join();
  if (gDebug >= 1) fprintf(stderr, "nccl_emu: r%d/%d done %s\n", g.rank, g.nRanks, name);
}

// oneRankReduce<FuncPreMulSum<T>>(void* dst, void* src, size_t n, uint64_t arg, bool argIsPtr)
void launchOneRank(const char* name, const void* args, size_t size) {
  if (size < 33) { bad("parameter buffer too small for %s", name); return; }
  char* dst = peek<char*>(args, 0); char* src = peek<char*>(args, 8);
  size_t n = peek<size_t>(args, 16); uint64_t arg = peek<uint64_t>(args, 24); bool isPtr = peek<bool>(args, 32);
  static const struct { const char* key; int type; } map[] = {
    {"FuncPreMulSumI13__nv_bfloat16", kBF16}, {"FuncPreMulSumI6__half", kF16}, {"FuncPreMulSumI13__nv_fp8_e4m3", kF8E4M3},
    {"FuncPreMulSumI13__nv_fp8_e5m2", kF8E5M2}, {"FuncPreMulSumIa", kI8}, {"FuncPreMulSumIh", kU8}, {"FuncPreMulSumIi", kI32},
    {"FuncPreMulSumIj", kU32}, {"FuncPreMulSumIl", kI64}, {"FuncPreMulSumIm", kU64}, {"FuncPreMulSumIf", kF32}, {"FuncPreMulSumId", kF64}};
  for (auto& m : map) if (strstr(name, m.key)) {
    Op op{kPreMulSum, m.type, arg, typeSize(m.type)};
    if (isPtr) { op.arg = 0; memcpy(&op.arg, (void*)arg, op.es); }
    void *s = src, *d = dst;
    reduceCopy(op, true, true, 1, &s, 1, &d, n);
    return;
  }
  bad("unknown type in kernel %s", name);
}
}  // namespace
}  // namespace emu

using namespace emu;

extern "C" int nccl_emu_knows(const char* n) {
  return n && ((strstr(n, "ncclDevKernel_") && !strstr(n, "ncclSym")) || strstr(n, "oneRankReduce"));
}

extern "C" void nccl_emu_launch(const char* name, const void* args, size_t size, unsigned grid, unsigned) {
  init();
  nLaunch++;
  if (name && strstr(name, "oneRankReduce")) return launchOneRank(name, args, size);
  if (!nccl_emu_knows(name)) return bad("unknown kernel %s", name ? name : "(null)");
  launchNccl(name, args, size, grid);
}

extern "C" void nccl_emu_set_version(int v) { gVersion = v; gVersionByHand = true; }
extern "C" int nccl_emu_version(void) { tables(); return gVersion; }
extern "C" int nccl_emu_version_is_usable(void) {
  int v = nccl_emu_version();
  return gVersionByHand || (v >= kFirstVersionWithLayout && v < kFirstVersionUnknown);
}
extern "C" void nccl_emu_get_stats(nccl_emu_stats* o) { *o = {nLaunch, nBlock, nWork, nBad, nAbort}; }
extern "C" const char* nccl_emu_func_name(int id) {
  auto& f = tables().funcs;
  return id >= 0 && id < (int)f.size() ? f[id].name.c_str() : nullptr;
}
extern "C" int nccl_emu_func_count(void) { return (int)tables().funcs.size(); }
