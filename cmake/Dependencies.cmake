# Every library the project uses, found once; README.md has the table of what each is for.

set(CMAKE_THREAD_PREFER_PTHREAD ON)
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Ceres REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CURL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(GTest REQUIRED)
include(GoogleTest)

# Header-only, or without a CMake package in Debian.
function(windtunnel_system_library target header library)
  find_path(${target}_include ${header} REQUIRED)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${${target}_include})
  if(library)
    find_library(${target}_file ${library} REQUIRED)
    target_link_libraries(${target} INTERFACE ${${target}_file})
  endif()
endfunction()
windtunnel_system_library(valijson valijson/validator.hpp "")
windtunnel_system_library(boost_math boost/math/distributions/students_t.hpp "")
windtunnel_system_library(nlopt nlopt.h nlopt)
windtunnel_system_library(pcre2 pcre2.h pcre2-8)
windtunnel_system_library(httplib httplib.h cpp-httplib)
windtunnel_system_library(cmark_gfm cmark-gfm.h cmark-gfm)
windtunnel_system_library(cmark_gfm_extensions cmark-gfm-core-extensions.h cmark-gfm-extensions)

include(LibTorch)

set(WINDTUNNEL_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
# LibTorch's headers are not clean under these.
set(WINDTUNNEL_TORCH_OPTIONS -Wno-shadow -Wno-pedantic -Wno-unused-parameter)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1  # clones share what they compile
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()
