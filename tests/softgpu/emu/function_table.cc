// How NCCL numbers its device functions: every valid combination is mapped to a representative
// (signed integers share the unsigned code where the arithmetic is the same); the representatives
// are sorted by the *names* of their five fields, and the id is the position in that order. It must
// not be sorted in any other way.
#include "tests/softgpu/emu/function_table.h"

#include <array>
#include <initializer_list>
#include <set>

#include "tests/softgpu/emu/device_structs.h"

namespace chokepoint::softgpu::emu {
namespace {

constexpr int kNoType = kDataTypes;
constexpr int kNoAlgorithm = kAlgorithms;
constexpr int kNoProtocol = kProtocols;

const char* const kCollectiveNames[] = {"Broadcast", "Reduce",   "AllGather", "ReduceScatter",
                                        "AllReduce", "SendRecv", "AllGatherV"};
const char* const kReductionNames[] = {"Sum", "Prod", "MinMax", "PreMulSum", "SumPostDiv", ""};
const char* const kTypeNames[] = {"i8",  "u8",  "i32",  "u32",    "i64",    "u64", "f16",
                                  "f32", "f64", "bf16", "f8e4m3", "f8e5m2", ""};
const char* const kAlgorithmNames[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT", ""};
const char* const kProtocolNames[] = {"LL", "LL128", "SIMPLE", ""};

bool IsInteger(int type) { return type <= kU64; }
bool IsNvls(int algorithm) { return algorithm == kNvls || algorithm == kNvlsTree; }

bool NvlsSupports(int reduction, int type) {
  switch (type) {
    case kI32:
    case kU32:
    case kI64:
    case kU64:
    case kF16:
    case kBF16:
      return reduction == kSum || reduction == kMinMax;
    case kF32:
    case kF64:
      return reduction == kSum;
    default:
      return false;
  }
}

bool HasProtocol(int algorithm, int protocol) {
  return protocol == kProtoSimple || algorithm == kRing || algorithm == kTree;
}

bool HasAlgorithm(int collective, int algorithm) {
  switch (collective) {
    case kAllReduce:
      return algorithm != kPat;
    case kReduce:
      return algorithm == kRing;
    default:
      return algorithm == kRing || algorithm == kCollnetDirect || algorithm == kNvls ||
             algorithm == kPat;
  }
}

bool ReductionExists(int reduction, int type, int algorithm) {
  if (reduction == kSumPostDiv && !IsInteger(type)) return false;
  return !IsNvls(algorithm) || NvlsSupports(reduction, type);
}

// Collects representatives in the order of their names.
class Collector {
 public:
  void Add(int collective, int reduction, int type, int algorithm, int protocol) {
    Row row;
    row.key = {kCollectiveNames[collective], kReductionNames[reduction], kTypeNames[type],
               kAlgorithmNames[algorithm], kProtocolNames[protocol]};
    row.function = {collective, reduction, type, algorithm, protocol, ""};
    for (const std::string& part : row.key) {
      if (part.empty()) continue;
      if (!row.function.name.empty()) row.function.name += ' ';
      row.function.name += part;
    }
    if (collective == kSendRecv) {
      row.function.algorithm = kRing;
      row.function.protocol = kProtoSimple;
    }
    if (type == kNoType) row.function.type = kU8;
    rows_.insert(row);
  }

  std::vector<Function> Table() const {
    std::vector<Function> table;
    for (const Row& row : rows_) table.push_back(row.function);
    return table;
  }

 private:
  struct Row {
    std::array<std::string, 5> key;
    Function function;
    bool operator<(const Row& other) const { return key < other.key; }
  };
  std::set<Row> rows_;
};

void AddReduction(Collector* all, int collective, int reduction, int type, int protocol,
                  bool signed_post_div) {
  for (int algorithm = kTree; algorithm < kAlgorithms; algorithm++) {
    if (!HasAlgorithm(collective, algorithm) || !HasProtocol(algorithm, protocol)) continue;
    if (!ReductionExists(reduction, type, algorithm)) continue;
    const bool shares_unsigned = IsSigned(type) && (reduction != kMinMax || !IsNvls(algorithm)) &&
                                 !(reduction == kSumPostDiv && signed_post_div);
    all->Add(collective, reduction, shares_unsigned ? type + 1 : type, algorithm, protocol);
  }
}

void AddReductions(Collector* all, int protocol, int data_types, bool signed_post_div) {
  for (const int collective : {kAllReduce, kReduce, kReduceScatter}) {
    for (int reduction = kSum; reduction <= kSumPostDiv; reduction++) {
      for (int type = 0; type < data_types; type++) {
        AddReduction(all, collective, reduction, type, protocol, signed_post_div);
      }
    }
  }
}

}  // namespace

int BytesOf(int data_type) {
  static constexpr int kBytes[kDataTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return kBytes[data_type];
}

bool IsSigned(int data_type) { return data_type == kI8 || data_type == kI32 || data_type == kI64; }

std::vector<Function> BuildFunctionTable(int data_types, bool has_all_gather_v,
                                         bool signed_post_div) {
  Collector all;
  all.Add(kSendRecv, kCopy, kNoType, kNoAlgorithm, kNoProtocol);
  for (int protocol = 0; protocol < kProtocols; protocol++) {
    for (const int algorithm : {kRing, kCollnetDirect, kNvls, kPat}) {
      if (HasProtocol(algorithm, protocol)) {
        all.Add(kAllGather, kCopy, kNoType, algorithm, protocol);
      }
    }
    all.Add(kBroadcast, kCopy, kNoType, kRing, protocol);
    if (has_all_gather_v) all.Add(kAllGatherV, kCopy, kNoType, kRing, protocol);
    AddReductions(&all, protocol, data_types, signed_post_div);
  }
  return all.Table();
}

}  // namespace chokepoint::softgpu::emu
