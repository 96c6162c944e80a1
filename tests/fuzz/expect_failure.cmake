# cmake -D PROGRAM=... -D FOLDER=... -P expect_failure.cmake : the program must die and leave the input that killed it,
# and that input alone must kill it again.
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${PROGRAM} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status ERROR_VARIABLE text)
if(status EQUAL 0 OR NOT text MATCHES "the entry failed; its input is in ")
  message(FATAL_ERROR "the planted failure was not found (status ${status}): ${text}")
endif()
file(GLOB inputs ${FOLDER}/*.failed)
list(LENGTH inputs found)
if(NOT found EQUAL 1)
  message(FATAL_ERROR "one failing input should have been left, not ${found}")
endif()
execute_process(COMMAND ${PROGRAM} --mutations 0 ${inputs} WORKING_DIRECTORY ${FOLDER} RESULT_VARIABLE status
  ERROR_QUIET)
if(status EQUAL 0)
  message(FATAL_ERROR "the input that was left does not repeat the failure")
endif()
