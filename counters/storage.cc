// Parses diskstats and mountstats.
// Must not count a disk and its partitions both.
#include "counters/storage.h"

#include "counters/text_scan.h"
#include "trace/text.h"

namespace chokepoint::counters {

DiskReader::Disk* DiskReader::FindOrAdd(const Round& round, std::string_view name) noexcept {
  for (std::size_t i = 0; i < count_; ++i) {
    if (name == disks_[i].name) return &disks_[i];
  }
  if (count_ == kMost || name.size() >= sizeof(Disk::name)) return nullptr;
  Disk& disk = disks_[count_++];
  disk = Disk{};
  trace::Text(disk.name, sizeof(disk.name)).Add(name.data(), name.size());
  char path[kMaxPathBytes];
  trace::Text(path, sizeof(path)).Add("/sys/block/").Add(disk.name);
  const bool memory = StartsWith(name, "ram") || StartsWith(name, "loop");
  disk.whole = !memory && round.tree->Exists(path);
  return &disk;
}

// major minor name, then reads merged sectors ms, the same for writes, in flight, busy ms, weighted
// ms, since 4.18 discards (four), since 5.5 flushes and their ms.
void DiskReader::ReadLine(const Round& round, std::string_view line) noexcept {
  constexpr std::uint64_t kSectorBytes = 512;
  std::uint64_t number[2];
  std::string_view name;
  std::uint64_t v[17] = {};
  if (TakeNumbers(&line, number, 2) != 2 || !TakeWord(&line, &name)) return;
  if (TakeNumbers(&line, v, 17) < 11) return;
  Disk* disk = FindOrAdd(round, name);
  if (disk == nullptr || !disk->whole) return;
  const std::uint64_t operations = v[0] + v[4] + v[15];
  // why: v[8], requests in flight now: a disk that answers nothing has not moved, and is the one to
  // see.
  if (disk->recorded && operations == disk->written_operations && v[8] == 0) return;
  trace::DiskSample sample;
  sample.device = round.sink->Name(disk->name);
  sample.ticks = round.now_ticks;
  sample.reads = v[0];
  sample.read_bytes = v[2] * kSectorBytes;
  sample.read_ms = v[3];
  sample.writes = v[4];
  sample.written_bytes = v[6] * kSectorBytes;
  sample.write_ms = v[7];
  sample.in_flight = static_cast<std::uint32_t>(v[8]);
  sample.busy_ms = v[9];
  sample.queue_ms = v[10];
  sample.flushes = v[15];
  sample.flush_ms = v[16];
  round.sink->Emit(sample);
  disk->written_operations = operations;
  disk->recorded = true;
}

void DiskReader::Sample(const Round& round) noexcept {
  long result = 0;
  std::string_view text = round.Read(&file_, &result);
  if (!presence_.Note(round, trace::SamplerSource::kDisk, result)) return;
  std::string_view line;
  while (TakeLine(&text, &line)) ReadLine(round, line);
}

namespace {

// "device server:/export mounted on /mnt with fstype nfs4 statvers=1.1". False when it is not NFS.
bool ParseDevice(const Round& round, std::string_view line, trace::MountSample* sample) noexcept {
  const std::size_t on = line.find(" mounted on ");
  const std::size_t with = line.find(" with fstype nfs");
  constexpr std::size_t kDeviceBytes = 7;  // "device "
  constexpr std::size_t kOnBytes = 12;
  if (on == std::string_view::npos || with == std::string_view::npos || with < on + kOnBytes) {
    return false;
  }
  char name[kMaxPathBytes * 2];
  trace::Text(name, sizeof(name)).Add(line.data() + kDeviceBytes, on - kDeviceBytes);
  sample->server = round.sink->Name(name);
  trace::Text(name, sizeof(name)).Add(line.data() + on + kOnBytes, with - on - kOnBytes);
  sample->mount = round.sink->Name(name);
  return true;
}

// "READ: ops transmissions timeouts sent received queue_ms rtt_ms execute_ms [errors]"
void AddOperation(std::string_view name, std::string_view numbers,
                  trace::MountSample* sample) noexcept {
  std::uint64_t v[8] = {};
  if (TakeNumbers(&numbers, v, 8) < 8) return;
  if (v[1] > v[0]) sample->retransmissions += v[1] - v[0];
  sample->timeouts += v[2];
  if (name == "READ:") {
    sample->read_operations = v[0];
    sample->read_round_trip_ms = v[6];
    sample->read_execute_ms = v[7];
  } else if (name == "WRITE:") {
    sample->write_operations = v[0];
    sample->write_round_trip_ms = v[6];
    sample->write_execute_ms = v[7];
  } else {
    sample->metadata_operations += v[0];
    sample->metadata_execute_ms += v[7];
  }
}

// "bytes: read written direct_read direct_written server_read server_written pages..."
void AddBytes(std::string_view numbers, trace::MountSample* sample) noexcept {
  std::uint64_t v[6] = {};
  if (TakeNumbers(&numbers, v, 6) < 6) return;
  sample->read_bytes = v[0] + v[2];
  sample->written_bytes = v[1] + v[3];
  sample->server_read_bytes = v[4];
  sample->server_written_bytes = v[5];
}

}  // namespace

void MountReader::Finish(const Round& round, trace::MountSample* sample) noexcept {
  if (sample->mount == 0) return;
  Mount* mount = nullptr;
  for (std::size_t i = 0; i < count_; ++i) {
    if (mounts_[i].name == sample->mount) mount = &mounts_[i];
  }
  const std::uint64_t operations =
      sample->read_operations + sample->write_operations + sample->metadata_operations;
  if (mount == nullptr && count_ < kMost) {
    mount = &mounts_[count_++];
    mount->name = sample->mount;
  } else if (mount == nullptr || mount->written_operations == operations) {
    return;
  }
  mount->written_operations = operations;
  round.sink->Emit(*sample);
}

void MountReader::Sample(const Round& round) noexcept {
  long result = 0;
  std::string_view text = round.Read(&file_, &result);
  if (!presence_.Note(round, trace::SamplerSource::kMount, result)) return;
  trace::MountSample sample;
  bool in_operations = false;
  std::string_view line;
  while (TakeLine(&text, &line)) {
    if (StartsWith(line, "device ")) {
      Finish(round, &sample);
      sample = trace::MountSample{};
      sample.ticks = round.now_ticks;
      in_operations = false;
      ParseDevice(round, line, &sample);
      continue;
    }
    std::string_view name;
    if (sample.mount == 0 || !TakeWord(&line, &name)) continue;
    if (name == "bytes:") AddBytes(line, &sample);
    if (in_operations) AddOperation(name, line, &sample);
    if (name == "per-op") in_operations = true;
  }
  Finish(round, &sample);
}

}  // namespace chokepoint::counters
