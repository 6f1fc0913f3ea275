# kvs_catalogue(TARGET): embeds models/{llm,gpu,machine}/*.yaml and experiments/*/experiment.yaml
# as C arrays behind cli/catalogue.h. Files are sorted, so the binary is the same everywhere.
function(kvs_catalogue target)
  set(out ${PROJECT_BINARY_DIR}/catalogue_data.c)
  set(script ${PROJECT_SOURCE_DIR}/cmake/EmbedCatalogue.cmake)
  file(GLOB files CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/models/llm/*.yaml ${PROJECT_SOURCE_DIR}/models/gpu/*.yaml
    ${PROJECT_SOURCE_DIR}/models/machine/*.yaml ${PROJECT_SOURCE_DIR}/experiments/*/experiment.yaml)
  # The list is a dependency of its own: a file that goes away must leave the binary too.
  string(REPLACE ";" "\n" list "${files}")
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/catalogue_files.txt CONTENT "@list@\n" @ONLY)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUT=${out} -P ${script}
    DEPENDS ${files} ${script} ${PROJECT_BINARY_DIR}/catalogue_files.txt VERBATIM)
  add_library(${target} STATIC ${out})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
endfunction()
