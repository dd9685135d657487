// Stand-alone test of the emulator: n ranks in one process, and a thread that plays all the proxies of the NET
// transport (takes sizes and data from the senders' FIFOs, copies to the receivers'). 2.28 layout.
#include "tests/softgpu/emu/nccl_emu.h"
#include "tests/softgpu/emu/layout.h"
#include "tests/softgpu/emu/functab.h"
#include <thread>
#include <functional>
#include <atomic>
#include <vector>
#include <memory>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <random>
#include <sched.h>
using namespace emu;

static const Layout L = layoutFor(22809);
static int buffSizes[3] = {8 * 64 * 16, 8 * 32 * 128, 8 * 8192};
static const int p2pChunk = 4096;

static uint64_t gStart = 0;  // first step of all connections
struct Mem { alignas(128) uint64_t tail; ConnFifo fifo[kSteps]; alignas(128) uint64_t head; std::vector<char> buf[3]; };
struct Conn {  // one direction between two ranks on a channel
  std::unique_ptr<Mem> s{new Mem()}, r{new Mem()};
  int src, dst; uint64_t step = 0, base = 0; bool shared = false;
  Conn(int a, int b) : src(a), dst(b) {
    for (auto* m : {s.get(), r.get()}) {
      m->tail = m->head = gStart; step = gStart;
      for (auto& f : m->fifo) f = {0, -1, -1, nullptr};
      for (int p = 0; p < 3; p++) m->buf[p].resize(buffSizes[p] + 128);
    }
  }
  static char* al(std::vector<char>& v) { return (char*)(((uintptr_t)v.data() + 127) & ~(uintptr_t)127); }
  // One proxy poll; returns true if something moved.
  bool poll(int proto, int slice) {
    int slot = step % kSteps;
    volatile ConnFifo* f = &s->fifo[slot];
    if (f->size == -1) return false;
    if (proto != kProtoLL && __atomic_load_n(&s->tail, __ATOMIC_ACQUIRE) <= step) return false;
    if (__atomic_load_n(&r->head, __ATOMIC_ACQUIRE) + kSteps < step + slice) return false;  // receiver's buffer is full
    int64_t size = f->size;
    int64_t stepSize = buffSizes[proto] / kSteps;
    char* from = al(s->buf[proto]) + slot * stepSize;
    char* to = al(r->buf[proto]) + slot * stepSize;
    if (size > stepSize * slice) { fprintf(stderr, "size %ld too large\n", (long)size); abort(); }
    if (proto == kProtoLL) for (int64_t i = 0; i < size / 16; i++) {
      LLLine* l = (LLLine*)from + i;
      if (l->flag1 != (uint32_t)(step + 1) || l->flag2 != (uint32_t)(step + 1)) return false;
    }
    if (proto == kProtoLL128) for (int64_t i = 0; i < size / 128; i++) if (((uint64_t*)from)[i * 16 + 15] != step + 1) return false;
    memcpy(to, from, size);
    r->fifo[slot].size = -1;
    __sync_synchronize();
    __atomic_store_n(&r->tail, step + slice, __ATOMIC_RELEASE);
    f->size = -1;
    __sync_synchronize();
    step += slice;
    __atomic_store_n(&s->head, step, __ATOMIC_RELEASE);
    return true;
  }
};

struct Rank {
  std::vector<char> kcc; std::vector<std::vector<ChannelPeer*>> peers; std::vector<std::unique_ptr<ChannelPeer>> own;
  std::vector<int> ringRanks; std::vector<DevProfiler> st, en; uint32_t abortFlag = 0;
  char* comm() { return (char*)(((uintptr_t)kcc.data() + 15) & ~(uintptr_t)15); }
};

template <class T> void poke(void* b, int o, T v) { memcpy((char*)b + o, &v, sizeof v); }

struct World {
  int n, nch; std::vector<Rank> r; std::vector<std::unique_ptr<Conn>> conns[2];
  World(int n, int nch, bool tree) : n(n), nch(nch), r(n) {
    for (int i = 0; i < n; i++) {
      Rank& k = r[i];
      k.kcc.resize(96 + 64 * 368 + 16);
      k.st.resize(64); k.en.resize(64);
      memset(k.st.data(), 0, 64 * sizeof(DevProfiler)); memset(k.en.data(), 0, 64 * sizeof(DevProfiler));
      char* c = k.comm();
      poke(c, 0, i); poke(c, 4, n); poke(c, 8, i); poke(c, 12, n);
      for (int p = 0; p < 3; p++) poke(c, 16 + 4 * p, buffSizes[p]);
      poke(c, 28, p2pChunk); poke(c, 48, &k.abortFlag); poke(c, 56, c + 96); poke(c, 72, k.st.data()); poke(c, 80, k.en.data());
      for (int j = 0; j < n; j++) k.ringRanks.push_back((i + j) % n);
      k.peers.resize(nch);
      for (int ch = 0; ch < nch; ch++) {
        for (int j = 0; j < n; j++) { k.own.emplace_back(new ChannelPeer()); memset((void*)k.own.back().get(), 0, sizeof(ChannelPeer)); k.peers[ch].push_back(k.own.back().get()); }
        char* x = c + 96 + ch * 368;
        poke(x, 0, k.peers[ch].data());
        poke(x, 8, (i + n - 1) % n); poke(x, 12, (i + 1) % n); poke(x, 16, k.ringRanks.data()); poke(x, 24, i);
        int up = i == 0 ? -1 : (i - 1) / 2, d0 = 2 * i + 1 < n ? 2 * i + 1 : -1, d1 = 2 * i + 2 < n ? 2 * i + 2 : -1;
        poke(x, 32, 1); poke(x, 36, up); poke(x, 40, d0); poke(x, 44, d1); poke(x, 48, -1);
      }
    }
    for (int ch = 0; ch < nch; ch++) for (int a = 0; a < n; a++) for (int b = 0; b < n; b++) if (a != b) for (int ci = 0; ci < 2; ci++) {
      conns[ci].emplace_back(new Conn(a, b));
      Conn& c = *conns[ci].back();
      auto set = [&](ConnInfo& q, Mem* m, bool send) {
        for (int p = 0; p < 3; p++) q.buffs[p] = Conn::al(m->buf[p]);
        q.tail = &m->tail; q.head = &m->head; q.stepSize = buffSizes[2] / kSteps; q.connFifo = m->fifo; q.step = gStart;
        (void)send;
      };
      set(r[a].peers[ch][b]->send[ci], c.s.get(), true);
      set(r[b].peers[ch][a]->recv[ci], c.r.get(), false);
    }
    (void)tree;
  }
  // Runs one kernel on each rank; args made by mk(rank).
  void run(int ci, int proto, int slice, int chunk, std::function<std::vector<char>(int)> mk) {
    std::atomic<int> left{n};
    std::vector<std::thread> th;
    for (auto& c : conns[ci]) if (chunk == 1 || c->dst == (c->src + 1) % n) c->step = (c->step + chunk - 1) / chunk * chunk;  // only rings have chunk > 1
    for (int i = 0; i < n; i++) th.emplace_back([&, i] {
      auto a = mk(i);
      nccl_emu_launch("_Z22ncclDevKernel_Generic24ncclDevKernelArgsStorageILm4096EE", a.data(), a.size(), nch, 640);
      left--;
    });
    std::thread px([&] { while (left) { bool m = false; for (auto& c : conns[ci]) m |= c->poll(proto, slice); if (!m) sched_yield(); } });
    for (auto& t : th) t.join();
    px.join();
  }
};

static int funcId(const std::string& name) {
  for (int i = 0; i < nccl_emu_func_count(); i++) if (name == nccl_emu_func_name(i)) return i;
  fprintf(stderr, "no func %s\n", name.c_str()); exit(1);
}

static std::vector<char> collArgs(World& w, int rank, int func, int proto, int es, int64_t count, int chunkSteps, int root, char* in, char* out, uint64_t arg) {
  std::vector<char> a(4096);
  char* p = a.data();
  poke(p, 0, w.r[rank].comm()); poke(p, 8, (1ull << w.nch) - 1); poke<uint8_t>(p, 16, 0); poke(p, 20, 0xffffffffu); poke<void*>(p, 24, nullptr);
  int nb = w.nch, off = 32 + 16 * nb; off = (off + 15) & ~15;
  for (int b = 0; b < nb; b++) {
    uint32_t fl = (uint32_t)func << 17 | (uint32_t)kWorkColl << 15;
    poke(p, 32 + 16 * b, fl); poke(p, 36 + 16 * b, (uint32_t)off); poke<uint64_t>(p, 40 + 16 * b, 1);
  }
  char* x = p + off;
  uint32_t word = 0 | (uint32_t)(w.nch - 1) << 8 | 16u << 16 | 0x80u << 24;
  poke(x, 0, word); poke(x, 4, root); poke(x, 8, out); poke(x, 16, in);
  int64_t lo, mid = 0, hi = 0;
  if (w.nch == 1) lo = count;
  else if (w.nch == 2) { lo = count / 3; hi = count - lo; }
  else { mid = count / w.nch; lo = mid / 2; hi = count - lo - mid * (w.nch - 2); }
  poke<uint64_t>(x, 56, lo); poke<uint64_t>(x, 64, mid); poke<uint64_t>(x, 72, hi);
  int grain = proto == 0 ? 16 : proto == 1 ? 1920 : 512;
  int64_t cap = proto == 0 ? buffSizes[0] / 8 / 2 : proto == 1 ? buffSizes[1] / 8 / 16 * 15 : (int64_t)buffSizes[2] / 8 * chunkSteps;
  uint64_t gr = cap / grain; if (!gr) { fprintf(stderr, "no grain\n"); exit(1); }
  poke<uint64_t>(x, 80, gr | gr << 21 | gr << 42);
  poke(x, 88, arg);
  (void)es;
  return a;
}

static int fails = 0, total = 0;

template <class T> void testColl(World& w, const char* coll, const char* red, const char* ty, const char* algo, int proto, int64_t count, uint64_t arg, T (*fold)(T, T), T (*fin)(T, int)) {
  static const char* pn[] = {"LL", "LL128", "SIMPLE"};
  bool reduces = !strcmp(coll, "AllReduce") || !strcmp(coll, "Reduce") || !strcmp(coll, "ReduceScatter");
  std::string name = std::string(coll) + (reduces ? std::string(" ") + red + " " + ty : "") + " " + algo + " " + pn[proto];
  int func = funcId(name), n = w.n;
  bool tree = !strcmp(algo, "TREE");
  bool big = !strcmp(coll, "AllReduce") || !strcmp(coll, "AllGather") || !strcmp(coll, "ReduceScatter");
  int chunk = proto == 2 && big && !tree ? 4 : 1, slice = proto == 2 && big && !tree ? 2 : 1;
  bool ag = !strcmp(coll, "AllGather"), rs = !strcmp(coll, "ReduceScatter"), bc = !strcmp(coll, "Broadcast"), rd = !strcmp(coll, "Reduce");
  int root = n - 1;
  std::vector<std::vector<T>> in(n), out(n);
  for (int r = 0; r < n; r++) {
    in[r].resize(count * (rs ? n : 1)); out[r].assign(count * (ag ? n : 1), T(111));
    for (size_t i = 0; i < in[r].size(); i++) in[r][i] = T((i * 7 + r * 13 + 3) % 11 + (sizeof(T) > 1 ? 1 : 0));
  }
  int64_t units = ag || bc ? count * (int64_t)sizeof(T) : count;
  w.run(0, proto, slice, chunk, [&](int r) { return collArgs(w, r, func, proto, sizeof(T), units, chunk, root, (char*)in[r].data(), (char*)out[r].data(), arg); });
  int wrong = 0;
  for (int r = 0; r < n; r++) {
    if (rd && r != root) continue;
    for (size_t i = 0; i < out[r].size(); i++) {
      T want;
      if (ag) want = in[i / count][i % count];
      else if (bc) want = in[root][i];
      else { size_t j = rs ? r * count + i : i; want = in[0][j]; for (int k = 1; k < n; k++) want = fold(want, in[k][j]); want = fin(want, n); }
      if (out[r][i] != want && wrong++ < 3) printf("   rank %d [%zu] got %g want %g\n", r, i, (double)out[r][i], (double)want);
    }
  }
  total++;
  if (wrong) { fails++; printf("WRONG %s count %ld ranks %d: %d\n", name.c_str(), (long)count, n, wrong); }
}

static void testP2p(World& w, int64_t bytes, bool ll, bool all) {
  int n = w.n, func = funcId("SendRecv");
  std::vector<std::vector<char>> in(n), out(n);
  for (int r = 0; r < n; r++) { in[r].resize(bytes * n + 1); out[r].assign(bytes * n + 1, 0); for (auto& c : in[r]) c = rand(); }
  int nw = all ? n : 1;
  w.run(1, ll ? 0 : 2, 1, 1, [&](int rank) {
    std::vector<char> a(4096);
    char* p = a.data();
    poke(p, 0, w.r[rank].comm()); poke(p, 8, (1ull << w.nch) - 1); poke<uint8_t>(p, 16, 0); poke(p, 20, 0xffffffffu);
    int off = 32 + 16 * w.nch;
    for (int b = 0; b < w.nch; b++) {
      poke(p, 32 + 16 * b, (uint32_t)func << 17); poke(p, 36 + 16 * b, (uint32_t)off); poke<uint64_t>(p, 40 + 16 * b, (1ull << nw) - 1);
    }
    for (int k = 0; k < nw; k++) {
      RawP2p x{};
      int d = all ? k : 1;
      x.sendRank = (rank + d) % n; x.recvRank = (rank + n - d) % n;
      x.sendAddr = in[rank].data() + bytes * x.sendRank; x.recvAddr = out[rank].data() + bytes * x.recvRank;
      x.sendBytes = x.recvBytes = bytes;
      x.nP2pChannels = w.nch == 3 ? 4 : w.nch; x.channelBase = 0; x.nSendChannels = x.nRecvChannels = w.nch;
      x.sendChunkFp8 = x.recvChunkFp8 = ll ? 9 << 3 : 10 << 3;  // 1<<(3+8)=... decoded below
      // want: LL 512 B (8 lines*64/..), Simple 4096: (m|8)<<(e-1)
      x.sendChunkFp8 = x.recvChunkFp8 = ll ? (7 << 3) : (10 << 3);  // 8<<6 = 512, 8<<9 = 4096
      x.bits = (ll ? 3 : 0) | 0x40;
      memcpy(p + off + 48 * k, &x, 48);
    }
    return a;
  });
  int wrong = 0;
  for (int r = 0; r < n; r++) for (int k = 0; k < nw; k++) {
    int s = (r + n - (all ? k : 1)) % n;
    if (bytes && memcmp(out[r].data() + bytes * s, in[s].data() + bytes * r, bytes)) { wrong++; printf("   rank %d from %d\n", r, s); }
  }
  total++;
  if (wrong) { fails++; printf("WRONG p2p %ld bytes ll %d all %d: %d\n", (long)bytes, ll, all, wrong); }
}

template <class T> T sum(T a, T b) { return a + b; }
template <class T> T prod(T a, T b) { return a * b; }
template <class T> T mx(T a, T b) { return a > b ? a : b; }
template <class T> T mn(T a, T b) { return a < b ? a : b; }
template <class T> T same(T a, int) { return a; }
template <class T> T avg(T a, int n) { return a / n; }

int main(int argc, char** argv) {
  int maxn = argc > 1 ? atoi(argv[1]) : 4;
  if (argc > 2) gStart = strtoull(argv[2], nullptr, 0);  // e.g. 0x7fffffd0: the LL flags' cleaning comes by
  for (int n = 2; n <= maxn; n++) for (int nch = 1; nch <= 3; nch++) {
    World w(n, nch, false);
    for (int rep = 0; rep < 2; rep++)
    for (int64_t count : {1, 3, 17, 100, 1000, 4096, 10007, 60000}) for (int proto = 0; proto < 3; proto++) {
      testColl<float>(w, "AllReduce", "Sum", "f32", "RING", proto, count, 0, sum<float>, same<float>);
      testColl<float>(w, "AllReduce", "Sum", "f32", "TREE", proto, count, 0, sum<float>, same<float>);
      testColl<double>(w, "AllReduce", "Prod", "f64", "RING", proto, count, 0, prod<double>, same<double>);
      testColl<uint8_t>(w, "AllReduce", "Sum", "u8", "RING", proto, count, 0, sum<uint8_t>, same<uint8_t>);
      testColl<int32_t>(w, "AllReduce", "MinMax", "u32", "TREE", proto, count, 0x80000000u ^ 0xffffffffu, mx<int32_t>, same<int32_t>);
      testColl<float>(w, "AllReduce", "MinMax", "f32", "RING", proto, count, 0, mn<float>, same<float>);
      testColl<int64_t>(w, "AllReduce", "SumPostDiv", "u64", "RING", proto, count, (uint64_t)n << 1 | 1, sum<int64_t>, avg<int64_t>);
      testColl<uint32_t>(w, "ReduceScatter", "Sum", "u32", "RING", proto, count, 0, sum<uint32_t>, same<uint32_t>);
      testColl<double>(w, "Reduce", "Sum", "f64", "RING", proto, count, 0, sum<double>, same<double>);
      testColl<float>(w, "AllGather", "", "", "RING", proto, count, 0, sum<float>, same<float>);
      testColl<uint8_t>(w, "Broadcast", "", "", "RING", proto, count, 0, sum<uint8_t>, same<uint8_t>);
      if (proto != 1) { testP2p(w, count, proto == 0, false); testP2p(w, count, proto == 0, true); }
    }
    testP2p(w, 0, false, true);
    // Profiler counters: every kernel above had the profiler on.
    for (int r = 0; r < n; r++) for (int ch = 0; ch < nch; ch++) {
      uint64_t wc; memcpy(&wc, w.r[r].comm() + 96 + ch * 368 + 352, 8);
      ProfSlot &s = w.r[r].st[ch].data[wc % 64], &e = w.r[r].en[ch].data[wc % 64];
      if (s.counter != wc || e.counter != wc || e.timestamp < s.timestamp || !wc) { fails++; printf("WRONG profiler counters rank %d ch %d\n", r, ch); }
    }
    printf("n %d channels %d: %d tests, %d failed\n", n, nch, total, fails); fflush(stdout);
  }
  return fails != 0;
}
