# backplane_add_plugin(<target>
#   ID <org.example.thing>          plugin id, as the manifest and bp_negotiate give it
#   SOURCES <file>...
#   [DISPLAY_NAME <text>] [VERSION <1.0.0>]
#   [OPTIONS_JSON <{"key": default}>]       declared options with their defaults
#   [REQUIRES_CPU <feature>...]             checked before the library is mapped
#   [VARIANT_GROUP <id> VARIANT_RANK <n>]   the best eligible member of a group is loaded
#   [DEPENDENCY <soname> HINT <text>]       shown when the library is missing
#   [OUTPUT_DIRECTORY <folder>])
#
# Builds a plugin: a MODULE library that exports bp_get_proc_address and nothing else, with its manifest beside it.
# The same function serves plugins in this tree and plugins built against an installed SDK.
set(_BACKPLANE_PLUGIN_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}")

function(backplane_add_plugin target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ID;DISPLAY_NAME;VERSION;OPTIONS_JSON;VARIANT_GROUP;VARIANT_RANK;DEPENDENCY;HINT;OUTPUT_DIRECTORY"
                        "SOURCES;REQUIRES_CPU")
  if(NOT arg_ID OR NOT arg_SOURCES)
    message(FATAL_ERROR "backplane_add_plugin(${target}): ID and SOURCES are required")
  endif()
  if(NOT arg_VERSION)
    set(arg_VERSION "1.0.0")
  endif()
  if(NOT arg_DISPLAY_NAME)
    set(arg_DISPLAY_NAME "${arg_ID}")
  endif()
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY "${BACKPLANE_PLUGIN_OUTPUT_DIRECTORY}")
  endif()
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  endif()

  set(exports "${_BACKPLANE_PLUGIN_CMAKE_DIR}/plugin.map")
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE backplane::sdk)
  target_compile_definitions(${target} PRIVATE BACKPLANE_BUILDING_PLUGIN)
  set_target_properties(${target} PROPERTIES
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY "${arg_OUTPUT_DIRECTORY}" LINK_DEPENDS "${exports}")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${exports}")

  _backplane_manifest_extras(extras)
  file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/${target}.json.in" @ONLY CONTENT [=[{
  "file_format_version": "1.0",
  "plugin": {
    "id": "@arg_ID@",
    "display_name": "@arg_DISPLAY_NAME@",
    "version": "@arg_VERSION@",
    "library_path": "$<TARGET_FILE_NAME:@target@>",
    "entry_point": "bp_get_proc_address",
    "abi": {"min": "1.0", "max": "1.0"}@extras@
  }
}
]=])
  file(GENERATE OUTPUT "${arg_OUTPUT_DIRECTORY}/${target}.json" INPUT "${CMAKE_CURRENT_BINARY_DIR}/${target}.json.in")
  set_target_properties(${target} PROPERTIES BACKPLANE_MANIFEST "${arg_OUTPUT_DIRECTORY}/${target}.json")
  set_property(GLOBAL APPEND PROPERTY BACKPLANE_PLUGINS ${target})
endfunction()

# The optional members of the manifest, each with its leading comma, from the caller's arg_ variables.
function(_backplane_manifest_extras result)
  set(text "")
  if(arg_REQUIRES_CPU)
    list(JOIN arg_REQUIRES_CPU "\", \"" features)
    string(APPEND text ",\n    \"requires\": {\"cpu\": [\"${features}\"]}")
  endif()
  if(arg_VARIANT_GROUP)
    string(APPEND text ",\n    \"variant\": {\"group\": \"${arg_VARIANT_GROUP}\", \"rank\": ${arg_VARIANT_RANK}}")
  endif()
  if(arg_DEPENDENCY)
    string(APPEND text ",\n    \"dependencies\": [{\"soname\": \"${arg_DEPENDENCY}\", \"hint\": \"${arg_HINT}\"}]")
  endif()
  if(arg_OPTIONS_JSON)
    string(APPEND text ",\n    \"options\": ${arg_OPTIONS_JSON}")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()
