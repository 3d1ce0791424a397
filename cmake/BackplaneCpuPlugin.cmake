# What plugins that compute on the processor share: the kernels and the device of plugins/cpu, one object library for
# each instruction set, linked by every such plugin.

# backplane_cpu_code(<target> <variant>): what all code of one variant is compiled with: its instruction set, and
# optimisation even in Debug builds, because kernels are unusable without. Highway's AES needs are switched off: no
# variant promises AES.
function(backplane_cpu_code target variant)
  backplane_target(${target})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/plugins/cpu")
  target_link_libraries(${target} PUBLIC backplane::sdk)
  target_compile_definitions(${target} PRIVATE HWY_DISABLE_PCLMUL_AES)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(NOT variant STREQUAL "baseline")
    target_compile_options(${target} PRIVATE -march=${variant})
  endif()
  target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-O2>)
endfunction()

# backplane_cpu_plugin(<stem> <variant> ID <org.example.thing> <other arguments of backplane_add_plugin>...):
# the plugin <stem>-<variant>, or <stem> for the variant "baseline": the given sources over the objects of that variant,
# in the variant group of its id, and its manifest; both are installed.
function(backplane_cpu_plugin stem variant)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "ID" "")
  set(choice VARIANT_GROUP ${arg_ID})
  if(variant STREQUAL "x86-64-v2")
    list(APPEND choice VARIANT_RANK 20 REQUIRES_CPU ssse3 sse4.1 sse4.2 popcnt)
  elseif(variant STREQUAL "x86-64-v3")
    list(APPEND choice VARIANT_RANK 30 REQUIRES_CPU avx2 fma f16c bmi bmi2 movbe lzcnt)
  elseif(variant STREQUAL "x86-64-v4")
    list(APPEND choice VARIANT_RANK 40
         REQUIRES_CPU avx2 fma f16c bmi bmi2 movbe lzcnt avx512f avx512bw avx512vl avx512dq avx512cd)
  elseif(variant STREQUAL "baseline")
    set(choice "")
  else()
    message(FATAL_ERROR "BACKPLANE_CPU_VARIANTS: unknown variant '${variant}', wanted x86-64-v2, -v3, -v4 or baseline")
  endif()
  set(name ${stem}-${variant})
  if(variant STREQUAL "baseline")
    set(name ${stem})
  endif()
  backplane_add_plugin(${name} ID ${arg_ID} ${arg_UNPARSED_ARGUMENTS} ${choice})
  backplane_target(${name})
  target_link_libraries(${name} PRIVATE backplane_cpu_device_${variant} backplane_cpu_kernels_${variant})
  get_target_property(manifest ${name} BACKPLANE_MANIFEST)
  install(TARGETS ${name} LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/backplane/plugins.d" COMPONENT runtime)
  install(FILES "${manifest}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/backplane/plugins.d" COMPONENT runtime)
  set(BACKPLANE_CPU_PLUGIN ${name} PARENT_SCOPE)
endfunction()
