# CUDA is optional: with nvcc on the PATH or in /usr/local/cuda the executor for GPUs is built, else a
# stand-in that says so. Kernels are compiled by nvcc alone; everything else stays plain C. The runtime
# is linked statically, so that one program starts on machines with and without CUDA.
set(KVS_CUDA AUTO CACHE STRING "Build the CUDA executor: AUTO (where nvcc is), ON or OFF")
set(KVS_CUDA_ARCHITECTURES "75;80;86;89;90;120" CACHE STRING "GPU architectures; PTX of the last is added")

find_program(KVS_NVCC nvcc HINTS /usr/local/cuda/bin)
mark_as_advanced(KVS_NVCC)
set(kvs_has_cuda OFF)
if(KVS_NVCC AND NOT KVS_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  if(TARGET CUDA::cudart_static)
    set(kvs_has_cuda ON)
  endif()
endif()
if(KVS_CUDA STREQUAL "ON" AND NOT kvs_has_cuda)
  message(FATAL_ERROR "KVS_CUDA is ON, but nvcc or the static CUDA runtime was not found (put nvcc on the PATH)")
endif()

add_library(kvs_cuda INTERFACE)
if(kvs_has_cuda)
  set(codes "")
  foreach(arch ${KVS_CUDA_ARCHITECTURES})
    list(APPEND codes -gencode arch=compute_${arch},code=sm_${arch})
    set(last ${arch})
  endforeach()
  list(APPEND codes -gencode arch=compute_${last},code=compute_${last})
  set(objects "")
  foreach(file kernels probe_kernels)
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${file}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${KVS_NVCC} -std=c++17 -O3 --threads 0 -I${PROJECT_SOURCE_DIR} ${codes}
              -Xcompiler -fno-exceptions,-fno-threadsafe-statics,-fPIC,-Wall -c ${PROJECT_SOURCE_DIR}/real/${file}.cu -o ${object}
      DEPENDS ${PROJECT_SOURCE_DIR}/real/${file}.cu ${PROJECT_SOURCE_DIR}/real/${file}.h
              ${PROJECT_SOURCE_DIR}/real/cells.h
      COMMENT "Compiling ${file}.cu")
    list(APPEND objects ${object})
  endforeach()
  add_custom_target(kvs_kernels DEPENDS ${objects})
  add_dependencies(kvs_cuda kvs_kernels)
  target_link_libraries(kvs_cuda INTERFACE ${objects} CUDA::cudart_static ${CMAKE_DL_LIBS})
  target_include_directories(kvs_cuda SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  set(kvs_real_exclude exec_none.c probe_none.c)
else()
  message(STATUS "without CUDA: kvsim replay uses the host executor")
  file(GLOB kvs_real_exclude RELATIVE ${PROJECT_SOURCE_DIR}/real CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/real/cuda_*.c ${PROJECT_SOURCE_DIR}/real/probe*.c)
  list(REMOVE_ITEM kvs_real_exclude # names, rules and lists need no GPU
    probe_none.c probe_groups.c probe_names.c probe_parts.c probe_rules.c)
  list(APPEND kvs_real_exclude exec_cuda.c nccl.c nvml.c)
endif()
