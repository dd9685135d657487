// GPUs by NVML, on a stub library that plays what a test says.
// Must not need a GPU.
#include "counters/nvml.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "counters/links.h"
#include "tests/counters/system_tree.h"

namespace chokepoint::tests {
namespace {

using counters::NvmlReader;
using trace::GpuField;
using trace::GpuHealthField;

class Nvml : public testing::Test {
 protected:
  Nvml() { Play(""); }
  static void Play(const std::string& script) { setenv("FAKE_NVML", script.c_str(), 1); }
  void Start(const char* visible_devices = nullptr) {
    reader_->Init(CHOKEPOINT_TEST_NVML, visible_devices);
    reader_->Refresh(tree_.NextRound());
  }
  trace::GpuSample Sample() {
    reader_->Sample(tree_.NextRound());
    return tree_.events().All<trace::GpuSample>().back();
  }
  static bool Knows(const trace::GpuSample& sample, GpuField field) {
    return (sample.known & 1u << static_cast<unsigned>(field)) != 0;
  }
  std::vector<std::string> Missing() {
    std::vector<std::string> names;
    for (const auto& status : tree_.events().All<trace::SourceStatus>()) {
      names.push_back(tree_.events().name(status.counter));
    }
    return names;
  }
  SystemTree tree_;
  std::unique_ptr<NvmlReader> reader_ = std::make_unique<NvmlReader>();
};

TEST_F(Nvml, IdentityOfTheGpuThatIsOurs) {
  Play("devices=4 mine=2");
  tree_.Write("/sys/bus/pci/devices/0000:1c:00.0/numa_node", "1\n");
  Start();
  const auto gpus = tree_.events().All<trace::GpuDevice>();
  ASSERT_EQ(gpus.size(), 1u);
  const trace::GpuDevice& gpu = gpus[0];
  EXPECT_EQ(tree_.events().name(gpu.uuid), "GPU-0000abc2");
  EXPECT_EQ(tree_.events().name(gpu.pci_address), "0000:1c:00.0");
  EXPECT_EQ(tree_.events().name(gpu.model), "NVIDIA H100-80GB-HBM3");
  EXPECT_EQ(tree_.events().name(gpu.driver_version), "570.1.2");
  EXPECT_EQ(gpu.nvml_index, 2u);
  EXPECT_EQ(gpu.power_limit_mw, 700'000u);
  EXPECT_EQ(gpu.sm_clock_max_mhz, 1985u);
  EXPECT_EQ(gpu.nvlinks, 18u);
  EXPECT_EQ(gpu.nvlink_nominal_mbytes, 450'000u);
  EXPECT_EQ(gpu.nvlink_expected_mbytes, 365'000u);
  EXPECT_EQ(gpu.pcie_generation_max, 5);
  EXPECT_EQ(gpu.pcie_nominal_mbytes, 63'008u);
  EXPECT_EQ(gpu.memory_bytes, 80ull << 30);
  EXPECT_EQ(gpu.numa_node, 1);
}

TEST_F(Nvml, StateOncePerSecond) {
  Play(
      "util=97 sm=1410 reasons=0x44 temperature=88 gen=4 width=8 active=17 energy=123456789 "
      "field:82=95 "
      "field:138=10 field:139=20 field:197=3000 field:198=4000 field:74=5 field:269=6 field:270=70 "
      "field:271=8");
  Start();
  const trace::GpuSample sample = Sample();
  EXPECT_EQ(sample.known, (1u << (static_cast<unsigned>(GpuField::kLimitedBrake) + 1)) - 1);
  EXPECT_EQ(sample.utilisation_percent, 97);
  EXPECT_EQ(sample.memory_percent, 20);
  EXPECT_EQ(sample.clock_reasons, trace::kGpuPowerCap | trace::kGpuHardwareThermal);
  EXPECT_EQ(sample.sm_clock_mhz, 1410u);
  EXPECT_EQ(sample.memory_clock_mhz, 2619u);
  EXPECT_EQ(sample.power_mw, 650'000u);
  EXPECT_EQ(sample.temperature_c, 88);
  EXPECT_EQ(sample.memory_temperature_c, 95);
  EXPECT_EQ(sample.pcie_generation, 4);
  EXPECT_EQ(sample.pcie_width, 8);
  EXPECT_EQ(sample.nvlinks_active, 17);
  EXPECT_EQ(sample.energy_mj, 123'456'789u);
  EXPECT_EQ(sample.memory_used_bytes, 20ull << 30);
  EXPECT_EQ(sample.nvlink_tx_bytes, 10u * 1024);
  EXPECT_EQ(sample.nvlink_rx_bytes, 20u * 1024);
  EXPECT_EQ(sample.pcie_tx_bytes, 3000u);
  EXPECT_EQ(sample.pcie_rx_bytes, 4000u);
  EXPECT_EQ(sample.limited_power_ns, 5u);
  EXPECT_EQ(sample.limited_thermal_ns, 76u);
  EXPECT_EQ(sample.limited_brake_ns, 8u);
}

TEST_F(Nvml, BlackwellCountsNvlinkUnderOtherNumbers) {
  Play("field:202=1111 field:204=2222");
  Start();
  const trace::GpuSample sample = Sample();
  EXPECT_EQ(sample.nvlink_tx_bytes, 1111u);
  EXPECT_EQ(sample.nvlink_rx_bytes, 2222u);
}

TEST_F(Nvml, PcieBytesOf32BitsWrap) {
  Play("field:197=0xfffffff0 type:197=1");
  Start();
  const std::uint64_t before = Sample().pcie_tx_bytes;
  Play("field:197=0x10 type:197=1");
  EXPECT_EQ(Sample().pcie_tx_bytes - before, 0x20u);
}

TEST_F(Nvml, TheOldThermalFieldStandsInForTheNewOnes) {
  Play("field:75=99");
  Start();
  EXPECT_EQ(Sample().limited_thermal_ns, 99u);
}

TEST_F(Nvml, TemperatureIsAGauge) {
  Play("field:82=90");
  Start();
  EXPECT_EQ(Sample().memory_temperature_c, 90);
  Play("field:82=40");
  EXPECT_EQ(Sample().memory_temperature_c, 40);
}

TEST_F(Nvml, WhatIsRefusedIsListedOnceAndNotAskedAgain) {
  Play("refuse:nvmlDeviceGetUtilizationRates=3 refuse:nvmlDeviceGetPowerUsage=4");
  Start();
  EXPECT_FALSE(Knows(Sample(), GpuField::kUtilisation));
  EXPECT_FALSE(Knows(Sample(), GpuField::kPower));
  EXPECT_TRUE(Knows(Sample(), GpuField::kTemperature));
  Play("");  // it would answer now: nobody asks
  EXPECT_FALSE(Knows(Sample(), GpuField::kUtilisation));
  const std::vector<std::string> missing = Missing();
  EXPECT_EQ(std::count(missing.begin(), missing.end(), "utilisation"), 1);
  EXPECT_EQ(std::count(missing.begin(), missing.end(), "power"), 1);
  for (const auto& status : tree_.events().All<trace::SourceStatus>()) {
    if (tree_.events().name(status.counter) != "power") continue;
    EXPECT_EQ(status.state, static_cast<std::uint8_t>(trace::SourceState::kForbidden));
    EXPECT_EQ(tree_.events().name(status.device), "0000:1a:00.0");
  }
}

TEST_F(Nvml, APassingFailureIsAskedAgain) {
  Play("refuse:nvmlDeviceGetPowerUsage=999");
  Start();
  EXPECT_FALSE(Knows(Sample(), GpuField::kPower));
  Play("");
  EXPECT_TRUE(Knows(Sample(), GpuField::kPower));
}

TEST_F(Nvml, ALostGpuIsSaidOnceAndLeftAlone) {
  Start();
  Sample();
  Play("refuse:nvmlDeviceGetUtilizationRates=15");
  const std::size_t samples = tree_.events().All<trace::GpuSample>().size();
  for (int i = 0; i < 3; ++i) reader_->Sample(tree_.NextRound());
  reader_->Refresh(tree_.NextRound());
  EXPECT_EQ(tree_.events().All<trace::GpuSample>().size(), samples);
  const auto status = tree_.events().All<trace::SourceStatus>();
  EXPECT_EQ(std::count_if(status.begin(), status.end(),
                          [](const auto& s) {
                            return s.state == static_cast<std::uint8_t>(trace::SourceState::kGone);
                          }),
            1);
}

TEST_F(Nvml, FieldsThatTakeMillisecondsAreDropped) {
  Play("field:138=1 latency:138=5000 field:139=2");
  Start();
  for (int i = 0; i < 3; ++i) Sample();
  EXPECT_FALSE(Knows(Sample(), GpuField::kNvlinkTx));
  EXPECT_TRUE(Knows(Sample(), GpuField::kNvlinkRx));
  const std::vector<std::string> missing = Missing();
  EXPECT_EQ(std::count(missing.begin(), missing.end(), "slow field 138"), 1);
}

TEST_F(Nvml, Health) {
  Play("dbe=2 pending=1 replays=44 field:52=1 field:59=2 field:38=3 field:45=40 field:160=5");
  Start();
  const auto health = tree_.events().All<trace::GpuHealth>().back();
  EXPECT_EQ(health.known,
            (1u << (static_cast<unsigned>(GpuHealthField::kNvlinkEccErrors) + 1)) - 1);
  EXPECT_EQ(health.remapped_corrected, 1u);
  EXPECT_EQ(health.remapped_uncorrected, 2u);
  EXPECT_EQ(health.remap_pending, 1);
  EXPECT_EQ(health.remap_failed, 0);
  EXPECT_EQ(health.ecc_corrected, 11u);
  EXPECT_EQ(health.ecc_uncorrected, 2u);
  EXPECT_EQ(health.pcie_replays, 44u);
  EXPECT_EQ(health.nvlink_replays, 1u);
  EXPECT_EQ(health.nvlink_recoveries, 2u);
  EXPECT_EQ(health.nvlink_crc_errors, 43u);
  EXPECT_EQ(health.nvlink_ecc_errors, 5u);
}

TEST_F(Nvml, XidsAreRecordedWithoutWaiting) {
  Start();
  Play("xid=79");
  Sample();
  Sample();
  const auto xids = tree_.events().All<trace::GpuXid>();
  ASSERT_EQ(xids.size(), 1u);
  EXPECT_EQ(xids[0].xid, 79u);
  EXPECT_EQ(xids[0].index, 1u);
}

TEST_F(Nvml, InAContainerTheVariableNamesTheGpu) {
  Play("devices=3 mine=99");
  Start("GPU-0000abc1,GPU-nonexistent");
  const auto gpus = tree_.events().All<trace::GpuDevice>();
  ASSERT_EQ(gpus.size(), 1u);
  EXPECT_EQ(gpus[0].nvml_index, 1u);
}

TEST_F(Nvml, AnUnknownGpuIsNotGuessed) {
  Play("devices=3 mine=99");
  Start("0,1");
  for (int i = 0; i < 5; ++i) reader_->Refresh(tree_.NextRound());
  EXPECT_TRUE(tree_.events().All<trace::GpuDevice>().empty());
  EXPECT_EQ(Missing(), std::vector<std::string>{"which GPU is this process's"});
}

TEST_F(Nvml, AProcessWithoutCudaLoadsNothing) {
  if (counters::DynamicLibrary().FindLoaded("libnvidia-ml.so.1")) {
    GTEST_SKIP() << "an earlier test of this process has loaded the stub";
  }
  reader_->Init(nullptr, nullptr);
  reader_->Refresh(tree_.NextRound());
  reader_->Sample(tree_.NextRound());
  EXPECT_EQ(tree_.events().count(), 0u);
}

TEST_F(Nvml, ADriverThatIsNotThereIsSaidOnce) {
  Play("refuse:nvmlInit_v2=9 refuse:nvmlInitWithFlags=9");
  Start();
  reader_->Refresh(tree_.NextRound());
  reader_->Sample(tree_.NextRound());
  const auto status = tree_.events().All<trace::SourceStatus>();
  ASSERT_EQ(status.size(), 1u);
  EXPECT_EQ(status[0].state, static_cast<std::uint8_t>(trace::SourceState::kMissing));
  EXPECT_EQ(status[0].error, 9);
}

TEST_F(Nvml, AGpuWithoutNvlinkHasNone) {
  Play("links=0 model=L40S");
  Start();
  EXPECT_EQ(tree_.events().All<trace::GpuDevice>()[0].nvlinks, 0u);
  EXPECT_EQ(tree_.events().All<trace::GpuDevice>()[0].nvlink_nominal_mbytes, 0u);
  EXPECT_FALSE(Knows(Sample(), GpuField::kNvlinksActive));
}

TEST(Links, NominalBandwidths) {
  EXPECT_EQ(counters::PcieMbytes(3, 16), 15'760u);
  EXPECT_EQ(counters::PcieMbytes(4, 16), 31'504u);
  EXPECT_EQ(counters::PcieMbytes(5, 16), 63'008u);
  EXPECT_EQ(counters::PcieMbytes(6, 16), 121'008u);
  EXPECT_EQ(counters::PcieMbytes(9, 16), 0u);
  EXPECT_EQ(counters::PcieGeneration("32.0 GT/s PCIe"), 5u);
  EXPECT_EQ(counters::PcieGeneration("2.5 GT/s PCIe"), 1u);
  EXPECT_EQ(counters::PcieGeneration("Unknown"), 0u);
  const auto nominal = [](const char* model) {
    const counters::NvlinkModel* found = counters::FindNvlinkModel(model);
    return found == nullptr ? 0 : found->links * found->link_mbytes;
  };
  EXPECT_EQ(nominal("NVIDIA A100-SXM4-80GB"), 300'000u);
  EXPECT_EQ(nominal("NVIDIA H100 80GB HBM3"), 450'000u);
  EXPECT_EQ(nominal("NVIDIA H200"), 450'000u);
  EXPECT_EQ(nominal("NVIDIA H20"), 450'000u);
  EXPECT_EQ(nominal("NVIDIA H800"), 200'000u);
  EXPECT_EQ(nominal("NVIDIA B200"), 900'000u);
  EXPECT_EQ(nominal("Tesla V100-SXM2-16GB"), 150'000u);
  EXPECT_EQ(nominal("NVIDIA H100 PCIe"), 0u);
  EXPECT_EQ(nominal("NVIDIA L40S"), 0u);
  EXPECT_EQ(counters::NicExpectedMbytes(400'000), 47'000u);
  EXPECT_EQ(counters::NicExpectedMbytes(25'000), 3031u);
}

}  // namespace
}  // namespace chokepoint::tests
