// A libnvidia-ml.so.1 that answers what FAKE_NVML says: "devices=2 util=50
// refuse=nvmlDeviceGetPowerUsage,3 field:138=77 ...". Must not keep state between calls, except for
// events that are taken once: tests change the variable as they go.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#define FAKE extern "C" __attribute__((visibility("default"))) int

namespace {

enum Result : int {
  kSuccess = 0,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kTimeout = 10
};

// The value of `key` in FAKE_NVML, or `otherwise`.
std::string Word(const std::string& key, const std::string& otherwise) {
  const char* text = getenv("FAKE_NVML");
  std::string rest = text == nullptr ? "" : text;
  for (std::size_t at = 0; at < rest.size();) {
    const std::size_t end =
        rest.find(' ', at) == std::string::npos ? rest.size() : rest.find(' ', at);
    const std::string word = rest.substr(at, end - at);
    if (word.compare(0, key.size() + 1, key + "=") == 0) return word.substr(key.size() + 1);
    at = end + 1;
  }
  return otherwise;
}
unsigned long long Number(const std::string& key, unsigned long long otherwise) {
  const std::string word = Word(key, "");
  return word.empty() ? otherwise : std::strtoull(word.c_str(), nullptr, 0);
}
bool Has(const std::string& key) { return !Word(key, "").empty(); }

// "refuse:<function>=<code>" makes a function fail.
int Verdict(const char* function) {
  return static_cast<int>(Number(std::string("refuse:") + function, kSuccess));
}
#define ANSWER(...)                                          \
  if (const int verdict = Verdict(__func__)) return verdict; \
  __VA_ARGS__;                                               \
  return kSuccess

// A handle is 1 + the device's number.
void* HandleOf(unsigned index) { return reinterpret_cast<void*>(std::uintptr_t{index} + 1); }
unsigned IndexOf(void* device) {
  return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device) - 1);
}
unsigned Devices() { return static_cast<unsigned>(Number("devices", 1)); }

struct Utilisation {
  unsigned gpu, memory;
};
struct Memory {
  unsigned long long total, free, used;
};
struct Pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;
  int result;
  unsigned long long value;
};
struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
struct Event {
  void* device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

FAKE nvmlInit_v2() { ANSWER(); }
FAKE nvmlInitWithFlags(unsigned) { ANSWER(); }
FAKE nvmlSystemGetDriverVersion(char* text, unsigned bytes) {
  ANSWER(std::snprintf(text, bytes, "570.1.2"));
}
FAKE nvmlDeviceGetCount_v2(unsigned* count) { ANSWER(*count = Devices()); }
FAKE nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  if (index >= Devices()) return kInvalidArgument;
  ANSWER(*device = HandleOf(index));
}
FAKE nvmlDeviceGetUUID(void* device, char* text, unsigned bytes) {
  ANSWER(std::snprintf(text, bytes, "GPU-%08x", 0xabc0 + IndexOf(device)));
}
FAKE nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  for (unsigned i = 0; i < Devices(); ++i) {
    char text[32];
    std::snprintf(text, sizeof(text), "GPU-%08x", 0xabc0 + i);
    if (std::strcmp(text, uuid) == 0) {
      *device = HandleOf(i);
      return kSuccess;
    }
  }
  return kNotFound;
}
FAKE nvmlDeviceGetName(void*, char* text, unsigned bytes) {
  ANSWER(std::snprintf(text, bytes, "NVIDIA %s", Word("model", "H100-80GB-HBM3").c_str()));
}
FAKE nvmlDeviceGetIndex(void* device, unsigned* index) { ANSWER(*index = IndexOf(device)); }
FAKE nvmlDeviceGetPciInfo_v3(void* device, Pci* pci) {
  ANSWER(std::snprintf(pci->bus_id, sizeof(pci->bus_id), "00000000:%02X:00.0",
                       0x1a + IndexOf(device)));
}
FAKE nvmlDeviceGetHandleByPciBusId_v2(const char* text, void** device) {
  for (unsigned i = 0; i < Devices(); ++i) {
    char own[32];
    std::snprintf(own, sizeof(own), "0000:%02x:00.0", 0x1a + i);
    if (strcasecmp(own, text) == 0) {
      *device = HandleOf(i);
      return kSuccess;
    }
  }
  return kNotFound;
}
FAKE nvmlDeviceGetUtilizationRates(void*, Utilisation* out) {
  ANSWER(*out = (Utilisation{static_cast<unsigned>(Number("util", 50)), 20}));
}
FAKE nvmlDeviceGetMemoryInfo(void*, Memory* out) {
  ANSWER(*out = (Memory{80ull << 30, 60ull << 30, 20ull << 30}));
}
FAKE nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  ANSWER(*mhz = static_cast<unsigned>(type == 1 ? Number("sm", 1980) : 2619));
}
FAKE nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) { ANSWER(*mhz = 1985); }
FAKE nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* mask) {
  ANSWER(*mask = Number("reasons", 0));
}
FAKE nvmlDeviceGetPowerUsage(void*, unsigned* mw) { ANSWER(*mw = 650'000); }
FAKE nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* mw) { ANSWER(*mw = 700'000); }
FAKE nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* mj) {
  ANSWER(*mj = Number("energy", 1000));
}
FAKE nvmlDeviceGetTemperature(void*, int, unsigned* c) {
  ANSWER(*c = static_cast<unsigned>(Number("temperature", 61)));
}
FAKE nvmlDeviceGetTotalEccErrors(void*, int uncorrected, int, unsigned long long* count) {
  ANSWER(*count = uncorrected == 0 ? 11 : Number("dbe", 0));
}
FAKE nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                               unsigned* failed) {
  ANSWER(*corrected = 1; *uncorrected = 2; *pending = static_cast<unsigned>(Number("pending", 0));
         *failed = 0);
}
FAKE nvmlDeviceGetCurrPcieLinkGeneration(void*, unsigned* value) {
  ANSWER(*value = static_cast<unsigned>(Number("gen", 5)));
}
FAKE nvmlDeviceGetCurrPcieLinkWidth(void*, unsigned* value) {
  ANSWER(*value = static_cast<unsigned>(Number("width", 16)));
}
FAKE nvmlDeviceGetMaxPcieLinkGeneration(void*, unsigned* value) { ANSWER(*value = 5); }
FAKE nvmlDeviceGetMaxPcieLinkWidth(void*, unsigned* value) { ANSWER(*value = 16); }
FAKE nvmlDeviceGetPcieReplayCounter(void*, unsigned* value) {
  ANSWER(*value = static_cast<unsigned>(Number("replays", 3)));
}
FAKE nvmlDeviceGetNvLinkState(void*, unsigned link, int* active) {
  if (link >= Number("links", 18)) return link == 0 ? kNotSupported : kInvalidArgument;
  ANSWER(*active = link < Number("active", 18) ? 1 : 0);
}
// "field:<number>=<value>" gives a field; "type:<number>", "latency:<number>", "wide:1" how.
FAKE nvmlDeviceGetFieldValues(void*, int count, FieldValue* values) {
  if (const int verdict = Verdict(__func__)) return verdict;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(values[i].field);
    values[i].result = Has("field:" + number) ? kSuccess : kNotSupported;
    values[i].value = Number("field:" + number, 0);
    values[i].type = static_cast<unsigned>(Number("type:" + number, 3));
    values[i].latency = static_cast<long long>(Number("latency:" + number, 20));
  }
  return kSuccess;
}
// "mine=N": device N is computed on by this process; others by process 1.
FAKE nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* list) {
  if (const int verdict = Verdict(__func__)) return verdict;
  *count = 1;
  list[0].pid = IndexOf(device) == Number("mine", 0) ? static_cast<unsigned>(getpid()) : 1;
  return kSuccess;
}
FAKE nvmlEventSetCreate(void** set) { ANSWER(*set = HandleOf(99)); }
FAKE nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { ANSWER(); }
// "xid=N" is one event, taken once for each value.
FAKE nvmlEventSetWait_v2(void*, Event* event, unsigned milliseconds) {
  static unsigned long long taken = 0;
  const unsigned long long xid = Number("xid", 0);
  if (milliseconds != 0) std::abort();  // nobody may wait here
  if (xid == taken) return kTimeout;
  taken = xid;
  if (xid == 0) return kTimeout;
  *event = Event{HandleOf(static_cast<unsigned>(Number("mine", 0))), 0x8, xid, 0, 0};
  return kSuccess;
}
// Blocks for 20 ms on real devices: nobody may call it.
FAKE nvmlDeviceGetPcieThroughput(void*, int, unsigned*) { std::abort(); }
