// The collective algorithms, on top of the primitives.
#include "tests/softgpu/emu/block.h"
#include <string.h>
#include <stdio.h>
#include <algorithm>
namespace emu {
void patAllGather(Block& b, const Coll& c, const Op& op, int64_t count, int64_t off, int64_t len, int64_t chunk);
void patReduceScatter(Block& b, const Coll& c, const Op& op, int64_t count, int64_t off, int64_t len, int64_t chunk);
namespace {

int grainBytes(int proto) { return proto == kProtoLL ? 16 : proto == kProtoLL128 ? 1920 : 512; }

struct Part { int64_t count, off, n, chunk; };  // all in elements

// This channel's part of a collective ("continuous byte distribution").
Part partOf(const Coll& c, int channel, int proto, int es) {
  int64_t perGrain = grainBytes(proto) / es;
  int64_t mids = c.channelHi - c.channelLo - 1;
  Part p;
  p.count = c.countLo + c.countMid * mids + c.countHi;
  if (channel == c.channelLo) { p.off = 0; p.n = c.countLo; p.chunk = c.grainsLo * perGrain; }
  else if (channel == c.channelHi) { p.off = c.countLo + mids * c.countMid; p.n = c.countHi; p.chunk = c.grainsHi * perGrain; }
  else { p.off = c.countLo + (channel - c.channelLo - 1) * (int64_t)c.countMid; p.n = c.countMid; p.chunk = c.grainsMid * perGrain; }
  return p;
}

PrimsArgs ringArgs(Block& b, const Coll& c, const Op& op, int chunkSteps, int sliceSteps, bool direct) {
  PrimsArgs a{};
  a.recvPeers = &b.ringPrev; a.maxRecv = 1; a.sendPeers = &b.ringNext; a.maxSend = 1;
  a.in = c.sendbuff; a.out = c.recvbuff; a.op = op;
  a.slicePerChunk = chunkSteps / sliceSteps; a.stepPerSlice = sliceSteps;
  a.direct = direct; a.coll = &c;
  if (direct) { a.sendIpc = a.recvIpc = c.regUsed; a.sendNet = a.recvNet = c.netRegUsed; }
  return a;
}

void ringAllReduce(Block& b, int proto, const Coll& c, const Op& op) {
  const int n = b.g->nRanks, me = b.ringIndex;
  Part p = partOf(c, b.channelId, proto, op.es);
  auto prims = makePrims(b, proto, ringArgs(b, c, op, kSteps / 2, kSteps / 4, true));
  int64_t chunk = p.chunk;
  const int64_t loop = n * p.chunk;
  for (int64_t done = 0; done < p.n && !b.aborted; done += loop) {
    int64_t left = p.n - done;
    if (left < loop) chunk = roundUp(divUp(left, n), 16 / op.es);
    auto at = [&](int k, int64_t& off, int64_t& cnt) {
      int64_t co = (int64_t)(k % n) * chunk;
      off = p.off + done + co;
      cnt = std::min(chunk, left - co);
    };
    int64_t o, e;
    at(me + n - 1, o, e); prims->directSend(o, o, e);
    for (int j = 2; j < n; j++) { at(me + n - j, o, e); prims->directRecvReduceDirectSend(o, o, e); }
    at(me, o, e); prims->directRecvReduceCopyDirectSend(o, o, e, true);
    for (int j = 1; j < n - 1; j++) { at(me + n - j, o, e); prims->directRecvCopyDirectSend(o, o, e); }
    at(me + 1, o, e); prims->directRecv(o, e);
  }
  prims->finish();
}

void treeAllReduce(Block& b, int proto, const Coll& c, const Op& op) {
  Part p = partOf(c, b.channelId, proto, op.es);
  auto each = [&](auto f) {
    for (int64_t done = 0; done < p.n && !b.aborted; done += p.chunk) f(p.off + done, std::min(p.chunk, p.n - done));
  };
  PrimsArgs a{};
  a.in = c.sendbuff; a.out = c.recvbuff; a.op = op; a.direct = true; a.coll = &c;
  a.sendIpc = a.recvIpc = c.regUsed; a.sendNet = a.recvNet = c.netRegUsed;
  if (b.treeUp == -1) {
    a.recvPeers = a.sendPeers = b.treeDown; a.maxRecv = a.maxSend = 2;
    auto prims = makePrims(b, proto, a);
    each([&](int64_t o, int64_t e) { prims->directRecvReduceCopyDirectSend(o, o, e, true); });
    prims->finish();
    return;
  }
  const bool leaf = b.treeDown[0] == -1;
  runParallel(b, {[&] {
    PrimsArgs u = a;
    u.recvPeers = b.treeDown; u.maxRecv = 3; u.sendPeers = &b.treeUp; u.maxSend = 1;
    auto prims = makePrims(b, proto, u);
    each([&](int64_t o, int64_t e) { leaf ? prims->directSend(o, o, e) : prims->directRecvReduceDirectSend(o, o, e); });
    prims->finish();
  }, [&] {
    PrimsArgs d = a;
    d.recvPeers = &b.treeUp; d.maxRecv = 1; d.sendPeers = b.treeDown; d.maxSend = 3;
    auto prims = makePrims(b, proto, d);
    each([&](int64_t o, int64_t e) { leaf ? prims->directRecv(o, e) : prims->directRecvCopyDirectSend(o, o, e); });
    prims->finish();
  }});
}

void ringAllGather(Block& b, int proto, const Coll& c, const Op& op) {
  const int n = b.g->nRanks;
  Part p = partOf(c, b.channelId, proto, 1);
  const bool offload = proto == kProtoSimple && c.isOneRPN && c.netRegUsed;
  PrimsArgs a = offload ? ringArgs(b, c, op, 1, 1, true) : ringArgs(b, c, op, kSteps / 2, kSteps / 4, true);
  if (offload) { a.stepSizeElts = kMaxNetSize; a.netOffload = true; p.chunk = kMaxNetSize; }
  auto prims = makePrims(b, proto, a);
  for (int64_t done = 0; done < p.n && !b.aborted; done += p.chunk) {
    int64_t e = std::min(p.chunk, p.n - done), d = p.off + done;
    int64_t o = d + b.ringRanks[0] * p.count;
    if (c.sendbuff + d == c.recvbuff + o || offload) prims->directSend(d, o, e);
    else prims->directCopySend(d, o, e);
    for (int j = 1; j < n - 1; j++) { o = d + b.ringRanks[n - j] * p.count; prims->directRecvCopyDirectSend(o, o, e); }
    prims->directRecv(d + b.ringRanks[1] * p.count, e);
  }
  if (offload) {
    char* mine = c.recvbuff + b.ringRanks[0] * p.count;
    if (c.sendbuff != mine) memmove(mine + p.off, c.sendbuff + p.off, p.n);
  }
  prims->finish();
}

void ringReduceScatter(Block& b, int proto, const Coll& c, const Op& op) {
  const int n = b.g->nRanks;
  Part p = partOf(c, b.channelId, proto, op.es);
  auto prims = makePrims(b, proto, ringArgs(b, c, op, kSteps / 2, kSteps / 4, false));
  for (int64_t done = 0; done < p.n && !b.aborted; done += p.chunk) {
    int64_t e = std::min(p.chunk, p.n - done), d = p.off + done;
    prims->send(d + b.ringRanks[n - 1] * p.count, e);
    for (int j = 2; j < n; j++) prims->recvReduceSend(d + b.ringRanks[n - j] * p.count, e);
    prims->recvReduceCopy(d + b.ringRanks[0] * p.count, d, e, true);
  }
  prims->finish();
}

void ringBroadcast(Block& b, int proto, const Coll& c, const Op& op) {
  Part p = partOf(c, b.channelId, proto, 1);
  const bool offload = c.isOneRPN && c.netRegUsed;
  auto prims = makePrims(b, proto, ringArgs(b, c, op, 1, 1, true));
  for (int64_t done = 0; done < p.n && !b.aborted; done += p.chunk) {
    int64_t e = std::min(p.chunk, p.n - done), o = p.off + done;
    if (b.ringRanks[0] == c.root) {
      if (c.sendbuff == c.recvbuff || offload) prims->directSend(o, o, e);
      else prims->directCopySend(o, o, e);
    } else if (b.ringRanks[1] == c.root) prims->directRecv(o, e);
    else prims->directRecvCopyDirectSend(o, o, e);
  }
  if (offload && b.ringRanks[0] == c.root && c.sendbuff != c.recvbuff) memmove(c.recvbuff + p.off, c.sendbuff + p.off, p.n);
  prims->finish();
}

void ringReduce(Block& b, int proto, const Coll& c, const Op& op) {
  Part p = partOf(c, b.channelId, proto, op.es);
  auto prims = makePrims(b, proto, ringArgs(b, c, op, 1, 1, false));
  const int prev = b.ringRanks[b.g->nRanks - 1];
  for (int64_t done = 0; done < p.n && !b.aborted; done += p.chunk) {
    int64_t e = std::min(p.chunk, p.n - done), o = p.off + done;
    if (prev == c.root) prims->send(o, e);
    else if (b.g->rank == c.root) prims->recvReduceCopy(o, o, e, true);
    else prims->recvReduceSend(o, e);
  }
  prims->finish();
}

uint32_t fp8ToU32(uint8_t x) {  // 3 bits below the leading one
  uint32_t e = x >> 3, m = x & 7;
  return e ? (m | 8) << (e - 1) : m;
}

void p2pSide(Block& b, RawP2p& w, bool send) {
  const bool ipc = send ? w.sendIpcReg() : w.recvIpcReg(), net = send ? w.sendNetReg() : w.recvNetReg();
  const bool large = (ipc && b.g->isAllNvlink) || net;
  const int64_t chunk = large ? kMaxNetSize : fp8ToU32(send ? w.sendChunkFp8 : w.recvChunkFp8);
  PrimsArgs a{};
  a.op = Op{kCopy, kU8, 0, 1};
  a.connRecv = a.connSend = 1;
  a.stepSizeElts = large ? kMaxNetSize : b.g->p2pChunkSize;
  a.p2p = a.direct = true;
  a.sendIpc = w.sendIpcReg(); a.recvIpc = w.recvIpcReg(); a.sendNet = w.sendNetReg(); a.recvNet = w.recvNetReg();
  if (send) { a.sendPeers = &w.sendRank; a.maxSend = 1; a.in = w.sendAddr; }
  else { a.recvPeers = &w.recvRank; a.maxRecv = 1; a.out = w.recvAddr; }
  auto prims = makePrims(b, (send ? w.sendLL() : w.recvLL()) ? kProtoLL : kProtoSimple, a);
  const int64_t bytes = send ? w.sendBytes : w.recvBytes;
  int64_t at = 0;
  do {  // one step at least, even for 0 bytes
    int64_t e = std::min(chunk, bytes - at);
    if (send) prims->directSend(at, at, e); else prims->directRecv(at, e);
    at += e;
  } while (at < bytes && !b.aborted);
  prims->finish();
}

uint32_t reverseBits(uint32_t x, int n) { uint32_t r = 0; for (int i = 0; i < n; i++) r |= ((x >> i) & 1) << (n - 1 - i); return r; }

}  // namespace

bool runParallel(Block& b, std::vector<std::function<void()>> parts) {
  Scheduler* s = Scheduler::current();
  int left = (int)parts.size();
  for (size_t i = 1; i < parts.size(); i++) s->spawn([&left, fn = std::move(parts[i])] { fn(); left--; });
  parts[0]();
  left--;
  s->self()->what = "its other half"; s->self()->waitPtr = nullptr;
  waitUntil([&] { return left == 0; }, [] { return false; });  // they end by themselves on abort
  return !b.aborted;
}

void runP2pBatch(Block& b, RawP2p* w, int n) {
  std::vector<std::function<void()>> parts;
  for (int i = 0; i < n; i++) {
    RawP2p& x = w[i];
    int part;
    if (b.g->lay->p2pBitReverse) {
      int lg = 0; while ((1 << lg) < x.nP2pChannels) lg++;
      part = reverseBits((b.channelId - x.channelBase) & (x.nP2pChannels - 1), lg);
    } else part = (b.channelId - x.channelBase) & (x.nP2pChannels - 1);
    const bool hasSend = part < x.nSendChannels, hasRecv = part < x.nRecvChannels;
    auto cut = [&](char*& addr, uint64_t& bytes, int nParts) {  // this channel's range, in multiples of 4 KB
      if (!nParts) return;
      uint64_t per = roundUp(divUp(bytes, nParts), 4096);
      uint64_t lo = std::min<uint64_t>(part * per, bytes), hi = std::min<uint64_t>((part + 1) * per, bytes);
      addr += lo; bytes = hi - lo;
    };
    cut(x.sendAddr, x.sendBytes, x.nSendChannels);
    cut(x.recvAddr, x.recvBytes, x.nRecvChannels);
    if (gDebug >= 2)
      fprintf(stderr, "nccl_emu: r%d ch %d p2p part %d send %d->%d %llu B (%d ch, chunk %u%s) recv <-%d %llu B (%d ch, chunk %u%s)\n",
              b.g->rank, b.channelId, part, b.g->rank, x.sendRank, (unsigned long long)x.sendBytes, x.nSendChannels, fp8ToU32(x.sendChunkFp8),
              x.sendLL() ? " LL" : "", x.recvRank, (unsigned long long)x.recvBytes, x.nRecvChannels, fp8ToU32(x.recvChunkFp8), x.recvLL() ? " LL" : "");
    if (x.sendRank == b.g->rank) {
      if (x.sendAddr != x.recvAddr && x.sendBytes) memmove(x.recvAddr, x.sendAddr, x.sendBytes);
      continue;
    }
    if (hasSend) parts.push_back([&b, &x] { p2pSide(b, x, true); });
    if (hasRecv) parts.push_back([&b, &x] { p2pSide(b, x, false); });
  }
  if (!parts.empty()) runParallel(b, std::move(parts));
}

// 2.29+: several broadcasts around the ring, a chunk of each in turn.
void runBcastBatch(Block& b, int proto, RawBcast* w, int n) {
  if (gDebug >= 2) for (int i = 0; i < n; i++)
    fprintf(stderr, "nccl_emu: r%d ch %d AllGatherV depth %d %llu B chunk %d\n", b.g->rank, b.channelId, w[i].ringDepth,
              (unsigned long long)w[i].bytes, w[i].chunkSize);
  Coll none{};
  PrimsArgs a = ringArgs(b, none, Op{kCopy, kU8, 0, 1}, 1, 1, false);
  auto prims = makePrims(b, proto, a);
  for (int left = n; left > 0 && !b.aborted;) {
    left = 0;
    for (int i = 0; i < n; i++) {
      RawBcast& x = w[i];
      int64_t d = std::min<int64_t>(x.bytes, x.chunkSize), o = x.bytesDone;
      if (d <= 0) continue;
      prims->setPtrs(x.ringDepth == 0 ? x.sendbuff : nullptr, x.recvbuff);
      if (x.ringDepth == 0) prims->op(false, true, kIn, x.sendbuff == x.recvbuff ? kNone : kOut, o, o, d, false);
      else if (x.ringDepth == b.g->nRanks - 1) prims->op(true, false, kNone, kOut, o, o, d, false);
      else prims->op(true, true, kNone, kOut, o, o, d, false);
      x.bytes -= d; x.bytesDone += d;
      if (x.bytes) left++;
    }
  }
  prims->finish();
}

bool runColl(Block& b, const Func& f, const Coll& c) {
  Op op{f.redop, f.type, c.redOpArg, typeSize(f.type)};
  if (c.redOpArgIsPtr && (f.redop == kMinMax || f.redop == kPreMulSum || f.redop == kSumPostDiv)) {
    op.arg = 0;
    memcpy(&op.arg, (void*)c.redOpArg, f.redop == kSumPostDiv ? 8 : op.es);
  }
  if (b.g->lay->signedPostDiv && f.redop == kSumPostDiv)  // just the divisor there
    op.arg = op.arg << 1 | (f.type == kI8 || f.type == kI32 || f.type == kI64);
  switch (f.coll) {
    case kAllReduce:
      if (f.algo == kRing) return ringAllReduce(b, f.proto, c, op), true;
      if (f.algo == kTree) return treeAllReduce(b, f.proto, c, op), true;
      return false;
    case kAllGather:
      if (f.algo == kPat) {
        Part p = partOf(c, b.channelId, kProtoSimple, 1);
        patAllGather(b, c, op, p.count, p.off, p.n, p.chunk);
        return true;
      }
      if (f.algo == kRing) return ringAllGather(b, f.proto, c, op), true;
      return false;
    case kReduceScatter:
      if (f.algo == kPat) {
        Part p = partOf(c, b.channelId, kProtoSimple, op.es);
        patReduceScatter(b, c, op, p.count, p.off, p.n, p.chunk);
        return true;
      }
      if (f.algo == kRing) return ringReduceScatter(b, f.proto, c, op), true;
      return false;
    case kBroadcast: return ringBroadcast(b, f.proto, c, op), true;
    case kReduce: return ringReduce(b, f.proto, c, op), true;
  }
  return false;
}

}  // namespace emu
