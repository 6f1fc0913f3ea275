# Warnings and code generation flags for every target of the project.
add_compile_options(
  -Wall -Wextra -Wshadow -Wundef -Wvla -Wformat=2 -Wcast-qual -Wwrite-strings -Wpointer-arith
  -Wswitch-enum -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion -Wconversion
  -ffp-contract=off -fno-fast-math)
if(KVS_WERROR)
  add_compile_options(-Werror)
endif()
if(KVS_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "KVS_FUZZ needs clang, found ${CMAKE_C_COMPILER_ID}; configure with -DCMAKE_C_COMPILER=clang")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
if(KVS_SANITIZE)
  add_compile_options(-fsanitize=${KVS_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${KVS_SANITIZE})
endif()
