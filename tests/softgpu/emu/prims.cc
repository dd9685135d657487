// The three protocols of NCCL's primitives, at block level: where the GPU has 32..640 threads that wait, copy and
// post in roles, here one fiber does the same steps in order.
#include "tests/softgpu/emu/block.h"
#include <string.h>
#include <stdlib.h>
#include <stdio.h>
#include <algorithm>
namespace emu {
namespace {

struct Peer {
  int rank; ConnInfo* c;
  uint64_t step, cache;      // next step; last seen value of the counter we wait on
  uint64_t tail = 0;         // the same for LL receives
  char* buff;
};

class Base : public Prims {
 protected:
  Base(Block& b, const PrimsArgs& a) : b_(b), a_(a), es_(a.op.es) {
    for (int i = 0; i < a.maxRecv && a.recvPeers[i] >= 0; i++) recv_.push_back(mk(a.recvPeers[i], false));
    for (int i = 0; i < a.maxSend && a.sendPeers[i] >= 0; i++) send_.push_back(mk(a.sendPeers[i], true));
    user_[0] = a.in; user_[1] = a.out;
  }
  Peer mk(int r, bool send) {
    Peer p{};
    p.rank = r;
    ChannelPeer* cp = b_.peers[r];
    p.c = send ? &cp->send[a_.connSend] : &cp->recv[a_.connRecv];
    p.step = p.c->step;
    return p;
  }
  void setPtrs(char* in, char* out) override { user_[0] = in; user_[1] = out; }
  void finish() override {
    if (finished_) return;
    finished_ = true;
    for (auto& p : recv_) p.c->step = p.step;
    for (auto& p : send_) p.c->step = p.step;
  }
  char* user(Buf w, int64_t ix) { return w == kNone ? nullptr : user_[w] + ix * es_; }
  Block& b_;
  const PrimsArgs a_;
  const int es_;
  std::vector<Peer> recv_, send_;
  char* user_[2];
  bool finished_ = false;
};

// ------------------------------------------------------------------------------------------------ SIMPLE
class Simple : public Base {
 public:
  Simple(Block& b, const PrimsArgs& a) : Base(b, a) {
    stepElts_ = a.stepSizeElts ? a.stepSizeElts : b.g->buffSizes[kProtoSimple] / kSteps / es_;
    const int chunkSteps = a.slicePerChunk * a.stepPerSlice;
    dr_.resize(recv_.size()); ds_.resize(send_.size());
    for (size_t i = 0; i < recv_.size(); i++) {
      Peer& p = recv_[i];
      p.buff = p.c->buffs[kProtoSimple];
      p.step = roundUp(p.step, chunkSteps);
      __atomic_store_n(p.c->head, p.step, __ATOMIC_RELEASE);  // give back the credits that rounding up skipped
      p.cache = __atomic_load_n(p.c->tail, __ATOMIC_ACQUIRE);
      if (!a.direct) continue;
      if (a.recvIpc && (p.c->flags & (kConnP2pRead | kConnP2pWrite))) {
        if (a.p2p) dr_[i].mode = (p.c->flags & kConnP2pWrite) ? Reg::Write : Reg::Read;
        else dr_[i].mode = (a.coll && (a.coll->direct & kConnP2pRead)) ? Reg::Read : Reg::Write;
      }
      if (a.recvNet && (p.c->flags & kConnDirectNic) && p.c->connFifo) {
        dr_[i].mode = Reg::Net;
        __atomic_store_n(&p.c->connFifo[p.step % kSteps].size, 0, __ATOMIC_RELEASE);  // tells the proxy the kernel runs
      }
    }
    for (size_t i = 0; i < send_.size(); i++) {
      Peer& p = send_[i];
      p.buff = p.c->buffs[kProtoSimple];
      p.step = roundUp(p.step, chunkSteps);
      p.cache = __atomic_load_n(p.c->head, __ATOMIC_ACQUIRE);
      if (!a.direct) continue;
      if (a.sendIpc && (p.c->flags & (kConnP2pRead | kConnP2pWrite))) {
        if (a.p2p) ds_[i].mode = (p.c->flags & kConnP2pWrite) ? Reg::Write : Reg::Read;
        else ds_[i].mode = (a.coll && (a.coll->direct & kConnP2pRead)) ? Reg::Read : Reg::Write;
      }
      if (a.sendNet && (p.c->flags & kConnDirectNic) && p.c->connFifo) ds_[i].mode = Reg::Net;
    }
    exchange();
  }
  ~Simple() override { finish(); }

  void finish() override {
    if (finished_) return;
    Base::finish();
    for (size_t i = 0; i < send_.size(); i++) {
      Peer& p = send_[i];
      if (ds_[i].mode == Reg::Net) {  // the proxy sends straight from the user's buffer: wait until it has
        volatile int64_t* sz = &p.c->connFifo[(p.step - a_.stepPerSlice) % kSteps].size;
        waitUntil([&] { return *sz == -1; }, [&] { return b_.checkAbort(); });
      }
      if (ds_[i].mode == Reg::Read && a_.p2p) {  // the receiver reads straight from the user's buffer
        volatile uint64_t *t = p.c->tail, *h = p.c->head;
        waitUntil([&] { return *t <= *h; }, [&] { return b_.checkAbort(); });
      }
    }
  }

  void op(bool recv, bool send, Buf src, Buf dst, int64_t srcIx, int64_t dstIx, int64_t n, bool post, bool dRecv, bool dSend) override {
    if (b_.aborted) return;
    n = std::max<int64_t>(n, 0);
    const int spc = a_.slicePerChunk, sps = a_.stepPerSlice;
    int64_t slice = std::max(divUp(n, 16 * spc) * 16, stepElts_ * sps / 32);
    int64_t off = 0;
    for (int s = 0; s < spc; s++, off += slice) {
      slice = std::min(slice, n - off);
      void *srcs[40], *dsts[40];
      int ns = 0, nd = 0;
      if (src != kNone) srcs[ns++] = user(src, srcIx + off);
      if (dst != kNone) dsts[nd++] = user(dst, dstIx + off);
      if (recv) for (size_t i = 0; i < recv_.size(); i++) {
        Peer& p = recv_[i];
        waitCounter(b_, p.c->tail, p.cache, 0, p.step + sps, "data (tail)", p.rank);
        char* ptr;
        int m = dRecv ? dr_[i].mode : Reg::No;
        if (m == Reg::Net) ptr = a_.p2p ? nullptr : user_[1] + (srcIx + off) * es_;
        else if (p.c->connFifo && loadMode(p) == kFifoModeOffset) ptr = p.buff + loadOffset(p);
        else if (m == Reg::Read) ptr = dr_[i].ptr + (srcIx + off) * es_;
        else if (m == Reg::Write) ptr = dr_[i].ptr + (dstIx + off) * es_;
        else ptr = p.buff + (p.step % kSteps) * (int64_t)p.c->stepSize;
        srcs[ns++] = ptr;
      }
      bool skipFirst = false;  // direct: data is already where it has to go
      if (recv && dRecv && src == kNone && nd && ns && srcs[0] == dsts[0]) skipFirst = true;
      if (send) for (size_t i = 0; i < send_.size(); i++) {
        Peer& p = send_[i];
        waitCounter(b_, p.c->head, p.cache, kSteps, p.step + sps, "a free slot (head)", p.rank);
        if (p.c->connFifo && !b_.aborted) __atomic_store_n(&p.c->connFifo[p.step % kSteps].size, slice * es_, __ATOMIC_RELAXED);
        char* ptr;
        int m = dSend ? ds_[i].mode : Reg::No;
        if (m == Reg::Net) ptr = nullptr;  // the proxy takes it from the user's buffer
        else if (p.c->connFifo && loadMode(p) == kFifoModeOffset) ptr = p.buff + loadOffset(p);
        else if (m == Reg::Write) ptr = ds_[i].ptr + (dstIx + off) * es_;
        else if (m == Reg::Read) ptr = nullptr;
        else ptr = p.buff + (p.step % kSteps) * (int64_t)p.c->stepSize;
        if (ptr) dsts[nd++] = ptr;
        else if (m == Reg::Net && recv && !a_.p2p && dst == kNone) dsts[nd++] = user_[1] + (dstIx + off) * es_;
      }
      if (gDebug >= 3)
        fprintf(stderr, "nccl_emu: ch %d %s slice %d n=%lld recv=%d send=%d rstep=%lld sstep=%lld\n", b_.channelId,
                Scheduler::current()->self()->label, s, (long long)slice, recv, send,
                recv && recv_.size() ? (long long)recv_[0].step : -1, send && send_.size() ? (long long)send_[0].step : -1);
      if (b_.aborted) return;
      bool ok = true;
      for (int i = 0; i < ns; i++) if (!srcs[i]) ok = false;
      if (slice > 0 && ok) {
        if (skipFirst) { if (nd > 1 && srcs[0] != dsts[1]) reduceCopy(a_.op, false, false, 1, srcs, nd - 1, dsts + 1, slice); }
        else reduceCopy(a_.op, src == kIn, post, ns, srcs, nd, dsts, slice);
      }
      if (recv) for (auto& p : recv_) { p.step += sps; __atomic_store_n(p.c->head, p.step, __ATOMIC_RELEASE); }
      if (send) for (auto& p : send_) { p.step += sps; __atomic_store_n(p.c->tail, p.step, __ATOMIC_RELEASE); }
    }
  }

 private:
  struct Reg { enum { No, Write, Read, Net }; int mode = No; char* ptr = nullptr; };
  static int loadMode(Peer& p) { return __atomic_load_n(&p.c->connFifo[p.step % kSteps].mode, __ATOMIC_RELAXED); }
  static int loadOffset(Peer& p) { return __atomic_load_n(&p.c->connFifo[p.step % kSteps].offset, __ATOMIC_RELAXED); }

  // For buffers registered with P2P peers: hand over / take over the address of the buffer to write to or read from.
  void exchange() {
    auto stop = [&] { return b_.checkAbort(); };
    for (size_t i = 0; i < recv_.size(); i++) {
      ConnInfo* c = recv_[i].c;
      void* volatile* slot = c->ptrExchange;
      if (dr_[i].mode == Reg::Write) {
        dr_[i].ptr = user_[1];
        if (!slot) continue;
        waitUntil([&] { return *slot == nullptr; }, stop);
        *slot = a_.p2p || !a_.coll ? user_[1]
              : (char*)(a_.coll->recvOff + a_.coll->recvRmt[b_.g->rankToLocalRank[recv_[i].rank]]);
      }
    }
    for (size_t i = 0; i < send_.size(); i++) {
      ConnInfo* c = send_[i].c;
      void* volatile* slot = c->ptrExchange;
      volatile uint64_t* arg = c->redOpArgExchange;
      if (ds_[i].mode == Reg::Write && slot) {
        void* ptr = nullptr;
        waitUntil([&] { return (ptr = *slot) != nullptr; }, stop);
        ds_[i].ptr = (char*)ptr;
        *slot = nullptr;
      } else if (ds_[i].mode == Reg::Read && slot && arg) {
        waitUntil([&] { return *slot == nullptr && arg[0] == 0 && arg[1] == 0; }, stop);
        char* mine = recv_.empty() && a_.maxRecv == 0 ? user_[0] : user_[1];
        ds_[i].ptr = mine;
        // The peer may also get the scalar of the reduction: two halves, each tagged in bit 32.
        arg[0] = (1ull << 32) | (uint32_t)a_.op.arg;
        arg[1] = (1ull << 32) | (uint32_t)(a_.op.arg >> 32);
        __sync_synchronize();
        if (a_.p2p || !a_.coll) *slot = mine;
        else {
          int lp = b_.g->rankToLocalRank[send_[i].rank];
          *slot = mine == user_[0] ? (char*)(a_.coll->sendOff + a_.coll->sendRmt[lp]) : (char*)(a_.coll->recvOff + a_.coll->recvRmt[lp]);
        }
      }
    }
    for (size_t i = 0; i < recv_.size(); i++) {
      ConnInfo* c = recv_[i].c;
      void* volatile* slot = c->ptrExchange;
      volatile uint64_t* arg = c->redOpArgExchange;
      if (dr_[i].mode == Reg::Read && slot && arg) {
        void* ptr = nullptr;
        waitUntil([&] { return (ptr = *slot) != nullptr; }, stop);
        dr_[i].ptr = (char*)ptr;
        if (!send_.empty()) waitUntil([&] { return arg[0] != 0 && arg[1] != 0; }, stop);
        arg[0] = 0; arg[1] = 0;
        *slot = nullptr;
      }
    }
  }
  int64_t stepElts_;
  std::vector<Reg> dr_, ds_;
};

// ---------------------------------------------------------------------------------- LL and LL128 in common
class Flagged : public Base {
 protected:
  using Base::Base;
  ~Flagged() override { finish(); }
  bool claim(Peer& p, int64_t bytes) {  // a slot to send into, and its size for the proxy
    bool ok = waitCounter(b_, p.c->head, p.cache, kSteps, p.step + 1, "a free slot (head)", p.rank);
    if (ok && p.c->connFifo) __atomic_store_n(&p.c->connFifo[p.step % kSteps].size, bytes, __ATOMIC_RELEASE);
    return ok;
  }
  // Over NET the proxy receives straight into the buffer. The GPU only looks at the flags in it; but a CPU that polls
  // while another one copies might see a flag before its data, so wait for the proxy's tail first, then for the flags.
  bool arrived(Peer& p) {
    if (!p.c->connFifo) return true;
    return waitCounter(b_, p.c->tail, p.tail, 0, p.step + 1, "data (tail)", p.rank);
  }
  template <class P> bool waitFlag(Peer& p, const char* what, uint64_t want, const void* at, P pred) {
    Fiber* f = Scheduler::current()->self();
    f->what = what; f->waitPtr = (const volatile uint64_t*)at; f->waitWant = want; f->peer = p.rank;
    bool ok = waitUntil(pred, [&] { return b_.checkAbort(); });
    f->waitPtr = nullptr; f->what = "?";
    return ok;
  }
};

// ------------------------------------------------------------------------------------------------ LL
// 16-byte lines {data1, flag, data2, flag}; flag = low 32 bits of step+1.
class LL : public Flagged {
 public:
  LL(Block& b, const PrimsArgs& a) : Flagged(b, a) {
    lines_ = b.g->buffSizes[kProtoLL] / kSteps / sizeof(LLLine);
    for (auto& p : recv_) p.buff = p.c->buffs[kProtoLL];
    for (auto& p : send_) { p.buff = p.c->buffs[kProtoLL]; p.cache = __atomic_load_n(p.c->head, __ATOMIC_ACQUIRE); }
  }
  void op(bool recv, bool send, Buf src, Buf dst, int64_t srcIx, int64_t dstIx, int64_t n, bool post, bool, bool) override {
    if (b_.aborted) return;
    n = std::max<int64_t>(n, 0);
    const int per = 8 / es_;
    const int64_t nl = divUp(n, per);
    if (send) for (auto& p : send_) {
      bool clean = (p.step & kCleanMask) == kCleanMask;
      claim(p, (clean ? lines_ : nl) * sizeof(LLLine));
    }
    if (recv && nl) for (auto& p : recv_) if (!arrived(p)) return;
    const int64_t tile = 256;
    uint64_t out[tile];
    std::vector<uint64_t> in(recv ? recv_.size() * tile : 0);
    for (int64_t l0 = 0; l0 < nl && !b_.aborted; l0 += tile) {
      int64_t k = std::min(tile, nl - l0), e0 = l0 * per, ke = std::min(k * per, n - e0);
      void* srcs[40]; int ns = 0;
      if (src != kNone) srcs[ns++] = user(src, srcIx + e0);
      if (recv) for (size_t i = 0; i < recv_.size(); i++) {
        Peer& p = recv_[i];
        LLLine* line = (LLLine*)p.buff + (p.step % kSteps) * lines_ + l0;
        uint32_t flag = (uint32_t)(p.step + 1);
        uint64_t* to = &in[i * tile];
        for (int64_t j = 0; j < k; j++) {
          uint64_t a, c;
          auto ready = [&] {
            a = __atomic_load_n(&line[j].v[0], __ATOMIC_ACQUIRE); c = __atomic_load_n(&line[j].v[1], __ATOMIC_ACQUIRE);
            return (uint32_t)(a >> 32) == flag && (uint32_t)(c >> 32) == flag;
          };
          if (!ready() && !waitFlag(p, "an LL line (flag in the high half)", flag, &line[j].v[1], ready)) return;
          to[j] = (uint32_t)a | (c << 32);
        }
        srcs[ns++] = to;
      }
      out[k - 1] = 0;
      void* o = out;
      reduceCopy(a_.op, src == kIn, post, ns, srcs, 1, &o, ke);
      if (dst != kNone) memcpy(user(dst, dstIx + e0), out, ke * es_);
      if (send) for (auto& p : send_) {
        LLLine* line = (LLLine*)p.buff + (p.step % kSteps) * lines_ + l0;
        for (int64_t j = 0; j < k; j++) store(line + j, out[j], (uint32_t)(p.step + 1));
      }
    }
    if (b_.aborted) return;
    if (recv) for (auto& p : recv_) { p.step++; __atomic_store_n(p.c->head, p.step, __ATOMIC_RELEASE); }
    if (send) for (auto& p : send_) {
      if ((p.step & kCleanMask) == kCleanMask) {
        LLLine* line = (LLLine*)p.buff + (p.step % kSteps) * lines_;
        for (int64_t j = nl; j < lines_; j++) store(line + j, 0, (uint32_t)(p.step + 1));
      }
      p.step++;
    }
  }
 private:
  static constexpr uint64_t kCleanMask = 0x7ffffff8;
  static void store(LLLine* l, uint64_t v, uint32_t flag) {
    __atomic_store_n(&l->v[0], (v & 0xffffffffu) | ((uint64_t)flag << 32), __ATOMIC_RELEASE);
    __atomic_store_n(&l->v[1], (v >> 32) | ((uint64_t)flag << 32), __ATOMIC_RELEASE);
  }
  int64_t lines_;
};

// ------------------------------------------------------------------------------------------------ LL128
// 128-byte lines, 120 bytes of data and a 64-bit flag (step+1), 16 lines per warp slice. The GPU shuffles data
// between threads of a warp; here a line carries 120 consecutive bytes. Both ends are emulated, so that's as good.
class LL128 : public Flagged {
 public:
  LL128(Block& b, const PrimsArgs& a) : Flagged(b, a) {
    lines_ = b.g->buffSizes[kProtoLL128] / kSteps / 128;
    for (auto& p : recv_) p.buff = p.c->buffs[kProtoLL128];
    for (auto& p : send_) { p.buff = p.c->buffs[kProtoLL128]; p.cache = __atomic_load_n(p.c->head, __ATOMIC_ACQUIRE); }
  }
  void op(bool recv, bool send, Buf src, Buf dst, int64_t srcIx, int64_t dstIx, int64_t n, bool post, bool, bool) override {
    if (b_.aborted) return;
    n = std::max<int64_t>(n, 0);
    const int per = 120 / es_;
    const int64_t nl = divUp(n, 16 * per) * 16;
    if (send) for (auto& p : send_) claim(p, nl * 128);
    if (recv && nl) for (auto& p : recv_) if (!arrived(p)) return;
    const int64_t tile = 32;
    uint64_t out[tile * 15];
    std::vector<uint64_t> in(recv ? recv_.size() * tile * 15 : 0);
    for (int64_t l0 = 0; l0 < nl && !b_.aborted; l0 += tile) {
      int64_t k = std::min(tile, nl - l0), e0 = l0 * per, ke = std::max<int64_t>(0, std::min(k * per, n - e0));
      void* srcs[40]; int ns = 0;
      if (src != kNone) srcs[ns++] = user(src, srcIx + e0);
      if (recv) for (size_t i = 0; i < recv_.size(); i++) {
        Peer& p = recv_[i];
        uint64_t* line = (uint64_t*)p.buff + ((p.step % kSteps) * lines_ + l0) * 16;
        uint64_t* to = &in[i * tile * 15];
        for (int64_t j = 0; j < k; j++) {
          uint64_t* fl = line + j * 16 + 15;
          auto ready = [&] { return __atomic_load_n(fl, __ATOMIC_ACQUIRE) == p.step + 1; };
          if (!ready() && !waitFlag(p, "an LL128 line", p.step + 1, fl, ready)) return;
          memcpy(to + j * 15, line + j * 16, 120);
        }
        srcs[ns++] = to;
      }
      memset(out, 0, k * 120);
      void* o = out;
      reduceCopy(a_.op, src == kIn, post, ns, srcs, 1, &o, ke);
      if (dst != kNone && ke) memcpy(user(dst, dstIx + e0), out, ke * es_);
      if (send) for (auto& p : send_) {
        uint64_t* line = (uint64_t*)p.buff + ((p.step % kSteps) * lines_ + l0) * 16;
        for (int64_t j = 0; j < k; j++) {
          memcpy(line + j * 16, out + j * 15, 120);
          __atomic_store_n(line + j * 16 + 15, p.step + 1, __ATOMIC_RELEASE);
        }
      }
    }
    if (b_.aborted) return;
    if (recv) for (auto& p : recv_) { p.step++; __atomic_store_n(p.c->head, p.step, __ATOMIC_RELEASE); }
    if (send) for (auto& p : send_) {
      p.step++;
      if (p.c->connFifo) __atomic_store_n(p.c->tail, p.step, __ATOMIC_RELEASE);
    }
  }
 private:
  int64_t lines_;
};

}  // namespace

std::unique_ptr<Prims> makePrims(Block& b, int proto, const PrimsArgs& a) {
  if (proto == kProtoLL) return std::make_unique<LL>(b, a);
  if (proto == kProtoLL128) return std::make_unique<LL128>(b, a);
  return std::make_unique<Simple>(b, a);
}
}  // namespace emu
