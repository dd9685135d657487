// Creates and grows the ring file.
// Must not take more than a small share of the shared memory that is free: NCCL needs it too.
#include "trace/ring_memory.h"

#include <sys/file.h>

#include "trace/catalogue.h"
#include "trace/process_info.h"
#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::trace {
namespace {

constexpr std::uint64_t kShareOfFree = 8;
constexpr std::size_t kPage = 4096;
constexpr long kTmpfsMagic = 0x01021994;

constexpr std::size_t ToPages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

const char* WriterSuffix(Writer writer) noexcept { return writer == Writer::kIo ? "io" : "nccl"; }

}  // namespace

bool RingMemory::Create(const RingMemoryLayout& layout, const char* directory) noexcept {
  const std::size_t schema_bytes = ToPages(SchemaCapacity());
  const std::size_t meta_offset = kRingFileHeaderBytes + schema_bytes;
  const std::size_t names_offset = meta_offset + ToPages(layout.meta_bytes);
  const std::size_t board_offset = names_offset + ToPages(layout.names_bytes);
  const std::size_t base_bytes =
      board_offset + ToPages(layout.board_slots * layout.board_slot_bytes);
  max_rings_ = static_cast<std::uint32_t>(
      layout.max_rings < kMaxRingsOfProcess ? layout.max_rings : kMaxRingsOfProcess);
  ring_count_.store(0, std::memory_order_relaxed);
  std::byte* base = CreateFile(layout, directory, base_bytes);
  if (base == nullptr) base = static_cast<std::byte*>(raw::MapAnonymous(base_bytes));
  if (base == nullptr) return false;
  auto* header = reinterpret_cast<RingFileHeader*>(base);
  header->version = kRingFileVersion;
  header->writer = static_cast<std::uint16_t>(layout.writer);
  header->byte_order_mark = kByteOrderMark;
  std::memcpy(header->file_id, layout.file_id, sizeof(header->file_id));
  header->pid = raw::ProcessId();
  header->uid = raw::UserId();
  header->process_start = ProcessStart(0);
  header->pid_namespace = PidNamespace();
  header->start_realtime_ns = layout.start_realtime_ns;
  header->schema_offset = kRingFileHeaderBytes;
  header->schema_bytes =
      WriteSchema(reinterpret_cast<char*>(base + kRingFileHeaderBytes), schema_bytes);
  header->meta_offset = meta_offset;
  header->meta_bytes = layout.meta_bytes;
  header->names_offset = names_offset;
  header->names_bytes = layout.names_bytes;
  header->board_offset = board_offset;
  header->board_slots = layout.board_slots;
  header->board_slot_bytes = layout.board_slot_bytes;
  header->board_record_offset = layout.board_record_offset;
  header->board_record_bytes = layout.board_record_bytes;
  header->rings_offset = base_bytes;
  header->ring_bytes = layout.ring_bytes;
  header->ring_stride = kRingDataOffset + layout.ring_bytes;
  // Salvagers take the file for ours once the magic is there; by now it is locked and complete.
  std::atomic_ref<std::uint64_t>(header->magic).store(kRingFileMagic, std::memory_order_release);
  header_ = header;
  return true;
}

// null when the rings must live in private memory.
std::byte* RingMemory::CreateFile(const RingMemoryLayout& layout, const char* directory,
                                  std::size_t bytes) noexcept {
  file_path_[0] = '\0';
  if (std::strcmp(directory, "none") == 0) return nullptr;
  // why: a program that is allowed so few descriptors counts on each of them.
  constexpr std::uint64_t kFewDescriptors = 64;
  std::uint64_t limit = 0;
  if (raw::SoftLimit(RLIMIT_NOFILE, &limit) == 0 && limit < kFewDescriptors) return nullptr;
  char path[sizeof(file_path_)];
  Text text(path, sizeof(path));
  text.Add(directory).Add("/chokepoint-").AddNumber(raw::UserId()).AddChar('-');
  text.AddNumber(raw::ProcessId()).AddChar('-').AddNumber(layout.start_realtime_ns / 1'000'000u);
  text.AddChar('.').Add(WriterSuffix(layout.writer)).Add(".ring");
  if (text.cut()) return nullptr;
  fd_ = raw::MoveDescriptorUp(
      raw::Open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd_ < 0) return nullptr;
  raw::Lock(
      fd_, LOCK_EX | LOCK_NB);  // held until this process dies or executes: who gets it may salvage
  struct stat info {};
  struct statfs system {};
  void* mapped = nullptr;
  const bool ours = raw::FStat(fd_, &info) == 0 && raw::FStatFs(fd_, &system) == 0;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  if (ours && static_cast<long>(system.f_type) == kTmpfsMagic && Reserve(0, bytes)) {
    mapped = raw::Map(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  }
  if (mapped == nullptr) {
    raw::Unlink(path);
    raw::Close(fd_);
    fd_ = -1;
    return nullptr;
  }
  std::memcpy(file_path_, path, sizeof(path));
  return static_cast<std::byte*>(mapped);
}

// why: a store into a page that a full tmpfs cannot give is a SIGBUS in the job.
bool RingMemory::Reserve(std::uint64_t offset, std::uint64_t bytes) noexcept {
  struct statfs system {};
  if (raw::FStatFs(fd_, &system) != 0) return false;
  const bool unlimited = system.f_blocks == 0;
  const std::uint64_t free_bytes =
      static_cast<std::uint64_t>(system.f_bavail) * static_cast<std::uint64_t>(system.f_bsize);
  if (!unlimited && bytes > free_bytes / kShareOfFree) return false;
  return raw::Allocate(fd_, offset, bytes) == 0;
}

// The program may have closed our descriptor and been given its number for a file of its own.
bool RingMemory::StillOurFile() const noexcept {
  struct stat info {};
  return fd_ >= 0 && raw::FStat(fd_, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

std::byte* RingMemory::MapRing(std::uint32_t index, bool* in_file) noexcept {
  const std::uint64_t offset = header_->rings_offset + index * header_->ring_stride;
  *in_file = true;
  if (shared() && StillOurFile() && Reserve(offset, header_->ring_stride)) {
    void* mapped = raw::Map(header_->ring_stride, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                            fd_, offset);
    if (mapped != nullptr) return static_cast<std::byte*>(mapped);
  }
  *in_file = false;
  return static_cast<std::byte*>(raw::MapAnonymous(header_->ring_stride));
}

RingHeader* RingMemory::AddRing(std::uint32_t thread) noexcept {
  if (header_ == nullptr || ring_count_.load(std::memory_order_relaxed) >= max_rings_)
    return nullptr;
  const std::uint32_t index = ring_count_.fetch_add(1, std::memory_order_acq_rel);
  if (index >= max_rings_) return nullptr;
  bool in_file = false;
  std::byte* memory = MapRing(index, &in_file);
  if (memory == nullptr) return nullptr;
  auto* ring = reinterpret_cast<RingHeader*>(memory);
  ring->number = in_file ? index : kFirstPrivateRing + index;
  ring->capacity_bytes = header_->ring_bytes;
  ring->tail_thread.store(thread, std::memory_order_relaxed);
  ring->thread.store(thread, std::memory_order_relaxed);
  std::uint32_t in_file_count = header_->ring_count.load(std::memory_order_relaxed);
  while (in_file && in_file_count <= index &&
         !header_->ring_count.compare_exchange_weak(in_file_count, index + 1,
                                                    std::memory_order_release)) {
  }
  rings_[index].store(ring, std::memory_order_release);
  return ring;
}

void RingMemory::SetTracePath(const char* path) noexcept {
  header_->trace_path_set.store(0, std::memory_order_release);
  Text(header_->trace_path, sizeof(header_->trace_path)).Add(path);
  header_->trace_path_set.store(1, std::memory_order_release);
}

void RingMemory::RemoveFile() noexcept {
  if (!shared()) return;
  raw::Unlink(file_path_);
  if (StillOurFile()) raw::Close(fd_);
  fd_ = -1;
}

void RingMemory::ForgetInChild() noexcept {
  if (StillOurFile()) raw::Close(fd_);
  fd_ = -1;
  const std::uint64_t stride = header_ != nullptr ? header_->ring_stride : 0;
  for (std::uint32_t i = 0; i < ring_count(); ++i) {
    RingHeader* ring = rings_[i].exchange(nullptr, std::memory_order_relaxed);
    if (ring != nullptr) raw::Unmap(ring, stride);
  }
  ring_count_.store(0, std::memory_order_relaxed);
  // The first mapping stays: code of the parent may still hold a pointer into its board.
  header_ = nullptr;
  file_path_[0] = '\0';
}

}  // namespace chokepoint::trace
