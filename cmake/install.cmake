# What `cmake --install` installs: header, library, CMake package, pkg-config file, pages and
# examples. All of it may be moved as a whole: paths inside are relative to where the files lie.
include(CMakePackageConfigHelpers)

# A static library passes its dependencies on to the program that links it.
if(NOT BUILD_SHARED_LIBS)
  target_link_libraries(tessera PRIVATE
    $<INSTALL_INTERFACE:Threads::Threads> $<INSTALL_INTERFACE:ZLIB::ZLIB>
    $<INSTALL_INTERFACE:PkgConfig::JANSSON> $<INSTALL_INTERFACE:m> $<INSTALL_INTERFACE:${CMAKE_DL_LIBS}>)
endif()

set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
install(TARGETS tessera EXPORT tesseraTargets)
install(DIRECTORY include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} PATTERN tessera_mpi.h EXCLUDE)
# The targets that need MPI are a component of their own: the other components need no MPI.
if(TARGET tessera_mpi)
  install(TARGETS tessera_mpi EXPORT tesseraMpiTargets)
  install(TARGETS tessera_mpi_command)
  install(FILES include/tessera/tessera_mpi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera)
  install(EXPORT tesseraMpiTargets NAMESPACE tessera:: DESTINATION ${package_directory})
endif()
# A compiled Fortran module is of one compiler: the source is installed.
set(fortran_directory ${CMAKE_INSTALL_DATADIR}/tessera)
install(FILES fortran/tessera.f90 DESTINATION ${fortran_directory})
install(EXPORT tesseraTargets NAMESPACE tessera:: DESTINATION ${package_directory})
configure_package_config_file(cmake/tesseraConfig.cmake.in tesseraConfig.cmake
  INSTALL_DESTINATION ${package_directory} PATH_VARS fortran_directory)
write_basic_package_version_file(tesseraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfig.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/tesseraConfigVersion.cmake DESTINATION ${package_directory})

file(RELATIVE_PATH prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file(cmake/tessera.pc.in tessera.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tessera.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The documents. Links between them are those of the sources.
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The manual's pages of every function, from the headers' own words.
find_program(AWK awk)
if(AWK)
  set(headers tessera)
  if(TARGET tessera_mpi)
    list(APPEND headers tessera_mpi)
  endif()
  foreach(name ${headers})
    set(header ${PROJECT_SOURCE_DIR}/include/tessera/${name}.h)
    add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man3/${name}.h.3
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/man3
      COMMAND ${AWK} -v out=${CMAKE_BINARY_DIR}/man3 -v version=${PROJECT_VERSION}
        -f ${CMAKE_CURRENT_LIST_DIR}/api_pages.awk ${header}
      DEPENDS ${header} ${CMAKE_CURRENT_LIST_DIR}/api_pages.awk VERBATIM)
    list(APPEND overviews ${CMAKE_BINARY_DIR}/man3/${name}.h.3)
  endforeach()
  add_custom_target(tessera_api_pages ALL DEPENDS ${overviews})
  install(DIRECTORY ${CMAKE_BINARY_DIR}/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
endif()
