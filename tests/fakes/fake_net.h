// Makes the FakeNet of one interface version over an exported table.
// Must not choose the version: fake_nccl.cc probes as NCCL does.
#pragma once

#include <memory>

#include "plugin/abi/net_abi.h"
#include "tests/fakes/fake_nccl.h"

namespace chokepoint::tests {

std::unique_ptr<FakeNet> MakeFakeNet(int version, const void* symbol);

}  // namespace chokepoint::tests
