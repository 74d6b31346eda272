# One library per folder. Kinds register themselves before main, and a linker drops an object file that
# nobody names; so every folder library is linked whole, once, wherever it is used.
#
#   windtunnel_library(scaling SOURCES a.cpp laws/b.cpp LINK wt_base Ceres::ceres)
#   windtunnel_library(model_layers TORCH SOURCES ... LINK wt_model)
#
# makes the target wt_<name> to link against. TORCH: the files see LibTorch. Files share a precompiled
# header, those with LibTorch another one (BARE: none). Includes are written from the root of the repository: #include "base/error.h".

function(windtunnel_library name)
  cmake_parse_arguments(ARG "TORCH;BARE" "" "SOURCES;LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    add_library(wt_${name} INTERFACE)
    target_link_libraries(wt_${name} INTERFACE ${ARG_LINK})
    return()
  endif()
  add_library(wt_${name}_files STATIC ${ARG_SOURCES})
  target_include_directories(wt_${name}_files PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(wt_${name}_files PRIVATE ${WINDTUNNEL_WARNINGS})
  target_link_libraries(wt_${name}_files PUBLIC ${ARG_LINK})
  if(ARG_TORCH)
    windtunnel_use_torch(wt_${name}_files)
  elseif(NOT ARG_BARE)
    windtunnel_use_headers(wt_${name}_files common_headers base/common_headers.h fmt::fmt)
  endif()
  add_library(wt_${name} INTERFACE)
  target_link_libraries(wt_${name} INTERFACE $<LINK_LIBRARY:WHOLE_ARCHIVE,wt_${name}_files>)
endfunction()

# A program, <build>/bin/<name>. The target `programs` is all of them, without the tests.
add_custom_target(programs)
function(windtunnel_program name)
  windtunnel_executable(${name} ${ARGN})
  add_dependencies(programs ${name})
endfunction()

function(windtunnel_executable name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${WINDTUNNEL_WARNINGS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  if(ARG_TORCH)
    windtunnel_use_torch(${name})
  else()
    windtunnel_use_headers(${name} common_headers base/common_headers.h fmt::fmt)
  endif()
endfunction()

# One test binary per folder; every TEST is a test of its own for ctest.
function(windtunnel_tests name)
  cmake_parse_arguments(ARG "TORCH" "" "SOURCES;LINK" ${ARGN})
  set(torch)
  if(ARG_TORCH)
    set(torch TORCH)
  endif()
  windtunnel_executable(${name}_tests ${torch} SOURCES ${ARG_SOURCES}
    LINK ${ARG_LINK} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name}_tests PRIVATE
    WINDTUNNEL_SOURCE_DIR="${CMAKE_SOURCE_DIR}" WINDTUNNEL_BINARY_DIR="${CMAKE_BINARY_DIR}/bin")
  gtest_discover_tests(${name}_tests DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 900)
endfunction()

# The files of `target` see LibTorch.
function(windtunnel_use_torch target)
  target_link_libraries(${target} PRIVATE torch::torch)
  target_compile_options(${target} PRIVATE ${WINDTUNNEL_TORCH_OPTIONS})
  windtunnel_use_headers(${target} torch_headers kernels/torch_headers.h "torch::torch;fmt::fmt"
    ${WINDTUNNEL_TORCH_OPTIONS})
endfunction()

# The files of `target` start with `header`, which is compiled once, as they are, for all that use it:
# parsing it costs seconds a file otherwise. It takes the flags of
# `libraries`, and what follows them.
function(windtunnel_use_headers target name header libraries)
  if(NOT TARGET wt_${name})
    file(WRITE ${CMAKE_BINARY_DIR}/${name}.cpp "")
    add_library(wt_${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
    target_link_libraries(wt_${name} PRIVATE ${libraries})
    target_include_directories(wt_${name} PRIVATE ${CMAKE_SOURCE_DIR})
    target_compile_options(wt_${name} PRIVATE ${WINDTUNNEL_WARNINGS} ${ARGN})
    target_precompile_headers(wt_${name} PRIVATE ${CMAKE_SOURCE_DIR}/${header})
  endif()
  target_precompile_headers(${target} REUSE_FROM wt_${name})
endfunction()
