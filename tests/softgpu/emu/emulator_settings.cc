// Reads the environment and asks the loaded NCCL library for its version.
// It must not ask before a kernel is launched: the library may not be there yet.
#include "tests/softgpu/emu/emulator_settings.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "tests/softgpu/emu/emulator.h"

namespace chokepoint::softgpu::emu {
namespace {

constexpr int kFallbackVersion = 22809;

EmulatorSettings ReadEnvironment() {
  EmulatorSettings settings;
  if (const char* text = getenv("SOFTGPU_EMU_DEBUG")) settings.debug = atoi(text);
  if (const char* text = getenv("SOFTGPU_EMU_THREADS")) settings.threads = atoi(text);
  if (const char* text = getenv("SOFTGPU_KERNEL_NS_PER_BYTE")) settings.ns_per_byte = atof(text);
  if (const char* text = getenv("SOFTGPU_EMU_GLOBALTIMER")) {
    settings.monotonic_timer = strcmp(text, "monotonic") == 0;
  }
  return settings;
}

int AskVersion(void* library) {
  const auto get_version = reinterpret_cast<int (*)(int*)>(dlsym(library, "ncclGetVersion"));
  int version = 0;
  return get_version != nullptr && get_version(&version) == 0 ? version : 0;
}

int FindNccl(dl_phdr_info* info, size_t, void* path) {
  const char* const name = info->dlpi_name != nullptr ? info->dlpi_name : "";
  const char* const slash = strrchr(name, '/');
  if (strncmp(slash != nullptr ? slash + 1 : name, "libnccl.so", 10) != 0) return 0;
  *static_cast<std::string*>(path) = name;
  return 1;
}

int LoadedNcclVersion() {
  std::string path;
  dl_iterate_phdr(FindNccl, &path);
  int version = 0;
  if (!path.empty()) {
    if (void* const library = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
      version = AskVersion(library);
      dlclose(library);
    }
  }
  if (version == 0) version = AskVersion(RTLD_DEFAULT);
  return version != 0 ? version : kFallbackVersion;
}

VersionTables MakeTables() {
  VersionTables tables{};
  const char* const text = getenv("SOFTGPU_NCCL_VERSION");
  tables.by_hand = text != nullptr;
  tables.version = text != nullptr ? atoi(text) : LoadedNcclVersion();
  tables.layout = LayoutFor(tables.version);
  tables.functions = BuildFunctionTable(tables.layout.data_types, tables.layout.has_all_gather_v,
                                        tables.layout.signed_post_div);
  return tables;
}

}  // namespace

const EmulatorSettings& GetEmulatorSettings() {
  static const EmulatorSettings settings = ReadEnvironment();
  return settings;
}

// Never freed: fibers of other threads may still use them at exit.
const VersionTables& GetVersionTables() {
  static const auto* const tables = new VersionTables(MakeTables());
  return *tables;
}

uint64_t DeviceTimerNs() {
  timespec now;
  clock_gettime(GetEmulatorSettings().monotonic_timer ? CLOCK_MONOTONIC : CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

void ReportNotRun(const std::string& reason) {
  fprintf(stderr, "nccl_emu[%d]: %s\n", getpid(), reason.c_str());
  fflush(stderr);
}

int NcclVersion() { return GetVersionTables().version; }

bool NcclVersionIsUsable() {
  const VersionTables& tables = GetVersionTables();
  return tables.by_hand ||
         (tables.version >= kFirstKnownVersion && tables.version < kFirstUnknownVersion);
}

std::string FunctionName(int function_id) {
  const std::vector<Function>& functions = GetVersionTables().functions;
  const bool exists = function_id >= 0 && function_id < FunctionCount();
  return exists ? functions[static_cast<size_t>(function_id)].name : "";
}

int FunctionCount() { return static_cast<int>(GetVersionTables().functions.size()); }

}  // namespace chokepoint::softgpu::emu
