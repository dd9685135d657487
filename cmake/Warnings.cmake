# chokepoint_warnings: linked PRIVATE by every target of ours.
add_library(chokepoint_warnings INTERFACE)
target_compile_options(chokepoint_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wconversion -Wnon-virtual-dtor>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
target_include_directories(chokepoint_warnings INTERFACE ${PROJECT_SOURCE_DIR})
