#ifndef CHEIF_H
#define CHEIF_H

// libheif, and the decoder of its pictures, libde265; both are loaded with the first image that needs them. They report errors by
// status and call back only C, so Swift calls libheif directly.

// Without the trait LoadedFormats nothing uses this module, but SwiftPM compiles it; the headers aren't needed then.
#if __has_include(<libheif/heif.h>) && __has_include(<libde265/de265.h>)
#include <libheif/heif.h>
#include <CLoading.h>
#include <stdbool.h>
#include <stdint.h>

#define CHEIF_LIBRARY CLOADING_FILE("heif", "1")
#define CHEIF_CODEC_LIBRARY CLOADING_FILE("de265", "0")
#define CHEIF_PACKAGE "libheif1 libde265-0"

// The functions of libheif that Swift uses, with their names in this module and in libheif.
#define CHEIF_FUNCTIONS(FUNCTION)                                            \
  FUNCTION(contextAlloc, heif_context_alloc)                                 \
  FUNCTION(contextFree, heif_context_free)                                   \
  FUNCTION(setMaximumSide, heif_context_set_maximum_image_size_limit)        \
  FUNCTION(setMaximumThreads, heif_context_set_max_decoding_threads)         \
  FUNCTION(read, heif_context_read_from_memory_without_copy)                 \
  FUNCTION(getPrimary, heif_context_get_primary_image_handle)                \
  FUNCTION(getImage, heif_context_get_image_handle)                          \
  FUNCTION(handleRelease, heif_image_handle_release)                         \
  FUNCTION(isPremultiplied, heif_image_handle_is_premultiplied_alpha)        \
  FUNCTION(decodeImage, heif_decode_image)                                   \
  FUNCTION(hasChannel, heif_image_has_channel)                               \
  FUNCTION(channelWidth, heif_image_get_width)                               \
  FUNCTION(channelHeight, heif_image_get_height)                             \
  FUNCTION(channelDepth, heif_image_get_bits_per_pixel_range)                \
  FUNCTION(channelPlane, heif_image_get_plane_readonly)                      \
  FUNCTION(getWarnings, heif_image_get_decoding_warnings)                    \
  FUNCTION(imageRelease, heif_image_release)

typedef struct {
#define CHEIF_MEMBER(name, function) __typeof__(function) *_Nonnull name;
  CHEIF_FUNCTIONS(CHEIF_MEMBER)
#undef CHEIF_MEMBER
} CHEIFFunctions;

// Loads libheif and libde265 on the first call. NULL if one isn't installed or too old.
const CHEIFFunctions *_Nullable cheif_functions(void);

// The reason why `cheif_functions` is NULL.
const char *_Nonnull cheif_error(void);

#define CHEIF_WARNINGS 8
#define CHEIF_SIZES 2

// What is wrong with a coded picture.
typedef enum {
  CHEIF_NONE,
  // libde265 reports an error, whose number is in `code`.
  CHEIF_DAMAGED,
  // Its data end before its last pixel.
  CHEIF_INCOMPLETE,
  // It has no picture, or more than one, or one that depends on others.
  CHEIF_NOT_STILL,
  // It has none of the expected sizes.
  CHEIF_OTHER_SIZE,
  // It has more bits per sample than expected.
  CHEIF_OTHER_DEPTH,
  // It may refer to other pictures, and is too large for that.
  CHEIF_TOO_LARGE,
  CHEIF_TOO_LATE,
  CHEIF_NO_MEMORY,
} CHEIFFailure;

// Limits for the coded pictures of an image, and the errors found in them.
typedef struct {
  // Whether the pixels don't matter, so that the filters after decoding are skipped.
  bool is_proof;
  // The sizes that coded pictures may have: those of an image, or of its tiles, and of its alpha plane or its tiles.
  int widths[CHEIF_SIZES], heights[CHEIF_SIZES];
  int size_count;
  // The most bits that a sample may have.
  int depth;
  // Of the thread's processor time, in nanoseconds; 0: none.
  uint64_t deadline;
  CHEIFFailure failure;
  int code;
  // The size of the picture behind CHEIF_OTHER_SIZE.
  int width, height;
  // The numbers of libde265's harmless warnings.
  int warnings[CHEIF_WARNINGS];
  int warning_count;
} CHEIFDecoding;

// Decodes an image to planar RGB within the limits of `decoding`, on this thread alone.
struct heif_error cheif_decode(const struct heif_image_handle *_Nonnull handle, struct heif_image *_Nullable *_Nonnull image,
                               CHEIFDecoding *_Nonnull decoding);

// The text of an error or warning of libde265.
const char *_Nonnull cheif_codec_text(int code);

#endif

#endif
