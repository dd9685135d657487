# Finds an NCCL library that the software GPU (tests/softgpu) can run. No header is looked for: none is needed.
# Sets NCCL_LIBRARY (absolute path, or empty) and NCCL_NOT_FOUND_REASON. Never fails the configuration.
# CHOKEPOINT_DOWNLOAD_NCCL=OFF keeps it from downloading a wheel when there is no library on the machine.
option(CHOKEPOINT_DOWNLOAD_NCCL "Download an NCCL wheel for the tests and the demo if no NCCL is installed" ON)

if(NOT NCCL_LIBRARY OR NOT EXISTS "${NCCL_LIBRARY}")
  set(chokepoint_nccl_arguments "")
  if(CHOKEPOINT_DOWNLOAD_NCCL)
    set(chokepoint_nccl_arguments --download-into ${CMAKE_BINARY_DIR}/nccl)
  endif()
  message(STATUS "chokepoint: looking for an NCCL library")
  execute_process(
    COMMAND sh ${PROJECT_SOURCE_DIR}/tests/softgpu/find_nccl.sh ${chokepoint_nccl_arguments}
    OUTPUT_VARIABLE chokepoint_nccl_path
    ERROR_VARIABLE chokepoint_nccl_notes
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  set(NCCL_LIBRARY "${chokepoint_nccl_path}" CACHE FILEPATH "NCCL library for the tests and the demo" FORCE)
  if(chokepoint_nccl_notes)
    message(STATUS "chokepoint: ${chokepoint_nccl_notes}")
  endif()
  if(NCCL_LIBRARY)
    message(STATUS "chokepoint: NCCL for the tests and the demo: ${NCCL_LIBRARY}")
  else()
    message(STATUS "chokepoint: no NCCL library, tests that need one are skipped and there is no demo")
  endif()
endif()

set(NCCL_NOT_FOUND_REASON "" CACHE INTERNAL "why there is no NCCL library")
if(NOT NCCL_LIBRARY)
  set(NCCL_NOT_FOUND_REASON "no NCCL library was found when the build was configured (tests/softgpu/find_nccl.sh says why)"
    CACHE INTERNAL "why there is no NCCL library")
endif()
