// NCCL's numbering of its device functions: function id -> collective, operation, type, algorithm,
// protocol. It must not know which of them the emulator can run.
#pragma once

#include <string>
#include <vector>

namespace chokepoint::softgpu::emu {

enum Collective {
  kBroadcast,
  kReduce,
  kAllGather,
  kReduceScatter,
  kAllReduce,
  kSendRecv,
  kAllGatherV
};
enum Reduction { kSum, kProd, kMinMax, kPreMulSum, kSumPostDiv, kCopy };
enum DataType {
  kI8,
  kU8,
  kI32,
  kU32,
  kI64,
  kU64,
  kF16,
  kF32,
  kF64,
  kBF16,
  kF8E4M3,
  kF8E5M2,
  kDataTypes
};
enum Algorithm { kTree, kRing, kCollnetDirect, kCollnetChain, kNvls, kNvlsTree, kPat, kAlgorithms };

int BytesOf(int data_type);
bool IsSigned(int data_type);

struct Function {
  int collective;
  int reduction;
  int type;
  int algorithm;
  int protocol;
  std::string name;  // e.g. "AllReduce Sum f32 RING LL"
};

// The table of a full NCCL build with the first `data_types` types; the index is the function id.
std::vector<Function> BuildFunctionTable(int data_types, bool has_all_gather_v,
                                         bool signed_post_div);

}  // namespace chokepoint::softgpu::emu
