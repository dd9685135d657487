// Finds the ring files that belong to the traces of a directory, and moves those of dead processes
// beside their traces. Must not touch a file of another user, nor one whose process lives.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "trace/reader.h"
#include "trace/ring_image.h"

namespace chokepoint::trace {
namespace {

namespace fs = std::filesystem;

std::string SharedMemoryFolder() {
  const char* folder = std::getenv("CHOKEPOINT_SHM_DIR");
  return folder != nullptr && *folder != '\0' ? folder : "/dev/shm";
}

bool HasRingName(const std::string& leaf) {
  return leaf.starts_with("chokepoint-") && leaf.ends_with(".ring");
}

std::uint64_t PidNamespace() {
  struct stat info {};
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

// Field 22 of /proc/<pid>/stat; 0 when there is no such process.
std::uint64_t ProcessStart(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  std::size_t at = line.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at + 1, nullptr, 10);
}

// The owner holds a lock until it dies or executes another program; across pid namespaces only that
// tells.
bool Unlocked(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  const bool unlocked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
  if (fd >= 0) close(fd);
  return unlocked;
}

bool ProcessAlive(const RingImage& image, const std::string& path) {
  if (!Unlocked(path)) return true;
  const bool same_namespace = image.pid_namespace() == PidNamespace();
  return same_namespace && ProcessStart(image.pid()) == image.process_start();
}

bool CopyFile(const std::string& from, const std::string& to) {
  const std::string partial = to + ".partial";
  std::error_code error;
  if (!fs::copy_file(from, partial, fs::copy_options::overwrite_existing, error)) return false;
  fs::rename(partial, to, error);
  if (error) fs::remove(partial, error);
  return !error;
}

// A process in a container calls its directory by another path than we do: the file's id tells.
bool SameFileId(const std::string& trace_path, const RingImage& image) {
  FileHeader header{};
  std::ifstream file(trace_path, std::ios::binary);
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  const FileHeader wanted = image.AsFileHeader();
  return file.good() && header.magic == kFileMagic &&
         std::memcmp(header.file_id, wanted.file_id, sizeof(header.file_id)) == 0;
}

}  // namespace

std::vector<RingFile> FindRingFiles(const std::string& trace_dir) {
  std::vector<RingFile> found;
  std::error_code error;
  const std::string folder = trace_dir.empty() ? "." : trace_dir;
  const fs::path wanted = fs::weakly_canonical(folder, error);
  for (const auto& entry : fs::directory_iterator(SharedMemoryFolder(), error)) {
    const std::string path = entry.path().string();
    struct stat info {};
    if (!HasRingName(entry.path().filename().string()) || lstat(path.c_str(), &info) != 0) continue;
    if (!S_ISREG(info.st_mode) || (info.st_uid != geteuid() && geteuid() != 0)) continue;
    std::unique_ptr<RingImage> image;
    if (!RingImage::Open(path, &image).ok() || image->trace_path().empty()) continue;
    const fs::path recorded = image->trace_path();
    const std::string path_here = (fs::path(folder) / recorded.filename()).string();
    const bool here = fs::weakly_canonical(recorded.parent_path(), error) == wanted;
    if (!here && !SameFileId(path_here, *image)) continue;
    found.push_back({path, path_here, image->pid(), ProcessAlive(*image, path)});
  }
  return found;
}

std::size_t SalvageRingFiles(const std::string& trace_dir) {
  std::size_t moved = 0;
  for (const RingFile& file : FindRingFiles(trace_dir)) {
    if (file.process_alive || !CopyFile(file.ring_path, file.trace_path + ".ring")) continue;
    std::error_code error;
    fs::remove(file.ring_path, error);
    ++moved;
  }
  return moved;
}

std::string RingFileOf(const std::string& trace_path) {
  std::error_code error;
  if (fs::exists(trace_path + ".ring", error)) return trace_path + ".ring";
  for (const RingFile& file : FindRingFiles(fs::path(trace_path).parent_path().string())) {
    if (fs::path(file.trace_path).filename() == fs::path(trace_path).filename())
      return file.ring_path;
  }
  return {};
}

}  // namespace chokepoint::trace
