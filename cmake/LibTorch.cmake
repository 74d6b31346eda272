# LibTorch as the imported target torch::torch, from a folder: an unpacked LibTorch archive (include/,
# lib/) or a folder into which pip installed the torch wheel (torch/include, torch/lib, nvidia/...).
# find_package(Torch) is avoided: it insists on a CUDA toolkit even for the CPU libraries.

# Kept in the cache, so that a later build finds it without the environment.
if(NOT WINDTUNNEL_LIBTORCH AND DEFINED ENV{WINDTUNNEL_LIBTORCH})
  set_property(CACHE WINDTUNNEL_LIBTORCH PROPERTY VALUE $ENV{WINDTUNNEL_LIBTORCH})
endif()
set(torch_root ${WINDTUNNEL_LIBTORCH})
if(EXISTS ${WINDTUNNEL_LIBTORCH}/torch/include/ATen/ATen.h)
  set(torch_root ${WINDTUNNEL_LIBTORCH}/torch)
endif()
if(NOT EXISTS ${torch_root}/include/ATen/ATen.h OR NOT EXISTS ${torch_root}/lib/libtorch_cpu.so)
  message(FATAL_ERROR
    "no LibTorch in WINDTUNNEL_LIBTORCH='${WINDTUNNEL_LIBTORCH}': expected include/ATen/ATen.h and "
    "lib/libtorch_cpu.so there. './windtunnel' installs one, or give the folder of one you have.")
endif()

# libtorch_cpu.so of the wheel needs small CUDA libraries that pip put beside it.
file(GLOB torch_companions ${torch_root}/../nvidia/*/lib)
set(torch_library_folders ${torch_root}/lib ${torch_companions})

add_library(torch::torch INTERFACE IMPORTED GLOBAL)
target_include_directories(torch::torch SYSTEM INTERFACE
  ${torch_root}/include ${torch_root}/include/torch/csrc/api/include)
target_link_libraries(torch::torch INTERFACE
  ${torch_root}/lib/libtorch_cpu.so ${torch_root}/lib/libc10.so)
foreach(folder ${torch_library_folders})
  target_link_options(torch::torch INTERFACE -Wl,-rpath,${folder} -Wl,-rpath-link,${folder})
endforeach()

if(WINDTUNNEL_CUDA)
  if(NOT EXISTS ${torch_root}/lib/libtorch_cuda.so)
    message(FATAL_ERROR "WINDTUNNEL_CUDA=ON, but ${torch_root}/lib has no libtorch_cuda.so: "
      "use a LibTorch built with CUDA, or WINDTUNNEL_CUDA=OFF")
  endif()
  find_package(CUDAToolkit REQUIRED)
  # Nothing names a symbol of these; their static registrations are what is needed.
  target_link_libraries(torch::torch INTERFACE -Wl,--no-as-needed
    ${torch_root}/lib/libtorch_cuda.so ${torch_root}/lib/libc10_cuda.so -Wl,--as-needed CUDA::cudart)
  target_compile_definitions(torch::torch INTERFACE WINDTUNNEL_CUDA)
endif()
message(STATUS "LibTorch: ${torch_root}, CUDA build: ${WINDTUNNEL_CUDA}")
