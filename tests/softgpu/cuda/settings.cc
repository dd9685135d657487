// Reads SOFTGPU_* once.
// It must not complain about values that make no sense: it takes the nearest.
#include "tests/softgpu/cuda/settings.h"

#include <cstdlib>

namespace chokepoint::softgpu {
namespace {

long EnvLong(const char* name, long fallback) {
  const char* text = getenv(name);
  return text && *text ? strtol(text, nullptr, 0) : fallback;
}

double EnvDouble(const char* name, double fallback) {
  const char* text = getenv(name);
  return text && *text ? strtod(text, nullptr) : fallback;
}

Settings ReadEnvironment() {
  Settings s;
  long devices = EnvLong("SOFTGPU_DEVICES", s.device_count);
  s.device_count = devices < 0             ? 0
                   : devices > kMaxDevices ? kMaxDevices
                                           : static_cast<int>(devices);
  long cc = EnvLong("SOFTGPU_CC", 80);
  s.compute_capability_major = static_cast<int>(cc / 10);
  s.compute_capability_minor = static_cast<int>(cc % 10);
  s.cuda_version = static_cast<int>(EnvLong("SOFTGPU_CUDA_VERSION", s.cuda_version));
  s.device_bytes =
      static_cast<size_t>(EnvLong("SOFTGPU_MEM_MB", static_cast<long>(s.device_bytes >> 20))) << 20;
  s.first_bus = static_cast<int>(EnvLong("SOFTGPU_FIRST_BUS", s.first_bus));
  s.kernel_delay_microseconds = EnvLong("SOFTGPU_KERNEL_DELAY_US", 0);
  s.kernel_ns_per_byte = EnvDouble("SOFTGPU_KERNEL_NS_PER_BYTE", 0);
  s.log_level = static_cast<int>(EnvLong("SOFTGPU_LOG", s.log_level));
  s.seal_runtime = EnvLong("SOFTGPU_SEAL", 0) != 0;
  return s;
}

}  // namespace

const Settings& GetSettings() {
  // Leaked: used by threads and exit handlers that outlive static objects.
  static const Settings* const s = new Settings(ReadEnvironment());
  return *s;
}

}  // namespace chokepoint::softgpu
