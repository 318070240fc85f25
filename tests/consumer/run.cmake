# Installs the build into a fresh prefix, then configures, builds and runs the consumer project against it: a program of
# its own, and README's first one.
set(prefix ${BUILD}/consumer/prefix)
file(REMOVE_RECURSE ${BUILD}/consumer)
cmake_path(GET LIBTORCH_INCLUDE PARENT_PATH libtorch)

function(must)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status)
  if(status)
    message(FATAL_ERROR "failed: ${ARGN}")
  endif()
endfunction()

must(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
file(READ ${SOURCE}/../../README.md readme)
string(REGEX MATCH "```cpp\n([^`]*)```" found "${readme}")
file(WRITE ${BUILD}/consumer/readme.cpp "${CMAKE_MATCH_1}")

# Libraries made with a sanitizer want their users made with it.
set(flags "")
if(SANITIZE)
  set(flags -fsanitize=${SANITIZE})
endif()
must(${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD}/consumer/build -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_CXX_FLAGS=${flags}
     -DCMAKE_PREFIX_PATH=${prefix} -DLIBTORCH=${libtorch} -DREADME_PROGRAM=${BUILD}/consumer/readme.cpp)
must(${CMAKE_COMMAND} --build ${BUILD}/consumer/build)
must(${BUILD}/consumer/build/consumer)
must(${prefix}/bin/gaze --version)

# It wants its model and its picture beside it.
file(CREATE_LINK ${SOURCE}/../../weights ${BUILD}/consumer/weights SYMBOLIC)
file(COPY_FILE ${SOURCE}/../photos/red_panda.jpg ${BUILD}/consumer/photo.jpg)
execute_process(COMMAND ${BUILD}/consumer/build/readme WORKING_DIRECTORY ${BUILD}/consumer OUTPUT_VARIABLE words
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT words MATCHES "red panda +[01][.][0-9][0-9]\n")
  message(FATAL_ERROR "README's program printed:\n${words}")
endif()
