# kvs_catalogue(TARGET): embeds models/{llm,gpu,machine}/*.yaml and experiments/*/experiment.yaml
# as C arrays behind cli/catalogue.h. Files are sorted, so the binary is the same everywhere.
function(kvs_catalogue target)
  set(out ${PROJECT_BINARY_DIR}/catalogue_data.c)
  file(GLOB files CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/models/llm/*.yaml ${PROJECT_SOURCE_DIR}/models/gpu/*.yaml
    ${PROJECT_SOURCE_DIR}/models/machine/*.yaml ${PROJECT_SOURCE_DIR}/experiments/*/experiment.yaml)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUT=${out} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedCatalogue.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/EmbedCatalogue.cmake VERBATIM)
  add_library(${target} STATIC ${out})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -Wno-overlength-strings)
endfunction()
