# tess_generated_source(NAME SCRIPT [ARGS -DKEY=VALUE ...] [DEPENDS FILE ...]): a source of the library
# that a script in CMake's language writes. NAME.c is its -DOUTPUT. It is written again when the
# script or a file in DEPENDS changes.
function(tess_generated_source name script)
  cmake_parse_arguments(PARSE_ARGV 2 given "" "" "ARGS;DEPENDS")
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.c)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} ${given_ARGS} -P ${script}
    DEPENDS ${given_DEPENDS} ${script}
    COMMENT "Writing ${name}.c" VERBATIM)
  add_custom_target(tessera_${name} DEPENDS ${output})
  add_dependencies(tessera_objects tessera_${name})
  set_source_files_properties(${output} TARGET_DIRECTORY tessera_objects PROPERTIES GENERATED TRUE)
  target_sources(tessera_objects PRIVATE ${output})
endfunction()

# tess_embed(NAME HEADER TABLE ENTRY FILE ...): NAME.c holds the files as bytes, each an array with a
# 0 behind it, and the TABLE of them ("const char *const files[]"), which HEADER declares. An ENTRY
# of the table has FILE for the file's name and BYTES for its array. The table ends with zeros.
function(tess_embed name header table entry)
  list(JOIN ARGN "|" files)
  tess_generated_source(${name} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake DEPENDS ${ARGN}
    ARGS -DHEADER=${header} -DTABLE=${table} -DENTRY=${entry} -DFILES=${files})
endfunction()
