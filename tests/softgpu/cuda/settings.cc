#include "tests/softgpu/cuda/settings.h"

#include <cstdlib>

namespace softgpu {
namespace {

long envLong(const char *name, long fallback) {
  const char *text = getenv(name);
  return text && *text ? strtol(text, nullptr, 0) : fallback;
}

double envDouble(const char *name, double fallback) {
  const char *text = getenv(name);
  return text && *text ? strtod(text, nullptr) : fallback;
}

Settings readEnvironment() {
  Settings s;
  long devices = envLong("SOFTGPU_DEVICES", s.deviceCount);
  s.deviceCount = devices < 0 ? 0 : devices > kMaxDevices ? kMaxDevices : (int)devices;
  long cc = envLong("SOFTGPU_CC", 80);
  s.computeCapabilityMajor = (int)(cc / 10);
  s.computeCapabilityMinor = (int)(cc % 10);
  s.cudaVersion = (int)envLong("SOFTGPU_CUDA_VERSION", s.cudaVersion);
  s.deviceBytes = (size_t)envLong("SOFTGPU_MEM_MB", (long)(s.deviceBytes >> 20)) << 20;
  s.firstBus = (int)envLong("SOFTGPU_FIRST_BUS", s.firstBus);
  s.kernelDelayMicroseconds = envLong("SOFTGPU_KERNEL_DELAY_US", 0);
  s.kernelNsPerByte = envDouble("SOFTGPU_KERNEL_NS_PER_BYTE", 0);
  s.logLevel = (int)envLong("SOFTGPU_LOG", s.logLevel);
  s.sealRuntime = envLong("SOFTGPU_SEAL", 0) != 0;
  return s;
}

}  // namespace

const Settings &settings() {
  // Leaked: used by threads and exit handlers that outlive static objects.
  static const Settings *const s = new Settings(readEnvironment());
  return *s;
}

}  // namespace softgpu
