# Headers are included as <simmesh/mesh/device_mesh.h>: in the build tree through a link to the repository's root.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/include/simmesh SYMBOLIC)

# simmesh_library(folder USES targets...) makes the library simmesh_<folder> of all sources below the folder.
function(simmesh_library folder)
  cmake_parse_arguments(LIBRARY "" "" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  add_library(simmesh_${folder} STATIC ${sources})
  target_include_directories(simmesh_${folder} PUBLIC
    $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(simmesh_${folder} PUBLIC ${LIBRARY_USES})
  set_target_properties(simmesh_${folder} PROPERTIES EXPORT_NAME ${folder})
  add_library(simmesh::${folder} ALIAS simmesh_${folder})
endfunction()
