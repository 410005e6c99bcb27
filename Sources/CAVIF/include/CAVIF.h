#ifndef CAVIF_H
#define CAVIF_H

// libavif's decoder, loaded with the first image that needs it: it brings five codecs and 8 MB along, which most starts of a program
// do without. It reports by status and reads through callbacks that may be Swift's, so Swift calls it as it is.

// Without the trait AVIF nothing uses this module, though SwiftPM compiles it; so libavif's headers aren't needed then.
#if __has_include(<avif/avif.h>)
#include <avif/avif.h>

#if AVIF_VERSION >= 1000000
#define CAVIF_LIBRARY "libavif.so.16"
#define CAVIF_PACKAGE "libavif16"
#elif AVIF_VERSION >= 110000
#define CAVIF_LIBRARY "libavif.so.15"
#define CAVIF_PACKAGE "libavif15"
#else
#error "prewarm needs libavif 0.11 or later"
#endif

// The functions of libavif that are used: their names here and there.
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
  FUNCTION(getPixelFormatInfo, avifGetPixelFormatInfo)

typedef struct {
#define CAVIF_MEMBER(name, function) __typeof__(function) *_Nonnull name;
  CAVIF_FUNCTIONS(CAVIF_MEMBER)
#undef CAVIF_MEMBER
} CAVIFFunctions;

// Loads libavif, the first time. NULL where it is absent or of a version that these headers do not fit.
const CAVIFFunctions *_Nullable cavif_functions(void);

// Why `cavif_functions` is NULL.
const char *_Nonnull cavif_problem(void);

#endif

#endif
