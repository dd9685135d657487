// stdio streams on files: how many bytes the program has read or written through each.
// Must not count a byte twice: large fread and fwrite are counted when they happen, everything else
// (getc, printf, getline, small transfers, inlined macros) when the stream is settled: at seek,
// flush, close and exit, by how far its position has moved.
#pragma once

#include <stdio.h>

#include <cstdint>

#include "interpose/fd_table.h"
#include "interpose/record.h"

namespace chokepoint::interpose {

// A stream was opened on `fd`.
void EnterStream(FILE* stream, int fd, bool at_start);

// Its file, if it is one of ours and was opened through us; else kIgnoredFile.
std::uint32_t FileOfStream(FILE* stream, Descriptor** out);

// Accounts for what was moved since the last time. `again`: reads the position once more afterwards
// (a seek follows).
void SettleStream(FILE* stream);

// After the stream was moved by the program: its position now is where counting begins.
void RestartStream(FILE* stream);

// It is about to be closed.
void LeaveStream(FILE* stream);

// At the end of the process: all streams that are still open, but for those that another thread is
// using.
void SettleAllStreams();

}  // namespace chokepoint::interpose
