// The fake GPUs' properties.
#pragma once
#include "tests/softgpu/cuda/cuda_types.h"
#include "tests/softgpu/cuda/device_properties.h"

namespace softgpu {

bool isValidDevice(int device);
Uuid deviceUuid(int device);
int deviceAttribute(int attribute, int device);
const char *deviceName();
void formatPciBusId(char *text, int size, int device);
// -1 if no device has this PCI bus id.
int deviceFromPciBusId(const char *text);
void fillProperties(DeviceProperties12 *properties, int device);
void fillProperties(DeviceProperties13 *properties, int device);

}  // namespace softgpu
