// Expands CHOKEPOINT_DIR, makes directories, opens the file exclusively.
// Must not use a fallback directory that belongs to somebody else.
#include "trace/trace_path.h"

#include <sys/utsname.h>

#include <cstring>

#include "trace/env.h"
#include "trace/raw_io.h"
#include "trace/text.h"

namespace chokepoint::trace {
namespace {

constexpr long kExists = -17;       // -EEXIST
constexpr long kNotOurs = -1;       // -EPERM
constexpr long kNameTooLong = -36;  // -ENAMETOOLONG
constexpr unsigned kDirectoryMode = 0750;
constexpr unsigned kFileMode = 0640;

void AddRank(long rank, Text* text) noexcept {
  if (rank < 0) {
    text->Add("NA");
  } else {
    text->AddNumber(static_cast<std::uint64_t>(rank));
  }
}

void Expand(const char* pattern, const JobIdentity& job, const PathParts& parts,
            Text* out) noexcept {
  for (; *pattern != '\0'; ++pattern) {
    if (*pattern != '%') {
      out->AddChar(*pattern);
      continue;
    }
    switch (*++pattern) {
      case 'h':
        out->Add(parts.host);
        break;
      case 'p':
        out->AddNumber(parts.pid);
        break;
      case 'j':
        out->Add(job.job_id);
        break;
      case 'r':
        AddRank(parts.rank, out);
        break;
      case 'u':
        out->AddNumber(raw::UserId());
        break;
      case '%':
        out->AddChar('%');
        break;
      case '\0':
        return;
      default:
        out->AddChar('%').AddChar(*pattern);
    }
  }
}

// Makes each directory of `path` that is missing. What fails shows when the file is opened.
void MakeDirectories(const char* path) noexcept {
  char partial[kPathBytes];
  for (const char* at = path; *at != '\0';) {
    at += std::strcspn(at + 1, "/") + 1;
    Text(partial, sizeof(partial)).Add(path, static_cast<std::size_t>(at - path));
    raw::MakeDirectory(partial, kDirectoryMode);
  }
}

long CreateIn(const char* directory, const PathParts& parts, std::uint64_t start_ms,
              CreatedFile* out) noexcept {
  MakeDirectories(directory);
  constexpr int kTries = 16;
  long result = 0;
  for (int i = 0; i < kTries; ++i) {
    Text path(out->path, sizeof(out->path));
    path.Add(directory).AddChar('/').Add(parts.host).Add("-rank");
    AddRank(parts.rank, &path);
    path.AddChar('-').AddNumber(parts.pid).AddChar('-').AddNumber(start_ms +
                                                                  static_cast<unsigned>(i));
    path.Add(parts.writer == Writer::kIo ? ".io.cpt" : ".nccl.cpt");
    if (path.cut()) return kNameTooLong;
    result = raw::Open(path.text(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode);
    if (result != kExists) break;
  }
  if (result < 0) return result;
  out->fd = raw::MoveDescriptorUp(static_cast<int>(result));
  if (out->fd >= 0) return 0;
  raw::Unlink(out->path);
  return kNotOurs;
}

long CreateInFallback(const PathParts& parts, std::uint64_t start_ms, CreatedFile* out) noexcept {
  char directory[kPathBytes];
  Text text(directory, sizeof(directory));
  text.Add("/tmp/chokepoint-").AddNumber(raw::UserId());
  raw::MakeDirectory(text.text(), kDirectoryMode);
  struct stat info {};
  const int found = raw::LStat(text.text(), &info);
  if (found != 0) return found;
  if (!S_ISDIR(info.st_mode) || info.st_uid != raw::UserId()) return kNotOurs;
  const char* leaf = std::strrchr(parts.directory, '/');
  if (leaf != nullptr && leaf[1] != '\0') text.Add(leaf);
  return CreateIn(text.text(), parts, start_ms, out);
}

}  // namespace

void FillPathParts(Writer writer, const JobIdentity& job, PathParts* out) noexcept {
  *out = PathParts{};
  out->writer = writer;
  out->rank = job.rank;
  out->pid = raw::ProcessId();
  utsname system{};
  raw::Call(SYS_uname, raw::Word(static_cast<void*>(&system)));
  Text host(out->host, sizeof(out->host));
  for (const char* at = system.nodename; *at != '\0'; ++at) {
    const bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                       (*at >= '0' && *at <= '9') || *at == '-' || *at == '_';
    if (*at == '.') break;  // the domain only makes names longer
    host.AddChar(plain ? *at : '_');
  }
  if (host.size() == 0) host.Add("unknown");
  char expanded[sizeof(out->directory)];
  Text pattern(expanded, sizeof(expanded));
  Expand(EnvTextOrDefault(EnvVariable::kDirectory), job, *out, &pattern);
  const char* relative = pattern.text();
  Text directory(out->directory, sizeof(out->directory));
  if (*relative != '/') {
    char here[sizeof(out->directory)];
    const long bytes = raw::Call(SYS_getcwd, raw::Word(here), sizeof(here));
    if (bytes > 0 && here[0] == '/') directory.Add(here);
    while (relative[0] == '.' && relative[1] == '/') relative += 2;
    if (directory.size() != 1) directory.AddChar('/');
  }
  directory.Add(relative);
  for (std::size_t size = directory.size(); size > 1 && out->directory[size - 1] == '/'; --size) {
    out->directory[size - 1] = '\0';
  }
}

bool CreateTraceFile(const PathParts& parts, std::uint64_t start_realtime_ns, bool fallback_only,
                     CreatedFile* out) noexcept {
  const std::uint64_t start_ms = start_realtime_ns / 1'000'000u;
  out->error = fallback_only ? kNotOurs : CreateIn(parts.directory, parts, start_ms, out);
  if (out->error == 0) return true;
  return CreateInFallback(parts, start_ms, out) == 0;
}

}  // namespace chokepoint::trace
