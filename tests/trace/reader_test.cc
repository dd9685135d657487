// Reading back what a file says: every event and field, names, META, schema changes.
// Must not write files by the recorder: see recorder_test.cc.
#include "trace/reader.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/support/trace_builder.h"

namespace chokepoint::trace {
namespace {

using tests::TraceFileWriter;

std::string TempPath(const std::string& leaf) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  const std::string folder = testing::TempDir() + test->test_suite_name() + "." + test->name();
  std::filesystem::create_directories(folder);
  return folder + "/" + leaf;
}

std::unique_ptr<TraceFile> OpenOrFail(const std::string& path) {
  std::unique_ptr<TraceFile> file;
  const Status status = TraceFile::Open(path, &file);
  EXPECT_TRUE(status.ok()) << status.message();
  return file;
}

// Fills each field with a number of its own that its type can hold.
template <class Event>
Event Filled() {
  Event event;
  int next = 1;
  const auto fill = [&next](auto& value) {
    value = static_cast<std::remove_reference_t<decltype(value)>>(next++ % 100 + 1);
  };
  const auto fill_array = [&fill](auto& values) {
    for (auto& value : values) fill(value);
  };
  (void)fill_array;
#define EVENT(id, name, doc) if constexpr (std::is_same_v<Event, name>) {
#define FIELD(type, name, unit, doc) fill(event.name);
#define ARRAY(type, length, name, unit, doc) fill_array(event.name);
#define END_EVENT(name) }
#include "trace/events.def"
#undef EVENT
#undef FIELD
#undef ARRAY
#undef END_EVENT
  return event;
}

template <class Event>
void ExpectRoundTrip() {
  SCOPED_TRACE(static_cast<int>(Event::kKind));
  const std::string path = TempPath("t.cpt");
  const auto expected = Filled<Event>();
  {
    TraceFileWriter writer(path);
    writer.Emit(expected, 77);
  }
  auto file = OpenOrFail(path);
  int seen = 0;
  const ReadResult result = file->Read([&](const EventView& view) {
    if (view.thread != 77) return;
    ++seen;
    Event decoded;
    ASSERT_TRUE(file->Decode(view, &decoded));
    EXPECT_EQ(std::memcmp(&decoded, &expected, sizeof(Event)), 0);
    for (const SchemaField& field : file->schema().Find(Event::kKind)->fields) {
      for (std::uint32_t i = 0; i < field.length; ++i) {
        EXPECT_GE(ReadField(view.bytes.data(), field, i).float_value, 1) << field.name;
      }
    }
  });
  EXPECT_EQ(seen, 1);
  EXPECT_TRUE(result.ended);
  EXPECT_EQ(result.read_bytes, result.file_bytes);
  EXPECT_EQ(result.lost_bytes, 0u);
}

TEST(Reader, GivesEveryEventAndFieldBack) {
#define EVENT(id, name, doc) ExpectRoundTrip<name>();
#define FIELD(type, name, unit, doc)
#define ARRAY(type, length, name, unit, doc)
#define END_EVENT(name)
#include "trace/events.def"
#undef EVENT
#undef FIELD
#undef ARRAY
#undef END_EVENT
}

TEST(Reader, KnowsNamesAndMeta) {
  const std::string path = TempPath("t.cpt");
  {
    TraceFileWriter writer(path);
    writer.Meta({{"host", "node1"}, {"rank", "3"}});
    writer.Emit(Filled<Collective>());
    writer.Name(300, "late but known before the first event");
    writer.Meta("rank", "4");
  }
  auto file = OpenOrFail(path);
  EXPECT_EQ(file->meta("host"), "node1");
  EXPECT_EQ(file->meta("rank"), "4") << "the later one counts";
  EXPECT_EQ(file->meta("nothing"), "");
  EXPECT_EQ(file->name(300), "late but known before the first event");
  EXPECT_EQ(file->name(0), "");
  EXPECT_EQ(file->name(9999), "?");
}

TEST(Reader, ReadsInSequenceOrder) {
  const std::string path = TempPath("t.cpt");
  {
    TraceFileWriter writer(path);
    const auto emit = [&](std::uint32_t communicator) {
      CommunicatorEnd event;
      event.communicator = communicator;
      writer.Emit(event, 5);
      writer.FlushRecords();
    };
    writer.SkipSequence(100);
    emit(3);
    emit(4);
    writer.SkipSequence(0u - 60u);
    emit(1);
    emit(2);
    writer.FinishTorn();
  }
  auto file = OpenOrFail(path);
  std::vector<std::uint32_t> order;
  const ReadResult result = file->Read([&](const EventView& view) {
    CommunicatorEnd event;
    if (file->Decode(view, &event)) order.push_back(event.communicator);
  });
  EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 2, 3, 4}));
  EXPECT_EQ(result.missing_blocks, 100u - 2u);
  EXPECT_FALSE(result.ended);
}

// A file of another release: a field moved and wider, one gone, one unknown, an unknown event.
TEST(Reader, ReadsOtherSchemasByName) {
  const std::string path = TempPath("t.cpt");
  TraceFileWriter::Options options;
  {
    options.schema =
        "event\t1\t32\tClockSample\tof which this reader gets one field\n"
        "u64\t8\t1\tticks\tticks\tas today\n"
        "event\t17\t24\tCommunicatorEnd\ta communicator was finalised\n"
        "u64\t8\t1\tcommunicator\tindex\twider than today\n"
        "f32\t16\t1\tnews\tticks\tunknown today\n"
        "x99\t20\t1\tfuture_type\tticks\tunknown today\n"
        "event\t60000\t16\tFuture\tunknown today\n"
        "u64\t8\t1\tx\tcount\tunknown today\n";
    TraceFileWriter writer(path, options);
    std::string records(40, '\0');
    const std::uint16_t kinds[] = {17, 60000};
    const std::uint64_t communicator = 42;
    std::memcpy(records.data(), &kinds[0], 2);
    std::memcpy(records.data() + 8, &communicator, 8);
    std::memcpy(records.data() + 24, &kinds[1], 2);
    writer.RecordsBlock(BlockKind::kEvents, 9, kNotFromRing, 0, records, 2);
  }
  auto file = OpenOrFail(path);
  int seen = 0;
  const ReadResult result = file->Read([&](const EventView& view) {
    CommunicatorEnd event;
    event.ticks = 7;
    if (!file->Decode(view, &event)) return;
    ++seen;
    EXPECT_EQ(event.communicator, 42u);
    EXPECT_EQ(event.ticks, 0u) << "a missing field has its default, not what was there before";
  });
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(result.unknown_events, 1u);
  EXPECT_EQ(result.lost_bytes, 0u);
}

TEST(Reader, RefusesANewerFramingInOneSentence) {
  const std::string path = TempPath("t.cpt");
  {
    TraceFileWriter writer(path);
    FileHeader header;
    std::memcpy(&header, writer.bytes().data(), sizeof(header));
    header.framing_version = 7;
    header = Sealed(header);
    std::memcpy(writer.bytes().data(), &header, sizeof(header));
  }
  std::unique_ptr<TraceFile> file;
  const Status status = TraceFile::Open(path, &file);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message(),
            path +
                ": written by the NCCL recorder in framing version 7, this chokepoint reads up to "
                "version 1: use the chokepoint that came with the recorder");
}

TEST(Reader, SaysWhyAFileIsNotATrace) {
  const std::string path = TempPath("t.cpt");
  std::unique_ptr<TraceFile> file;
  EXPECT_NE(TraceFile::Open(path + ".missing", &file).message().find("No such file"),
            std::string::npos);
  EXPECT_NE(TraceFile::Open(testing::TempDir(), &file).message().find("not a regular file"),
            std::string::npos);
  std::ofstream(path) << "";
  EXPECT_NE(TraceFile::Open(path, &file).message().find("empty"), std::string::npos);
  std::ofstream(path)
      << "hello, this is a text that somebody left here, longer than a header by some bytes";
  EXPECT_NE(TraceFile::Open(path, &file).message().find("not a trace"), std::string::npos);
}

}  // namespace
}  // namespace chokepoint::trace
