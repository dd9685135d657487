// PAT ("parallel aggregated trees"): AllGather and ReduceScatter over log2(n) peers at distances 1, 2, 4, ..
//
// Rank r works on "shift" s = (destination or source rank) - r. s is a node of a binomial tree; the edge towards
// its parent clears the lowest set bit of s, and runs over the peer at that distance. A shift is a*D + v (aggregate
// a of A, position v below D); up to F aggregates share one message (= one FIFO step). ReduceScatter walks
// from the leaves to the root, AllGather from the root to the leaves. The number of messages per peer has to be what
// the host computes for its proxies (same A, D, F, and the same message boundaries).
#include "tests/softgpu/emu/block.h"
#include <string.h>
#include <algorithm>
namespace emu {
namespace {

struct Move {  // one piece: from a peer (or not), to a peer (or not)
  int from = -1, to = -1;           // distance exponents
  int64_t fromOff = 0, toOff = 0;   // elements within the message
  int ahead = 0;                    // how many messages ahead of the current one the piece is (RS: sent, AG: received)
  bool ackFrom = false, postTo = false;
  int64_t data = 0;                 // element index of the piece: RS in the input, AG in the output
};

struct End {  // one direction to one peer
  ConnInfo* c = nullptr; int rank = -1; uint64_t step = 0, cache = 0; int64_t filled = 0, stepElts = 0; char* buff = nullptr;
};

struct Pat {
  Block& b; const Coll& c; const Op& op;
  int n, rank, P, A, D, F; int64_t count, chunk, begin, end;
  End rx[32], tx[32];
  int64_t ownFilled = 0;

  Pat(Block& b, const Coll& c, const Op& op, int64_t count, int64_t off, int64_t len, int64_t chunk, bool down)
      : b(b), c(c), op(op), n(b.g->nRanks), rank(b.g->rank), count(count), chunk(chunk), begin(off), end(off + len) {
    for (P = 1; P < n; P *= 2) {}
    A = 1;
    const int64_t stepBytes = chunk * op.es, bytes = std::max<int64_t>(1, len * op.es);
    while (stepBytes / (bytes * A) >= 2 && A < n / 2) A *= 2;
    F = A;
    for (int d = kSteps; d > 1 && A < n / 2; d /= 2) A *= 2;
    D = P / A;
    for (int i = 0; (1 << i) < n; i++) {
      int dist = 1 << i, plus = (rank + dist) % n, minus = (rank - dist + n) % n;
      init(rx[i], down ? plus : minus, false);
      init(tx[i], down ? minus : plus, true);
    }
  }
  void init(End& e, int peer, bool send) {
    e.rank = peer;
    e.c = send ? &b.peers[peer]->send[0] : &b.peers[peer]->recv[0];
    e.step = e.c->step;
    e.buff = e.c->buffs[kProtoSimple];
    e.stepElts = e.c->stepSize / op.es;
    e.cache = __atomic_load_n(send ? e.c->head : e.c->tail, __ATOMIC_ACQUIRE);
  }
  char* slot(End& e, int ahead, int64_t off) { return e.buff + (((e.step + ahead) % kSteps) * e.stepElts + off) * op.es; }
  static int low(int s) { return __builtin_ctz(s); }
  // Order of the aggregates: bits mirrored; inverted too for ReduceScatter.
  static int mirror(int i, int max) { int r = 0; for (int m = 1, w = max / 2; m < max; m *= 2, w /= 2) if (!(i & m)) r += w; return r; }
  static bool newPeer(int i, int pow2) { return __builtin_popcount((unsigned)((i ^ (pow2 - 1)) + 1)) == 1; }
  int64_t at(int s, int64_t off) { return (int64_t)((rank + n + s) % n) * count + off; }

  void doneMessages(const Move& m, int64_t ne) {
    if (m.to >= 0 && m.postTo) {
      End& e = tx[m.to];
      if (e.c->connFifo) __atomic_store_n(&e.c->connFifo[e.step % kSteps].size, (m.toOff + ne) * op.es, __ATOMIC_RELAXED);
      e.step++;
      e.c->step = e.step;
      __atomic_store_n(e.c->tail, e.step, __ATOMIC_RELEASE);
    }
    if (m.from >= 0 && m.ackFrom) {
      End& e = rx[m.from];
      e.step++;
      e.c->step = e.step;
      __atomic_store_n(e.c->head, e.step, __ATOMIC_RELEASE);
    }
  }

  // ---------------------------------------------------------------- ReduceScatter
  void reduce(const Move& m, int64_t off, int64_t ne) {
    if (b.aborted) return;
    void* srcs[2]; int ns = 0; void* dst;
    if (m.from >= 0) {
      End& e = rx[m.from];
      if (!waitCounter(b, e.c->tail, e.cache, 0, e.step + 1, "PAT data (tail)", e.rank)) return;
      srcs[ns++] = slot(e, 0, m.fromOff);
    }
    bool fresh;
    if (m.to >= 0) {
      End& e = tx[m.to];
      if (!waitCounter(b, e.c->head, e.cache, kSteps, e.step + m.ahead + 1, "a free PAT slot (head)", e.rank)) return;
      dst = slot(e, m.ahead, m.toOff);
      int64_t upTo = m.toOff + ne + (int64_t)(e.step + m.ahead) * e.stepElts;
      fresh = e.filled < upTo;
      e.filled = std::max(e.filled, upTo);
    } else {
      dst = c.recvbuff + off * op.es;
      fresh = ownFilled < off + ne;
      ownFilled = std::max(ownFilled, off + ne);
    }
    srcs[ns++] = fresh ? c.sendbuff + m.data * op.es : dst;  // my own part, or what has been summed up so far
    reduceCopy(op, false, false, ns, srcs, 1, &dst, ne);
    doneMessages(m, ne);
  }

  void reduceScatter() {
    for (int64_t off = begin; off < end && !b.aborted; off += chunk) {
      const int64_t ne = std::min(chunk, end - off);
      for (int v = D - 1; v >= 1; v--) {
        if (v & 1) leafUp(v, off, ne);
        if (v > 1) innerUp(v, off, ne);
      }
      for (int sc = 1; sc < A; sc *= 2) { mergeOdd(sc, off, ne); mergeEven(sc, off, ne); }
      Move m;
      m.from = 0; m.fromOff = (int64_t)((A - 1) % F) * ne; m.ackFrom = true; m.data = at(0, off);
      reduce(m, off, ne);
    }
  }
  bool full(int i) const { return i % F == F - 1; }
  void leafUp(int v, int64_t off, int64_t ne) {  // leaves: only my own data
    for (int a = 0; a < A; a++) {
      int s = mirror(a, A) * D + v;
      if (s >= n) continue;
      Move m;
      m.to = 0; m.toOff = (a % F) * ne; m.postTo = full(a) || a == A - 1; m.data = at(s, off);
      reduce(m, 0, ne);
    }
  }
  // An inner node: what came over the lowest bit of s goes on towards the parent of s.
  void innerUp(int v, int64_t off, int64_t ne) {
    int skipped = 0, ahead = 0;
    for (int a = 0; a < A; a++) {
      int s = mirror(a, A) * D + v;
      bool have = s < n;
      int bit = low(s), up = s - (1 << bit);
      Move m;
      m.ahead = ahead;
      m.from = bit; m.fromOff = m.toOff = (a % F) * ne; m.data = at(up, off);
      const bool last = full(a) || a == A - 1;
      m.postTo = bit == 0 && last; m.ackFrom = last;
      m.to = up ? low(up) : -1;
      if (m.to >= 0 && v == (1 << bit)) {
        if (newPeer(a, A)) { skipped = a; m.ahead = ahead = 0; }
        m.toOff = ((a - skipped) % F) * ne;
      }
      bool run = have;
      if (!have && up < n) { m.from = -1; m.ackFrom = false; run = true; }  // nobody below: start with my own data
      if (bit > 0 && full(a - skipped) && run) ahead++;
      if (run) reduce(m, off, ne);
    }
  }
  void mergeOdd(int sc, int64_t off, int64_t ne) {
    const int last = A / (2 * sc);
    for (int a = 0; a < last; a++) {
      int up = (2 * mirror(a, last) + 1) * sc * D, s = up + 1;
      bool have = s < n, run = have;
      Move m;
      m.postTo = a == last - 1 || full(a);
      m.toOff = (a % F) * ne;
      m.data = at(up, off); m.to = low(up);
      if (have) { int f = a + A - A / sc; m.from = 0; m.ackFrom = full(f); m.fromOff = (f % F) * ne; }
      else if (up < n) run = true;
      if (run) reduce(m, off, ne);
    }
  }
  void mergeEven(int sc, int64_t off, int64_t ne) {
    const int last = A / (2 * sc);
    int skipped = 0, ahead = 0;
    for (int a = 0; a < last; a++) {
      int s = (2 * mirror(a, last) + 1) * sc * D, bit = low(s), up = s - (1 << bit);
      bool have = s < n, run = have;
      Move m;
      m.ahead = ahead;
      m.from = bit; m.ackFrom = a == last - 1 || full(a); m.fromOff = (a % F) * ne;
      m.data = at(up, off); m.to = up ? low(up) : -1;
      if (!have && up < n) { m.from = -1; m.ackFrom = false; run = true; }
      if (newPeer(a, last)) { skipped = a; m.ahead = ahead = 0; }
      if (full(a - skipped) && run) ahead++;
      if (m.to >= 0) m.toOff = ((a - skipped) % F) * ne;
      if (run) reduce(m, off, ne);
    }
  }

  // ---------------------------------------------------------------- AllGather
  void copy(const Move& m, int64_t off, int64_t ne) {
    if (b.aborted) return;
    char* src; bool fresh;
    if (m.from >= 0) {
      End& e = rx[m.from];
      if (!waitCounter(b, e.c->tail, e.cache, 0, e.step + m.ahead + 1, "PAT data (tail)", e.rank)) return;
      src = slot(e, m.ahead, m.fromOff);
      int64_t upTo = m.fromOff + ne + (int64_t)(e.step + m.ahead) * e.stepElts;
      fresh = e.filled < upTo;
      e.filled = std::max(e.filled, upTo);
    } else {
      src = c.sendbuff + off * op.es;
      fresh = ownFilled < off + ne;
      ownFilled = std::max(ownFilled, off + ne);
    }
    char* out = c.recvbuff + m.data * op.es;
    if (m.to >= 0) {
      End& e = tx[m.to];
      if (!waitCounter(b, e.c->head, e.cache, kSteps, e.step + 1, "a free PAT slot (head)", e.rank)) return;
      memcpy(slot(e, 0, m.toOff), src, ne * op.es);
    }
    if (fresh && out != src) memcpy(out, src, ne * op.es);
    doneMessages(m, ne);
  }

  void allGather() {
    for (int64_t off = begin; off < end && !b.aborted; off += chunk) {
      const int64_t ne = std::min(chunk, end - off);
      for (int sc = A / 2; sc >= 1; sc /= 2) spread(sc, off, ne);
      for (int bit = D / 2; bit >= 1; bit /= 2) walk(bit, bit, off, ne);
    }
  }
  void walk(int v, int bit, int64_t off, int64_t ne) {  // depth first, large distances first
    innerDown(v, off, ne);
    if (v & 1) leafDown(v, off, ne);
    for (int k = bit / 2; k >= 1; k /= 2) walk(v | k, k, off, ne);
  }
  void spread(int sc, int64_t off, int64_t ne) {  // between the aggregates
    for (int a = 0; a < A / (2 * sc); a++) {
      int s = (2 * a + 1) * sc * D;
      if (s >= n) continue;
      int bit = low(s), up = s - (1 << bit);
      Move m;
      m.postTo = full(a) || (2 * (a + 1) + 1) * sc * D >= n;
      m.to = bit; m.toOff = (a % F) * ne; m.ahead = a / F; m.data = at(up, off);
      m.from = up ? low(up) : -1;
      if (m.from >= 0) { int f = (a * 2 * sc * D) >> (m.from + 1); m.fromOff = (f % F) * ne; m.ahead = f / F; }
      copy(m, off, ne);
    }
  }
  void innerDown(int v, int64_t off, int64_t ne) {
    for (int a = 0; a < A; a++) {
      int s = a * D + v, bit = low(s), up = s - (1 << bit);
      bool run = s < n;
      Move m;
      const bool end1 = full(a) || (a + 1) * D + v >= n;
      m.to = bit; m.data = at(up, off);
      m.from = up ? low(up) : -1;
      m.toOff = m.fromOff = (a % F) * ne;
      m.postTo = end1;
      m.ackFrom = bit == 0 && (full(a) || (a + 1) * D + v - 1 >= n);
      m.ahead = bit == 0 ? 0 : a / F;
      if (m.from < 0) m.ackFrom = false;
      else if (v == (1 << bit)) {
        int f = (a * D) >> (m.from + 1);
        m.fromOff = (f % F) * ne;
        m.ackFrom = bit == 0 && (full(f) || (((f + 1) * 2 + 1) << m.from) >= n);
        m.ahead = bit == 0 ? 0 : f / F;
      }
      if (!run && up < n && bit == 0) { m.to = -1; m.postTo = false; run = true; }  // nobody to send to, but take it
      if (run) copy(m, off, ne);
    }
  }
  void leafDown(int v, int64_t off, int64_t ne) {
    for (int a = 0; a < A; a++) {
      int s = a * D + v;
      if (s >= n) continue;
      Move m;
      m.from = 0; m.fromOff = (a % F) * ne; m.data = at(s, off);
      m.ackFrom = full(a) || (a + 1) * D + v >= n;
      copy(m, off, ne);
    }
  }
};
}  // namespace

void patAllGather(Block& b, const Coll& c, const Op& op, int64_t count, int64_t off, int64_t len, int64_t chunk) {
  if (len > 0) { Pat p(b, c, op, count, off, len, chunk, true); p.allGather(); }
}
void patReduceScatter(Block& b, const Coll& c, const Op& op, int64_t count, int64_t off, int64_t len, int64_t chunk) {
  if (len > 0) { Pat p(b, c, op, count, off, len, chunk, false); p.reduceScatter(); }
}
}  // namespace emu
