// Connected TCP sockets: remembered in the descriptor table from connect or accept to close.
// Must not record in processes that record nothing else, unless NCCL is loaded.
#pragma once

#include <cstdint>

#include "interpose/fd_table.h"

namespace chokepoint::interpose {

// Before the socket is closed: asks the kernel for its totals and emits them.
void EndConnection(int fd, Descriptor* descriptor);

}  // namespace chokepoint::interpose
