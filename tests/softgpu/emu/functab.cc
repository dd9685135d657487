// How NCCL numbers its device functions: every valid (coll, redop, type, algo, proto) is mapped to a
// representative (signed integers share the unsigned code where the arithmetic is the same); the set of
// representatives is sorted by the *names* of the five fields, and funcId is the position in that order.
#include "tests/softgpu/emu/functab.h"
#include <set>
#include <array>
#include <cstring>
namespace emu {
namespace {
const char* const kCollName[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "AllGatherV"};
const char* const kRedName[] = {"Sum", "Prod", "MinMax", "PreMulSum", "SumPostDiv", ""};
const char* const kTypeName[] = {"i8", "u8", "i32", "u32", "i64", "u64", "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2", ""};
const char* const kAlgoName[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT", ""};
const char* const kProtoName[] = {"LL", "LL128", "SIMPLE", ""};
const int kNoType = kNumTypes, kNoAlgo = 7, kNoProto = 3;

bool isSigned(int t) { return t == kI8 || t == kI32 || t == kI64; }
bool isInt(int t) { return t <= kU64; }
bool isNvls(int a) { return a == kNvls || a == kNvlsTree; }

bool exists(int coll, int red, int ty, int algo, int proto) {
  if (proto != 2 && algo != kRing && algo != kTree) return false;
  bool reduces = coll == kAllReduce || coll == kReduce || coll == kReduceScatter;
  if (!reduces) return true;
  if (red == kSumPostDiv && !isInt(ty)) return false;
  if (isNvls(algo)) {
    bool wide = ty == kI32 || ty == kU32 || ty == kI64 || ty == kU64 || ty == kF16 || ty == kBF16;
    if (wide) return red == kSum || red == kMinMax;
    if (ty == kF32 || ty == kF64) return red == kSum;
    return false;
  }
  return true;
}
}  // namespace

std::vector<Func> buildFuncTable(int nTypes, bool hasAllGatherV, bool signedPostDiv) {
  using Key = std::array<std::string, 5>;
  struct Row { Key key; Func f; };
  auto less = [](const Row& a, const Row& b) { return a.key < b.key; };
  std::set<Row, decltype(less)> all(less);
  auto add = [&](int coll, int red, int ty, int algo, int proto) {
    Row r;
    r.key = Key{kCollName[coll], kRedName[red], kTypeName[ty], kAlgoName[algo], kProtoName[proto]};
    r.f = Func{coll, red, ty, algo, proto, ""};
    for (auto& s : r.key) if (!s.empty()) { if (!r.f.name.empty()) r.f.name += ' '; r.f.name += s; }
    if (coll == kSendRecv) { r.f.type = kU8; r.f.algo = kRing; r.f.proto = 2; }
    if (ty == kNoType) r.f.type = kU8;
    all.insert(r);
  };
  add(kSendRecv, kCopy, kNoType, kNoAlgo, kNoProto);
  for (int proto = 0; proto < 3; proto++) {
    for (int algo : {kRing, kCollnetDirect, kNvls, kPat})
      if (exists(kAllGather, kCopy, kNoType, algo, proto)) add(kAllGather, kCopy, kNoType, algo, proto);
    add(kBroadcast, kCopy, kNoType, kRing, proto);
    if (hasAllGatherV) add(kAllGatherV, kCopy, kNoType, kRing, proto);
    for (int coll : {kAllReduce, kReduce, kReduceScatter})
      for (int red = kSum; red <= kSumPostDiv; red++)
        for (int ty = 0; ty < nTypes; ty++)
          for (int algo = kTree; algo <= kPat; algo++) {
            bool has = coll == kAllReduce ? algo != kPat
                     : coll == kReduce ? algo == kRing
                     : algo == kRing || algo == kCollnetDirect || algo == kNvls || algo == kPat;
            if (!has || !exists(coll, red, ty, algo, proto)) continue;
            bool share = isSigned(ty) && (red != kMinMax || !isNvls(algo)) && !(red == kSumPostDiv && signedPostDiv);
            add(coll, red, share ? ty + 1 : ty, algo, proto);
          }
  }
  std::vector<Func> out;
  for (auto& r : all) out.push_back(r.f);
  return out;
}
}  // namespace emu
