# Finds SentencePiece, which brings no CMake package of its own (Debian: libsentencepiece-dev). Defines
# SentencePiece::sentencepiece.
find_path(SentencePiece_INCLUDE_DIR sentencepiece_processor.h)
find_library(SentencePiece_LIBRARY sentencepiece)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SentencePiece
  REQUIRED_VARS SentencePiece_LIBRARY SentencePiece_INCLUDE_DIR
  REASON_FAILURE_MESSAGE "install libsentencepiece-dev")

if(SentencePiece_FOUND AND NOT TARGET SentencePiece::sentencepiece)
  add_library(SentencePiece::sentencepiece INTERFACE IMPORTED)
  target_include_directories(SentencePiece::sentencepiece SYSTEM INTERFACE ${SentencePiece_INCLUDE_DIR})
  target_link_libraries(SentencePiece::sentencepiece INTERFACE ${SentencePiece_LIBRARY})
endif()
