# CHOKEPOINT_SANITIZER applies to everything that is built; tests/sanitizer_test.cc proves that it is on.
if(CHOKEPOINT_SANITIZER STREQUAL "address")
  # Without `function`: NCCL's C functions are called through our own declarations of them, whose types have other names.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=function -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(CHOKEPOINT_SANITIZER STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(NOT CHOKEPOINT_SANITIZER STREQUAL "")
  message(FATAL_ERROR "CHOKEPOINT_SANITIZER is '${CHOKEPOINT_SANITIZER}'; use address, thread or nothing")
endif()
