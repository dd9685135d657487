// The fake GPUs' properties.
// It must not hold any state.
#pragma once

#include "tests/softgpu/cuda/cuda_types.h"
#include "tests/softgpu/cuda/device_properties.h"

namespace chokepoint::softgpu {

bool IsValidDevice(int device);
Uuid DeviceUuid(int device);
int DeviceAttribute(int attribute, int device);
const char* DeviceName();
void FormatPciBusId(char* text, int size, int device);
// -1 if no device has this PCI bus id.
int DeviceFromPciBusId(const char* text);
void FillProperties(DeviceProperties12* properties, int device);
void FillProperties(DeviceProperties13* properties, int device);

}  // namespace chokepoint::softgpu
