# chokepoint_warnings: linked PRIVATE by every target of ours.
add_library(chokepoint_warnings INTERFACE)
target_compile_options(chokepoint_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wnon-virtual-dtor>
  # GCC 12 warns about its own std::string operator+ (bug 105651). clang-tidy, run on GCC's commands, does not know that warning.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-unknown-warning-option>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
target_include_directories(chokepoint_warnings INTERFACE ${PROJECT_SOURCE_DIR})
