# Installs the component sdk from BUILD_DIR below SCRATCH, then configures and builds EXAMPLE against it alone.
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE "${SCRATCH}")
run(${CMAKE_COMMAND} --install "${BUILD_DIR}" --component sdk --prefix "${SCRATCH}/prefix")
run(${CMAKE_COMMAND} -S "${EXAMPLE}" -B "${SCRATCH}/build" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
    "-DCMAKE_PREFIX_PATH=${SCRATCH}/prefix" -DCMAKE_CXX_FLAGS=-Wall\ -Wextra\ -Werror)
run(${CMAKE_COMMAND} --build "${SCRATCH}/build")

foreach(file IN ITEMS libhello.so hello.json)
  if(NOT EXISTS "${SCRATCH}/build/${file}")
    message(FATAL_ERROR "the build of hello-plugin made no ${file}")
  endif()
endforeach()
file(READ "${SCRATCH}/build/hello.json" manifest)
string(JSON id GET "${manifest}" plugin id)
string(JSON library GET "${manifest}" plugin library_path)
if(NOT id STREQUAL "org.example.hello" OR NOT library STREQUAL "libhello.so")
  message(FATAL_ERROR "hello.json names id '${id}' and library '${library}'")
endif()

# The project enables C++ only, so the generated source that embeds the manifest must be C++.
file(STRINGS "${SCRATCH}/build/libhello.so" embedded REGEX "\"id\": \"org.example.hello\"")
if(NOT embedded)
  message(FATAL_ERROR "libhello.so holds no manifest")
endif()
