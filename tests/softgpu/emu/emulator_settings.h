// The emulator's settings, read once from the environment, its messages, and the tables of the NCCL
// version in use. It must not run anything.
#pragma once

#include <string>
#include <vector>

#include "tests/softgpu/emu/function_table.h"
#include "tests/softgpu/emu/layout.h"

namespace chokepoint::softgpu::emu {

struct EmulatorSettings {
  int debug = 0;    // 1 prints launches, 2 works
  int threads = 1;  // CPU threads per launch; 0: one per block
  double ns_per_byte = 0;
  bool monotonic_timer = false;
};
const EmulatorSettings& GetEmulatorSettings();

// What the kernels' time stamps are read from.
uint64_t DeviceTimerNs();

// Work that cannot be run is reported on stderr; the tests look for these lines.
void ReportNotRun(const std::string& reason);

struct VersionTables {
  int version;
  bool by_hand;
  Layout layout;
  std::vector<Function> functions;
};
const VersionTables& GetVersionTables();

}  // namespace chokepoint::softgpu::emu
