// chokepoint dump: the blocks and events of one file as text or JSON lines, from the schema in the
// file. Must not interpret: an event of a newer version is shown like any other.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/cli/commands.h"
#include "tools/cli/exit_status.h"
#include "tools/cli/output.h"
#include "tools/report/escape.h"
#include "trace/block_walker.h"
#include "trace/reader.h"

namespace chokepoint::tools {
namespace {

using Json = nlohmann::ordered_json;

const char* BlockName(std::uint16_t kind) {
  switch (static_cast<trace::BlockKind>(kind)) {
    case trace::BlockKind::kMeta:
      return "META";
    case trace::BlockKind::kSchema:
      return "SCHEMA";
    case trace::BlockKind::kNames:
      return "NAMES";
    case trace::BlockKind::kClock:
      return "CLOCK";
    case trace::BlockKind::kEvents:
      return "EVENTS";
    case trace::BlockKind::kLoss:
      return "LOSS";
    case trace::BlockKind::kCost:
      return "COST";
    case trace::BlockKind::kEnd:
      return "END";
    default:
      return "other";
  }
}

class Dumper {
 public:
  Dumper(trace::TraceFile* file, bool json) : file_(file), json_(json) {}

  int Events() {
    Header();
    const trace::ReadResult result = file_->Read([this](const trace::EventView& view) {
      if (open_) Event(view);
    });
    Footer(result);
    return out_.Finish();
  }

  int Blocks() {
    Header();
    const int descriptor = open(file_->path().c_str(), O_RDONLY | O_CLOEXEC);
    const off_t size = lseek(descriptor, 0, SEEK_END);
    const auto on_damage = [this](std::uint64_t offset, std::uint64_t bytes, trace::DamageKind) {
      Line({{"offset", offset}, {"bytes", bytes}, {"block", "damaged"}});
    };
    trace::BlockWalker walker(descriptor, file_->header().header_bytes,
                              static_cast<std::uint64_t>(std::max<off_t>(size, 0)), on_damage);
    trace::Block block;
    while (open_ && walker.Next(&block)) {
      Line({{"offset", block.offset},
            {"bytes", block.bytes},
            {"block", BlockName(block.header.kind)},
            {"kind", block.header.kind},
            {"sequence", block.header.sequence},
            {"snapshot", (block.header.flags & trace::kBlockSnapshot) != 0},
            {"payload_bytes", block.header.payload_bytes},
            {"first_ticks", block.header.first_ticks}});
    }
    close(descriptor);
    return out_.Finish();
  }

 private:
  // As one JSON object, or as name=value pairs.
  void Line(const Json& fields) {
    std::string line;
    if (json_) {
      line = fields.dump();
    } else {
      for (const auto& [name, value] : fields.items()) {
        line += fmt::format("{}{}={}", line.empty() ? "" : " ", name,
                            value.is_string() ? value.get<std::string>() : value.dump());
      }
    }
    open_ = out_.Add(line + "\n");
  }

  void Header() {
    const trace::FileHeader& header = file_->header();
    Json fields = {
        {"file", Escape(file_->path())},
        {"framing_version", header.framing_version},
        {"writer",
         header.writer == static_cast<std::uint16_t>(trace::Writer::kNccl) ? "nccl" : "io"},
        {"pid", header.pid},
        {"start_realtime_ns", header.start_realtime_ns}};
    for (const auto& [key, value] : file_->all_meta())
      fields["meta." + Escape(key)] = Escape(value);
    if (json_) return Line(fields);
    for (const auto& [name, value] : fields.items()) {
      open_ = out_.Add(fmt::format("# {}: {}\n", name,
                                   value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }

  void Footer(const trace::ReadResult& result) {
    for (const trace::Damage& damage : result.damage) {
      const Json fields = {{"offset", damage.offset},
                           {"lost_bytes", damage.bytes},
                           {"reason", Escape(damage.reason)}};
      if (json_) {
        Line(fields);
      } else {
        open_ = out_.Add(fmt::format("# damage at offset {}: {} bytes, {}\n", damage.offset,
                                     damage.bytes, Escape(damage.reason)));
      }
    }
    if (!json_) {
      out_.Add(fmt::format("# {} of {} bytes read, {} blocks missing, {} unknown events, {}\n",
                           result.read_bytes, result.file_bytes, result.missing_blocks,
                           result.unknown_events,
                           result.ended ? "closed in order" : "not closed in order"));
    }
  }

  Json FieldJson(const std::byte* record, const trace::SchemaField& field,
                 std::uint32_t index) const {
    const trace::FieldValue value = trace::ReadField(record, field, index);
    switch (value.type) {
      case trace::FieldType::kf32:
      case trace::FieldType::kf64:
        return value.float_value;
      case trace::FieldType::ki32:
        return value.signed_value;
      default:
        break;
    }
    if (field.unit == "name" || field.unit == "literal") {
      return Escape(file_->name(static_cast<std::uint32_t>(value.unsigned_value)));
    }
    return value.unsigned_value;
  }

  void Event(const trace::EventView& view) {
    const trace::SchemaEvent* schema = file_->schema().Find(view.kind);
    if (schema == nullptr) return;
    Json fields = {{"event", Escape(schema->name)}, {"thread", view.thread}};
    if (view.snapshot) fields["snapshot"] = true;
    if (view.salvaged) fields["salvaged"] = true;
    for (const trace::SchemaField& field : schema->fields) {
      if (field.name == "kind" || field.name.starts_with("reserved")) continue;
      if (field.length == 1) {
        fields[field.name] = FieldJson(view.bytes.data(), field, 0);
        continue;
      }
      Json list = Json::array();
      for (std::uint32_t i = 0; i < field.length; ++i)
        list.push_back(FieldJson(view.bytes.data(), field, i));
      fields[field.name] = std::move(list);
    }
    Line(fields);
  }

  trace::TraceFile* file_;
  bool json_;
  bool open_ = true;
  OutputStream out_;
};

}  // namespace

int RunDump(const DumpArguments& arguments) {
  std::unique_ptr<trace::TraceFile> file;
  const trace::Status opened = trace::TraceFile::Open(arguments.path, &file);
  if (!opened.ok()) {
    Complain(opened.message());
    return kExitNoTraces;
  }
  const std::string ring = trace::RingFileOf(arguments.path);
  if (!ring.empty() && ring != arguments.path) {
    const trace::Status attached = file->AttachRing(ring);
    if (!attached.ok()) Complain(attached.message());
  }
  Dumper dumper(file.get(), arguments.json);
  return arguments.blocks ? dumper.Blocks() : dumper.Events();
}

}  // namespace chokepoint::tools
