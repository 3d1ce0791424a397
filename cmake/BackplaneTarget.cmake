# Settings that every target of this project shares.

# backplane_target(<target>): C++20, warnings, sanitizers.
function(backplane_target target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Werror
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor;-Woverloaded-virtual>
    # Both cry wolf on std::optional and std::string in GCC 12.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-restrict>)
  backplane_sanitize(${target})
endfunction()

# backplane_sanitize(<target>): the sanitizers of BACKPLANE_SANITIZE, every finding fatal.
function(backplane_sanitize target)
  if(BACKPLANE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${BACKPLANE_SANITIZE} -fno-omit-frame-pointer
                                             -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${BACKPLANE_SANITIZE})
  endif()
endfunction()

# backplane_test_target(<target>): settings of code that only tests. Under sanitizers it is not optimised, which halves the
# time to compile it; what is tested is as ever.
function(backplane_test_target target)
  backplane_target(${target})
  if(BACKPLANE_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# backplane_test(<name> LABELS <l>... SOURCES <s>... [LIBRARIES <lib>...] [ENVIRONMENT <VAR=value>]):
# a GoogleTest program whose cases are ctest tests. CMake passes one variable only on to tests that it discovers.
function(backplane_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ENVIRONMENT" "LABELS;SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  backplane_test_target(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest_main)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
                       PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 300 ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()
