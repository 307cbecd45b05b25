# The Debian package of the install tree, which `./dev package` makes: headers, libraries, the command, and the
# files for CMake and pkg-config. The Python module has a package of its own.
install(DIRECTORY examples/gates DESTINATION ${CMAKE_INSTALL_DATADIR}/simmesh)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(FILES CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(CPACK_GENERATOR DEB)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};simmesh;Unspecified;/")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_SOURCE_DIR}/build/package)
set(CPACK_PACKAGE_CONTACT "the authors of simmesh")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION "every rank of a device mesh in one process, checked bit for bit
 simmesh trains with DDP, FSDP2, ZeRO, tensor, expert and pipeline parallelism on
 simulated ranks, and checks that results have the bits of one device. The package
 has headers and libraries for programs in C++, and the command simmesh.")
# The libraries are static, so programs link what they need.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libboost-context-dev, libboost-fiber-dev, libfmt-dev, libmsgsl-dev, \
libxxhash-dev, libzip-dev, libsimdjson-dev, libarchive-dev, zlib1g-dev, libprotobuf-dev, libtomlplusplus-dev, \
nlohmann-json3-dev")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "libgtest-dev, libeigen3-dev")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
