// Reads environment variables with getenv and nothing else.
// Must not use strtod: it follows the locale.
#include "trace/env.h"

#include <cstdlib>
#include <cstring>
#include <iterator>

namespace chokepoint::trace {
namespace {

constexpr EnvRow kRows[] = {
#define X(name, constant, type, default_value, doc) {"CHOKEPOINT_" #name, type, default_value, doc},
#include "trace/env.def"
#undef X
};

const EnvRow& RowOf(EnvVariable variable) noexcept {
  return kRows[static_cast<std::size_t>(variable)];
}

// Digits with at most one point. False for anything else.
bool ParseDecimal(const char* text, double* out) noexcept {
  double number = 0;
  double scale = 0;
  bool digits = false;
  for (; *text != '\0'; ++text) {
    if (*text == '.' && scale == 0) {
      scale = 1;
      continue;
    }
    if (*text < '0' || *text > '9') return false;
    digits = true;
    number = number * 10 + (*text - '0');
    scale *= 10;
  }
  *out = scale > 1 ? number / scale : number;
  return digits;
}

}  // namespace

std::span<const EnvRow> EnvTable() noexcept { return kRows; }

const char* EnvText(EnvVariable variable) noexcept {
  const char* text = std::getenv(RowOf(variable).name);
  return text != nullptr && *text != '\0' ? text : nullptr;
}

const char* EnvTextOrDefault(EnvVariable variable) noexcept {
  const char* text = EnvText(variable);
  return text != nullptr ? text : RowOf(variable).default_value;
}

bool EnvFlag(EnvVariable variable) noexcept {
  const char* text = EnvTextOrDefault(variable);
  for (const char* no : {"0", "no", "false", "off"}) {
    if (std::strcmp(text, no) == 0) return false;
  }
  return true;
}

double EnvNumber(EnvVariable variable) noexcept {
  double number = 0;
  if (!ParseDecimal(EnvTextOrDefault(variable), &number)) {
    ParseDecimal(RowOf(variable).default_value, &number);
  }
  return number;
}

}  // namespace chokepoint::trace
