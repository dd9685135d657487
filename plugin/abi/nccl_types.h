// NCCL's result codes and logger, as the plugin interfaces use them: our own declarations.
// Must not declare anything that differs between interface versions.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};

enum ncclDebugLogLevel {
  NCCL_LOG_NONE = 0,
  NCCL_LOG_VERSION = 1,
  NCCL_LOG_WARN = 2,
  NCCL_LOG_INFO = 3,
  NCCL_LOG_ABORT = 4,
  NCCL_LOG_TRACE = 5,
};

enum : unsigned long { NCCL_INIT = 0x1, NCCL_NET = 0x10, NCCL_PROFILE = 0x4000 };

typedef void (*ncclDebugLogger_t)(ncclDebugLogLevel level, unsigned long flags, const char* file,
                                  int line, const char* fmt, ...);

}  // extern "C"
