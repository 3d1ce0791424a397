# backplane_add_plugin(<target>
#   ID <org.example.thing>          plugin id, as the manifest and bp_negotiate give it
#   SOURCES <file>...
#   [DISPLAY_NAME <text>] [VERSION <1.0.0>]
#   [OPTIONS_JSON <{"key": default}>]       declared options with their defaults
#   [REQUIRES_CPU <feature>...]             checked before the library is mapped
#   [VARIANT_GROUP <id> VARIANT_RANK <n>]   the best eligible member of a group is loaded
#   [DEPENDENCY <soname> HINT <text>]       shown when the library is missing
#   [OUTPUT_DIRECTORY <folder>]
#   [NO_MANIFEST_FILE])                     the library alone
#
# Builds a plugin: a MODULE library that exports bp_get_proc_address and nothing else. Its manifest goes twice from one
# text: into the library as an ELF note (backplane/sdk/manifest_note.h), so that it can be installed alone, and into a
# file beside it (property BACKPLANE_MANIFEST), which beats the note and may be edited.
# The same function serves plugins in this tree and plugins built against an installed SDK.
set(_BACKPLANE_PLUGIN_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}")

function(backplane_add_plugin target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "NO_MANIFEST_FILE" "ID;DISPLAY_NAME;VERSION;OPTIONS_JSON;VARIANT_GROUP;VARIANT_RANK;DEPENDENCY;HINT;OUTPUT_DIRECTORY"
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
    LIBRARY_OUTPUT_DIRECTORY "${arg_OUTPUT_DIRECTORY}" LINK_DEPENDS "${exports}"
    # Libraries that come with a plugin lie beside it. The path of the build tree would be padded with empty entries,
    # which stand for the working directory.
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  target_link_options(${target} PRIVATE "LINKER:--version-script=${exports}")

  _backplane_manifest_members(members)
  _backplane_embed_manifest(${target} "${members}")
  if(NOT arg_NO_MANIFEST_FILE)
    _backplane_manifest_text(text "${members}" ",\n    \"library_path\": \"$<TARGET_FILE_NAME:${target}>\"")
    file(GENERATE OUTPUT "${arg_OUTPUT_DIRECTORY}/${target}.json" CONTENT "${text}")
    set_target_properties(${target} PROPERTIES BACKPLANE_MANIFEST "${arg_OUTPUT_DIRECTORY}/${target}.json")
  endif()
  set_property(GLOBAL APPEND PROPERTY BACKPLANE_PLUGINS ${target})
endfunction()

# The text as a JSON string, with its quotes.
function(_backplane_json_string result text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n" text "${text}")
  string(REPLACE "\t" "\\t" text "${text}")
  set(${result} "\"${text}\"" PARENT_SCOPE)
endfunction()

# The members of "plugin" that the file and the note share, from the caller's arg_ variables.
function(_backplane_manifest_members result)
  foreach(name IN ITEMS ID DISPLAY_NAME VERSION VARIANT_GROUP DEPENDENCY HINT)
    _backplane_json_string(${name} "${arg_${name}}")
  endforeach()
  set(text "\"id\": ${ID},\n    \"display_name\": ${DISPLAY_NAME},\n    \"version\": ${VERSION}")
  string(APPEND text ",\n    \"entry_point\": \"bp_get_proc_address\",\n    \"abi\": {\"min\": \"1.0\", \"max\": \"1.0\"}")
  if(arg_REQUIRES_CPU)
    list(JOIN arg_REQUIRES_CPU "\", \"" features)
    string(APPEND text ",\n    \"requires\": {\"cpu\": [\"${features}\"]}")
  endif()
  if(arg_VARIANT_GROUP)
    string(APPEND text ",\n    \"variant\": {\"group\": ${VARIANT_GROUP}, \"rank\": ${arg_VARIANT_RANK}}")
  endif()
  if(arg_DEPENDENCY AND arg_HINT)
    string(APPEND text ",\n    \"dependencies\": [{\"soname\": ${DEPENDENCY}, \"hint\": ${HINT}}]")
  elseif(arg_DEPENDENCY)
    string(APPEND text ",\n    \"dependencies\": [{\"soname\": ${DEPENDENCY}}]")
  endif()
  if(arg_OPTIONS_JSON)
    string(JSON kind ERROR_VARIABLE error TYPE "${arg_OPTIONS_JSON}")
    if(error OR NOT kind STREQUAL "OBJECT")
      message(FATAL_ERROR "backplane_add_plugin(${target}): OPTIONS_JSON is no JSON object: ${arg_OPTIONS_JSON} (${error})")
    endif()
    string(APPEND text ",\n    \"options\": ${arg_OPTIONS_JSON}")
  endif()
  # In JSON "$" is found in strings only; written so, it starts no generator expression.
  string(REPLACE "$" "\\u0024" text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

function(_backplane_manifest_text result members more)
  set(${result} "{\n  \"file_format_version\": \"1.0\",\n  \"plugin\": {\n    ${members}${more}\n  }\n}\n" PARENT_SCOPE)
endfunction()

# Adds a source to the target that holds the manifest as a note. The text goes byte by byte, so that nothing in it needs
# quoting. The source fits C and C++: projects may have enabled only one of them.
function(_backplane_embed_manifest target members)
  _backplane_manifest_text(text "${members}" "")
  string(HEX "${text}" digits)
  string(LENGTH "${digits}" length)
  math(EXPR text_bytes "${length} / 2")
  math(EXPR padded_bytes "(${text_bytes} + 3) / 4 * 4")
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${digits}")
  string(REGEX REPLACE "(................................................................................)" "\\1\n  " bytes
                       "${bytes}")
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  set(extension cpp)
  if("C" IN_LIST languages)
    set(extension c)
  endif()
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}_manifest.${extension}")
  configure_file("${_BACKPLANE_PLUGIN_CMAKE_DIR}/manifest_note.c.in" "${source}" @ONLY)
  target_sources(${target} PRIVATE "${source}")
  set_source_files_properties("${source}" PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
