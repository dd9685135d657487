// The patterns behind path_class.h, as tables.
// Must not allocate.
#include "interpose/path_class.h"

#include <cstring>

namespace chokepoint::interpose {

namespace {

using trace::FileClass;

bool StartsWith(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

struct Text {
  const char* begin;
  std::size_t bytes;

  bool Is(const char* other) const {
    return bytes == std::strlen(other) && std::memcmp(begin, other, bytes) == 0;
  }
  bool StartsWith(const char* other) const {
    const std::size_t length = std::strlen(other);
    return bytes >= length && std::memcmp(begin, other, length) == 0;
  }
  bool EndsWith(const char* other) const {
    const std::size_t length = std::strlen(other);
    return bytes >= length && std::memcmp(begin + bytes - length, other, length) == 0;
  }
  bool Contains(const char* other) const {
    return memmem(begin, bytes, other, std::strlen(other)) != nullptr;
  }
};

// Places where programs keep themselves.
constexpr const char* kCodePrefixes[] = {"/usr/", "/lib/",  "/lib64/",  "/etc/",
                                         "/bin/", "/sbin/", "/var/lib/"};
constexpr const char* kCodeParts[] = {"/site-packages/", "/dist-packages/", "/__pycache__/",
                                      "/lib/python",     "/.git/",          "/.cache/pip/",
                                      "/CMakeFiles/"};
constexpr const char* kCodeSuffixes[] = {".py",  ".pyc",   ".pyd", ".so",    ".o",  ".a",   ".h",
                                         ".hpp", ".c",     ".cc",  ".cpp",   ".cu", ".cuh", ".s",
                                         ".d",   ".ninja", ".ptx", ".cubin", ".pyi"};

// why these: how training frameworks name what they write; see docs/limitations.md for what the
// names cannot tell.
constexpr const char* kMarkerNames[] = {".metadata",
                                        ".metadata.tmp",
                                        "latest",
                                        "latest.txt",
                                        "latest_checkpointed_iteration.txt",
                                        "_CHECKPOINT_METADATA",
                                        "_METADATA"};
constexpr const char* kCheckpointSuffixes[] = {".distcp", ".ckpt", ".safetensors", ".pt",
                                               ".pth",    ".nemo", ".pkl.ckpt"};
constexpr const char* kCheckpointParts[] = {
    "ocdbt.process_", "orbax-checkpoint-tmp", "/global_step", "/checkpoint-", "/checkpoints/",
    "/iter_0",        "pytorch_model",        "optimizer.bin"};
constexpr const char* kDatasetSuffixes[] = {
    ".tar", ".parquet", ".arrow", ".tfrecord", ".npy",   ".npz", ".h5",   ".hdf5",
    ".bin", ".idx",     ".jpg",   ".jpeg",     ".JPEG",  ".png", ".webp", ".mp3",
    ".wav", ".flac",    ".mp4",   ".rec",      ".jsonl", ".csv", ".zst",  ".mdb",
    ".zip", ".txt",     ".mds",   ".beton",    ".zarr",  ".pgn"};
constexpr const char* kLogSuffixes[] = {".log", ".out", ".err", ".jsonl", ".csv", ".wandb"};

template <std::size_t kCount>
bool EndsWithAny(const Text& text, const char* const (&suffixes)[kCount]) {
  for (const char* suffix : suffixes) {
    if (text.EndsWith(suffix)) return true;
  }
  return false;
}
template <std::size_t kCount>
bool ContainsAny(const Text& text, const char* const (&parts)[kCount]) {
  for (const char* part : parts) {
    if (text.Contains(part)) return true;
  }
  return false;
}

Text LastPart(const Text& path) {
  const char* slash = static_cast<const char*>(memrchr(path.begin, '/', path.bytes));
  if (slash == nullptr) return path;
  return {slash + 1, path.bytes - static_cast<std::size_t>(slash + 1 - path.begin)};
}

bool IsCode(const Text& path, const Text& name) {
  for (const char* prefix : kCodePrefixes) {
    if (path.StartsWith(prefix)) return true;
  }
  return EndsWithAny(name, kCodeSuffixes) || name.Contains(".so.") || ContainsAny(path, kCodeParts);
}

}  // namespace

bool IsSystemPath(const char* path) {
  if (path[0] != '/') return false;
  return StartsWith(path, "/proc/") || StartsWith(path, "/sys/") ||
         (StartsWith(path, "/dev/") && !StartsWith(path, "/dev/shm/"));
}

FileClass ClassOfPath(const char* path, std::size_t bytes, bool written) {
  const Text text{path, bytes};
  const Text name = LastPart(text);
  if (IsCode(text, name)) return FileClass::kCode;
  if (name.Contains(".swp") && name.Contains("tensor")) return FileClass::kSwap;
  for (const char* marker : kMarkerNames) {
    if (name.Is(marker)) return FileClass::kMarker;
  }
  if (name.StartsWith("commit_success")) return FileClass::kMarker;
  if (EndsWithAny(name, kCheckpointSuffixes) || ContainsAny(text, kCheckpointParts)) {
    return FileClass::kCheckpoint;
  }
  if (name.StartsWith("events.out.tfevents")) return FileClass::kLog;
  if (written) return EndsWithAny(name, kLogSuffixes) ? FileClass::kLog : FileClass::kOther;
  return EndsWithAny(name, kDatasetSuffixes) ? FileClass::kDataset : FileClass::kOther;
}

}  // namespace chokepoint::interpose
