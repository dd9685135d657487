// The environment variables of env.def, by constant.
// Must not cache: the caller decides when a variable is read.
#pragma once

#include <cstdint>
#include <span>

namespace chokepoint::trace {

enum class EnvVariable : std::uint8_t {
#define X(name, constant, type, default_value, doc) constant,
#include "trace/env.def"
#undef X
};

struct EnvRow {
  const char* name;  // with CHOKEPOINT_
  const char* type;
  const char* default_value;
  const char* doc;
};
std::span<const EnvRow> EnvTable() noexcept;

// null when unset or empty.
const char* EnvText(EnvVariable variable) noexcept;
// The text, or the default of env.def.
const char* EnvTextOrDefault(EnvVariable variable) noexcept;
// False for unset, empty, "0", "no", "false", "off".
bool EnvFlag(EnvVariable variable) noexcept;
// The default of env.def when unset or not a number.
double EnvNumber(EnvVariable variable) noexcept;

}  // namespace chokepoint::trace
