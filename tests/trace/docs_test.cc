// The written page and the environment table say what the code does.
// Must not check prose.
#include <gtest/gtest.h>

#include "tests/support/trace_builder.h"
#include "tests/trace/events_table.h"
#include "trace/env.h"

namespace chokepoint::trace {
namespace {

const std::string kRoot = CHOKEPOINT_SOURCE_DIR;

TEST(Docs, TheTablesAreTheCatalogue) {
  const std::string page = tests::ReadWhole(kRoot + "/docs/trace-format.md");
  const std::size_t begin = page.find(tests::kTableBegin);
  const std::size_t end = page.find(tests::kTableEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t after_mark = begin + std::string(tests::kTableBegin).size();
  EXPECT_EQ(page.substr(after_mark, end - after_mark), tests::EventsTable())
      << "run build/<preset>/tests/trace/events_doc docs/trace-format.md";
}

TEST(Docs, TheEnvironmentTableIsTheList) {
  const std::string page = tests::ReadWhole(kRoot + "/docs/environment.md");
  std::string expected = "| --- | --- | --- | --- |\n";
  for (const EnvRow& row : EnvTable()) {
    expected += std::string("| `") + row.name + "` | " + row.type + " | `" + row.default_value +
                "` | " + row.doc + " |\n";
  }
  EXPECT_NE(page.find(expected + "\n"), std::string::npos) << expected;
}

// The worked example of docs/trace-format.md, byte by byte where the page gives bytes.
TEST(Docs, TheWorkedExampleIsRight) {
  const std::string path = testing::TempDir() + "worked_example.cpt";
  tests::TraceFileWriter writer(path);
  std::string& bytes = writer.bytes();
  bytes.resize(sizeof(FileHeader));
  writer.SkipSequence(0u - 2u);
  const std::string schema =
      "event\t17\t16\tCommunicatorEnd\tended\n"
      "u32\t4\t1\tcommunicator\t\t\nu64\t8\t1\tticks\t\t\n";
  ASSERT_EQ(schema.size(), 73u) << "or change the page";
  writer.AddSchema(schema);
  CommunicatorEnd event;
  event.communicator = 5;
  event.ticks = 42;
  writer.Emit(event, 77);
  writer.FlushRecords();
  const auto hex = [&](std::size_t offset, std::size_t count) {
    std::string out;
    for (std::size_t i = offset; i < offset + count; ++i) {
      char digits[4];
      std::snprintf(digits, sizeof(digits), "%02x ", static_cast<unsigned char>(bytes[i]));
      out += digits;
    }
    return out;
  };
  EXPECT_EQ(hex(0, 16), "43 4b 50 54 52 54 45 31 01 00 40 00 04 03 02 01 ");
  EXPECT_EQ(hex(32, 8), "01 00 00 00 e8 03 00 00 ");
  EXPECT_EQ(hex(64, 16), "43 42 4c 4b 02 00 00 00 49 00 00 00 00 00 00 00 ");
  EXPECT_EQ(hex(176, 16), "43 42 4c 4b 05 00 00 00 28 00 00 00 01 00 00 00 ");
  EXPECT_EQ(hex(208, 8), "4d 00 00 00 ff ff ff ff ");
  EXPECT_EQ(hex(232, 16), "11 00 00 00 05 00 00 00 2a 00 00 00 00 00 00 00 ");
  EXPECT_EQ(bytes.size(), 248u);
}

}  // namespace
}  // namespace chokepoint::trace
