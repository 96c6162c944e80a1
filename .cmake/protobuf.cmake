# proto/*.proto become the library `kvplan_proto`; its headers are "proto/NAME.pb.h", and its messages import each other
# as "proto/NAME.proto". Generated code is compiled without our warnings and seen as system headers.
file(GLOB schemas CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/proto/*.proto)
if(schemas)
  set(generated ${CMAKE_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${generated}/proto)
  foreach(schema ${schemas})
    get_filename_component(name ${schema} NAME_WE)
    add_custom_command(
      OUTPUT ${generated}/proto/${name}.pb.cc ${generated}/proto/${name}.pb.h
      COMMAND protobuf::protoc --proto_path=${CMAKE_SOURCE_DIR} --cpp_out=${generated} ${schema}
      # Imports are not followed: a changed schema makes all of them anew.
      DEPENDS ${schemas} protobuf::protoc
      COMMENT "protoc proto/${name}.proto"
      VERBATIM)
    list(APPEND generated_sources ${generated}/proto/${name}.pb.cc)
  endforeach()
  add_library(kvplan_proto STATIC ${generated_sources})
  set_target_properties(kvplan_proto PROPERTIES UNITY_BUILD OFF)  # generated files share names
  target_include_directories(kvplan_proto SYSTEM PUBLIC ${generated})
  target_link_libraries(kvplan_proto PUBLIC protobuf::libprotobuf)
  if(KVPLAN_SANITIZE_USED MATCHES "thread")
    target_compile_options(kvplan_proto PRIVATE -fsanitize=thread)
  endif()
endif()
