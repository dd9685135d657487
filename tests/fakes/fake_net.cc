// Calls a network table as NCCL does while it decides whether to use the plugin.
// Must not need a device.
#include "tests/fakes/fake_net.h"

#include <cstring>

namespace chokepoint::tests {
namespace {

ncclResult_t NoCallback(void**, int, void*, std::int64_t, void*) { return ncclSuccess; }

// A function of a table, called with zeros.
template <class... Arguments>
ncclResult_t CallWithZeros(ncclResult_t (*function)(Arguments...)) {
  return function(Arguments{}...);
}

template <class Table, int kVersion>
class Version final : public FakeNet {
 public:
  explicit Version(const Table* table) : table_(*table) {}
  int version() const override { return kVersion; }
  const char* name() const override { return table_.name; }

  ncclResult_t Init(void** context) override {
    if constexpr (kVersion >= 11) {
      ncclNetCommConfig_v10_t config{-1};
      return table_.init(context, 7, &config, &FakeNcclLog, &NoCallback);
    } else if constexpr (kVersion == 10) {
      return table_.init(&FakeNcclLog, &NoCallback);
    } else {
      return table_.init(&FakeNcclLog);
    }
  }
  ncclResult_t Devices(int* count) override { return table_.devices(count); }
  ncclResult_t Finalize(void* context) override {
    if constexpr (kVersion >= 11) return table_.finalize(context);
    return ncclSuccess;
  }

  bool Complete() const override {
    void* words[sizeof(Table) / sizeof(void*)];
    std::memcpy(words, &table_, sizeof(Table));
    for (void* word : words)
      if (word == nullptr) return false;
    return true;
  }

  bool RefusesWork() const override {
    bool refuses = true;
    const auto check = [&refuses](auto function) {
      refuses = refuses && CallWithZeros(function) == ncclInternalError;
    };
    check(table_.getProperties);
    check(table_.listen);
    check(table_.connect);
    check(table_.accept);
    check(table_.regMr);
    check(table_.deregMr);
    check(table_.isend);
    check(table_.irecv);
    check(table_.iflush);
    check(table_.test);
    check(table_.closeSend);
    check(table_.closeRecv);
    check(table_.closeListen);
    if constexpr (kVersion >= 6) check(table_.regMrDmaBuf);
    if constexpr (kVersion >= 7) check(table_.getDeviceMr);
    if constexpr (kVersion >= 7) check(table_.irecvConsumed);
    if constexpr (kVersion >= 9) check(table_.makeVDevice);
    if constexpr (kVersion >= 11) check(table_.setNetAttr);
    return refuses;
  }

 private:
  Table table_;
};

template <class Table, int kVersion>
std::unique_ptr<FakeNet> Make(const void* symbol) {
  return std::make_unique<Version<Table, kVersion>>(static_cast<const Table*>(symbol));
}

}  // namespace

std::unique_ptr<FakeNet> MakeFakeNet(int version, const void* symbol) {
  switch (version) {
    case 4:
      return Make<ncclNet_v4_t, 4>(symbol);
    case 5:
      return Make<ncclNet_v5_t, 5>(symbol);
    case 6:
      return Make<ncclNet_v6_t, 6>(symbol);
    case 7:
      return Make<ncclNet_v7_t, 7>(symbol);
    case 8:
      return Make<ncclNet_v8_t, 8>(symbol);
    case 9:
      return Make<ncclNet_v9_t, 9>(symbol);
    case 10:
      return Make<ncclNet_v10_t, 10>(symbol);
    case 11:
      return Make<ncclNet_v11_t, 11>(symbol);
    case 12:
      return Make<ncclNet_v12_t, 12>(symbol);
    default:
      return nullptr;
  }
}

}  // namespace chokepoint::tests
