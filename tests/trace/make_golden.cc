// make_golden DIRECTORY: writes the golden traces of the current framing version.
// Must not be run for a version that has been released: tests/golden/format/v<N> is then as it is,
// for ever.
#include <cstdio>
#include <filesystem>

#include "tests/support/trace_builder.h"

namespace {

using namespace chokepoint;
using tests::TraceFileWriter;

// A part of version 1's catalogue as it was, so that these files do not change with today's.
constexpr const char* kSchema =
    "event\t1\t32\tClockSample\tone moment read on three clocks\n"
    "u16\t2\t1\treserved0\t\t0\n"
    "u32\t4\t1\tuncertainty_ticks\tticks\twidth of the bracket in which the three were read\n"
    "u64\t8\t1\tticks\tticks\tthe clock of all other records\n"
    "u64\t16\t1\tmonotonic_raw_ns\tns\tCLOCK_MONOTONIC_RAW\n"
    "u64\t24\t1\trealtime_ns\tns\tCLOCK_REALTIME\n"
    "event\t2\t40\tLoss\trecords that were dropped, by reason\n"
    "u16\t2\t1\treason\tenum\tLossReason\n"
    "u32\t4\t1\tthread\tindex\tthread id of the ring; 0 = the whole process\n"
    "u64\t8\t1\tevents\tcount\trecords dropped\n"
    "u64\t16\t1\tbytes\tbytes\ttheir size\n"
    "u64\t24\t1\tfirst_ticks\tticks\twhen the first was dropped\n"
    "u64\t32\t1\tlast_ticks\tticks\twhen the last was dropped\n"
    "event\t17\t16\tCommunicatorEnd\ta communicator was finalised\n"
    "u16\t2\t1\treserved0\t\t0\n"
    "u32\t4\t1\tcommunicator\tindex\tsee Communicator\n"
    "u64\t8\t1\tticks\tticks\twhen\n"
    "event\t900\t16\tRetired\tan event that no later version knows\n"
    "u64\t8\t1\tvalue\tcount\tanything\n";

TraceFileWriter::Options GoldenOptions() {
  TraceFileWriter::Options options;
  options.schema = kSchema;
  return options;
}

void Emit(TraceFileWriter* writer, std::uint32_t from, std::uint32_t to) {
  for (std::uint32_t i = from; i < to; ++i) {
    trace::CommunicatorEnd event;
    event.communicator = i;
    event.ticks = 1'000'000'000u + 1000u * i;
    writer->Emit(event, 1000 + i % 2);
  }
  writer->FlushRecords();
}

void Complete(const std::string& path) {
  TraceFileWriter writer(path, GoldenOptions());
  writer.Meta({{"host", "node1"}, {"rank", "3"}, {"job_id", "4711"}});
  writer.Name(1, "AllReduce");
  writer.Name(256, "/data/train/shard-0001");
  Emit(&writer, 0, 6);
  writer.RecordsBlock(trace::BlockKind::kEvents, 1000, trace::kNotFromRing, 0,
                      std::string("\x84\x03\0\0\0\0\0\0\x2a\0\0\0\0\0\0\0", 16), 1);
  writer.AddBlock(static_cast<trace::BlockKind>(77), "a kind of block that no later version knows");
  writer.Loss(trace::LossReason::kRingFull, 12, 768);
  writer.Clock(2'000'000'000);
  writer.Finish();
}

void Killed(const std::string& path) {
  TraceFileWriter writer(path, GoldenOptions());
  writer.Meta("host", "node2");
  Emit(&writer, 0, 4);
  Emit(&writer, 4, 8);
  writer.FinishTorn(11);
}

// The circle has begun anew: newer blocks lie before older ones, with a PAD between.
void Wrapped(const std::string& path) {
  TraceFileWriter writer(path, GoldenOptions());
  Emit(&writer, 0, 2);
  writer.SkipSequence(4);
  Emit(&writer, 12, 14);
  trace::BlockHeader pad{};
  pad.magic = trace::kBlockMagic;
  pad.kind = static_cast<std::uint16_t>(trace::BlockKind::kPad);
  pad.payload_bytes = 24;
  pad.checksum = trace::BlockChecksum(pad, {});
  writer.bytes().append(reinterpret_cast<const char*>(&pad), sizeof(pad));
  writer.bytes().append("what an older block left");
  writer.SkipSequence(0u - 5u);
  Emit(&writer, 8, 10);
  writer.FinishTorn();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  std::filesystem::create_directories(folder);
  for (const char* leaf : {"complete.cpt", "killed.cpt", "wrapped.cpt"}) {
    if (std::filesystem::exists(folder + "/" + leaf)) {
      std::fprintf(stderr, "make_golden: %s/%s is there: golden files are never written twice\n",
                   argv[1], leaf);
      return 1;
    }
  }
  Complete(folder + "/complete.cpt");
  Killed(folder + "/killed.cpt");
  Wrapped(folder + "/wrapped.cpt");
  return 0;
}
