#ifndef CAVIF_H
#define CAVIF_H

// libavif, loaded with the first image that needs it: its five codecs take 8 MB, which most runs don't need. It reports
// errors by status and reads through callbacks, which can be Swift's, so Swift calls it directly.

// Without the trait LoadedFormats nothing uses this module, but SwiftPM compiles it; libavif's headers aren't needed then.
#if __has_include(<avif/avif.h>)
#include <CLoading.h>
#include <avif/avif.h>

#if AVIF_VERSION >= 1000000
#define CAVIF_LIBRARY CLOADING_FILE("avif", "16")
#define CAVIF_PACKAGE "libavif16"
#elif AVIF_VERSION >= 110000
#define CAVIF_LIBRARY CLOADING_FILE("avif", "15")
#define CAVIF_PACKAGE "libavif15"
#else
#error "prewarm requires libavif 0.11 or later"
#endif

// The functions of libavif that are used, with their names in this module and in libavif.
#define CAVIF_FUNCTIONS(FUNCTION)                          \
  FUNCTION(version, avifVersion)                           \
  FUNCTION(resultToString, avifResultToString)             \
  FUNCTION(decoderCreate, avifDecoderCreate)               \
  FUNCTION(decoderDestroy, avifDecoderDestroy)             \
  FUNCTION(decoderSetIO, avifDecoderSetIO)                 \
  FUNCTION(decoderParse, avifDecoderParse)                 \
  FUNCTION(decoderNextImage, avifDecoderNextImage)         \
  FUNCTION(imageCreateEmpty, avifImageCreateEmpty)         \
  FUNCTION(imageDestroy, avifImageDestroy)                 \
  FUNCTION(imageCopy, avifImageCopy)                       \
  FUNCTION(imageSetViewRect, avifImageSetViewRect)         \
  FUNCTION(imageAllocatePlanes, avifImageAllocatePlanes)   \
  FUNCTION(imageYUVToRGB, avifImageYUVToRGB)               \
  FUNCTION(rgbImageSetDefaults, avifRGBImageSetDefaults)   \
  FUNCTION(getPixelFormatInfo, avifGetPixelFormatInfo)     \
  FUNCTION(codecName, avifCodecName)                       \
  FUNCTION(imageCreate, avifImageCreate)                   \
  FUNCTION(imageRGBToYUV, avifImageRGBToYUV)               \
  FUNCTION(encoderCreate, avifEncoderCreate)               \
  FUNCTION(encoderDestroy, avifEncoderDestroy)             \
  FUNCTION(encoderAddImage, avifEncoderAddImage)           \
  FUNCTION(encoderFinish, avifEncoderFinish)               \
  FUNCTION(rwDataFree, avifRWDataFree)

typedef struct {
#define CAVIF_MEMBER(name, function) __typeof__(function) *_Nonnull name;
  CAVIF_FUNCTIONS(CAVIF_MEMBER)
#undef CAVIF_MEMBER
} CAVIFFunctions;

// Loads libavif on the first call. NULL if it isn't installed or its version doesn't match these headers.
const CAVIFFunctions *_Nullable cavif_functions(void);

// The reason why `cavif_functions` is NULL.
const char *_Nonnull cavif_error(void);

#endif

#endif
