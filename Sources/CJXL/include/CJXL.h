#ifndef CJXL_H
#define CJXL_H

// libjxl's decoder, loaded with the first image that needs it. It reports errors by status, so Swift calls it directly, except for
// the call that works and allocates.

// Without the trait LoadedFormats nothing uses this module, but SwiftPM compiles it; libjxl's headers aren't needed then.
#if __has_include(<jxl/decode.h>)
#include <jxl/decode.h>
// Included by decode.h from version 0.7 on.
#include <jxl/version.h>
#include <stdint.h>

#if JPEGXL_NUMERIC_VERSION < JPEGXL_COMPUTE_NUMERIC_VERSION(0, 7, 0)
#error "prewarm requires libjxl 0.7 or later"
#endif

// The functions of libjxl that are used, with their names in this module and in libjxl.
#define CJXL_FUNCTIONS(FUNCTION)                                \
  FUNCTION(version, JxlDecoderVersion)                          \
  FUNCTION(create, JxlDecoderCreate)                            \
  FUNCTION(destroy, JxlDecoderDestroy)                          \
  FUNCTION(subscribeEvents, JxlDecoderSubscribeEvents)          \
  FUNCTION(setKeepOrientation, JxlDecoderSetKeepOrientation)    \
  FUNCTION(setUnpremultiplyAlpha, JxlDecoderSetUnpremultiplyAlpha) \
  FUNCTION(setInput, JxlDecoderSetInput)                        \
  FUNCTION(processInput, JxlDecoderProcessInput)                \
  FUNCTION(getBasicInfo, JxlDecoderGetBasicInfo)                \
  FUNCTION(getExtraChannelInfo, JxlDecoderGetExtraChannelInfo)  \
  FUNCTION(getEncodedProfile, JxlDecoderGetColorAsEncodedProfile) \
  FUNCTION(getFrameHeader, JxlDecoderGetFrameHeader)            \
  FUNCTION(getBoxType, JxlDecoderGetBoxType)                    \
  FUNCTION(setImageOutBuffer, JxlDecoderSetImageOutBuffer)      \
  FUNCTION(setImageOutCallback, JxlDecoderSetImageOutCallback)  \
  FUNCTION(setDecompressBoxes, JxlDecoderSetDecompressBoxes)    \
  FUNCTION(setBoxBuffer, JxlDecoderSetBoxBuffer)                \
  FUNCTION(releaseBoxBuffer, JxlDecoderReleaseBoxBuffer)

typedef struct {
#define CJXL_MEMBER(name, function) __typeof__(function) *_Nonnull name;
  CJXL_FUNCTIONS(CJXL_MEMBER)
#undef CJXL_MEMBER
} CJXLFunctions;

// Loads libjxl on the first call. NULL if it isn't installed or its version doesn't match these headers.
const CJXLFunctions *_Nullable cjxl_functions(void);

// The reason why `cjxl_functions` is NULL.
const char *_Nonnull cjxl_error(void);

// The Debian package of the library that matches these headers.
const char *_Nonnull cjxl_package(void);

// A decoder whose memory and time are limited.
typedef struct CJXLDecoder CJXLDecoder;

// Results of `cjxl_process` besides those of JxlDecoderStatus; after them, the decoder may only be destroyed.
enum { CJXL_TOO_LARGE = -1, CJXL_TOO_LATE = -2, CJXL_OUT_OF_MEMORY = -3 };

// NULL if there is no memory. `deadline` is a time of CLOCK_THREAD_CPUTIME_ID in nanoseconds; 0: none.
CJXLDecoder *_Nullable cjxl_create(size_t most_bytes, uint64_t deadline);
void cjxl_destroy(CJXLDecoder *_Nonnull decoder);
// libjxl's decoder, for its other functions.
JxlDecoder *_Nonnull cjxl_decoder(const CJXLDecoder *_Nonnull decoder);
// Works up to the next event.
int cjxl_process(CJXLDecoder *_Nonnull decoder);

#endif

#endif
