// Loads a plugin library and probes its symbols from the highest version down, as NCCL does.
// Must not fall back from a symbol that is present.
#include "tests/fakes/fake_nccl.h"

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "tests/fakes/fake_net.h"
#include "tests/fakes/fake_profiler.h"

namespace chokepoint::tests {

const FakeRelease kFakeReleases[] = {
    {"2.12.12", 21212, 0, 5, 4}, {"2.18.6", 21806, 0, 6, 4},  {"2.19.4", 21904, 0, 7, 5},
    {"2.22.3", 22203, 0, 8, 5},  {"2.23.4", 22304, 1, 8, 5},  {"2.24.3", 22403, 2, 9, 5},
    {"2.25.1", 22501, 2, 9, 5},  {"2.26.6", 22606, 3, 10, 6}, {"2.27.7", 22707, 4, 10, 6},
    {"2.28.9", 22809, 5, 11, 6}, {"2.29.7", 22907, 6, 11, 6}, {"2.30.7", 23007, 6, 12, 6},
    {"2.31.0", 23100, 7, 12, 6},
};
const std::size_t kFakeReleaseCount = sizeof(kFakeReleases) / sizeof(kFakeReleases[0]);

const FakeRelease& ReleaseWithProfiler(int version) {
  for (std::size_t i = kFakeReleaseCount; i-- > 0;)
    if (kFakeReleases[i].highest_profiler == version) return kFakeReleases[i];
  return kFakeReleases[0];
}

namespace {

int g_version = 0;
std::mutex g_log_mutex;
std::string g_log;

}  // namespace

extern "C" void FakeNcclLog(ncclDebugLogLevel level, unsigned long flags, const char*, int,
                            const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  const std::lock_guard<std::mutex> lock(g_log_mutex);
  g_log +=
      "level " + std::to_string(level) + " flags " + std::to_string(flags) + ": " + text + "\n";
}

void SetFakeNcclVersion(int code) { g_version = code; }

// The program that plays NCCL exports it, as libnccl does.
extern "C" __attribute__((visibility("default"), used)) ncclResult_t ncclGetVersion(int* version) {
  if (g_version == 0) return ncclInvalidArgument;
  *version = g_version;
  return ncclSuccess;
}

const std::string& FakeNcclLogText() { return g_log; }

std::unique_ptr<FakeNccl> FakeNccl::Load(const std::string& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "fake_nccl: %s\n", dlerror());
    return nullptr;
  }
  return std::unique_ptr<FakeNccl>(new FakeNccl(handle));
}

FakeNccl::~FakeNccl() { Close(); }

void FakeNccl::Close() {
  if (library_ != nullptr) dlclose(library_);
  library_ = nullptr;
}

std::unique_ptr<FakeProfiler> FakeNccl::Profiler(int highest) const {
  for (int version = highest; version >= 1; --version) {
    const std::string symbol = "ncclProfiler_v" + std::to_string(version);
    if (const void* table = dlsym(library_, symbol.c_str()))
      return MakeFakeProfiler(version, table);
  }
  return nullptr;
}

std::unique_ptr<FakeNet> FakeNccl::Net(int highest, int lowest) const {
  for (int version = highest; version >= lowest; --version) {
    const std::string symbol = "ncclNetPlugin_v" + std::to_string(version);
    if (const void* table = dlsym(library_, symbol.c_str())) return MakeFakeNet(version, table);
  }
  return nullptr;
}

}  // namespace chokepoint::tests
