# Installs the build into a fresh prefix, then configures, builds and runs the consumer project against it.
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
must(${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD}/consumer/build -G Ninja -DCMAKE_CXX_COMPILER=${COMPILER}
     -DCMAKE_PREFIX_PATH=${prefix} -DLIBTORCH=${libtorch})
must(${CMAKE_COMMAND} --build ${BUILD}/consumer/build)
must(${BUILD}/consumer/build/consumer)
must(${prefix}/bin/gaze --version)
