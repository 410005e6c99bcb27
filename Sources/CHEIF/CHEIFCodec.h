#include <CHEIF.h>

#include <libde265/de265.h>
#include <libheif/heif_plugin.h>

// The functions that the decoder of pictures uses, of libde265 and of libheif.
#define CODEC_FUNCTIONS(FUNCTION)                                          \
  FUNCTION(error_text, de265_get_error_text)                               \
  FUNCTION(new_decoder, de265_new_decoder)                                 \
  FUNCTION(free_decoder, de265_free_decoder)                               \
  FUNCTION(set_allocation, de265_set_image_allocation_functions)           \
  FUNCTION(set_plane, de265_set_image_plane)                               \
  FUNCTION(plane_user_data, de265_get_image_plane_user_data)               \
  FUNCTION(set_parameter, de265_set_parameter_bool)                        \
  FUNCTION(push_NAL, de265_push_NAL)                                       \
  FUNCTION(flush_data, de265_flush_data)                                   \
  FUNCTION(decode, de265_decode)                                           \
  FUNCTION(next_picture, de265_get_next_picture)                           \
  FUNCTION(get_warning, de265_get_warning)                                 \
  FUNCTION(width, de265_get_image_width)                                   \
  FUNCTION(height, de265_get_image_height)                                 \
  FUNCTION(chroma_format, de265_get_chroma_format)                         \
  FUNCTION(depth, de265_get_bits_per_pixel)                                \
  FUNCTION(plane, de265_get_image_plane)                                   \
  FUNCTION(full_range, de265_get_image_full_range_flag)                    \
  FUNCTION(primaries, de265_get_image_colour_primaries)                    \
  FUNCTION(transfer, de265_get_image_transfer_characteristics)             \
  FUNCTION(matrix, de265_get_image_matrix_coefficients)

#define HOST_FUNCTIONS(FUNCTION)                                                \
  FUNCTION(register_decoder, heif_register_decoder_plugin)                      \
  FUNCTION(create_image, heif_image_create)                                     \
  FUNCTION(release_image, heif_image_release)                                   \
  FUNCTION(add_plane, heif_image_add_plane)                                     \
  FUNCTION(get_plane, heif_image_get_plane)                                     \
  FUNCTION(alloc_colors, heif_nclx_color_profile_alloc)                         \
  FUNCTION(free_colors, heif_nclx_color_profile_free)                           \
  FUNCTION(set_primaries, heif_nclx_color_profile_set_color_primaries)          \
  FUNCTION(set_transfer, heif_nclx_color_profile_set_transfer_characteristics)  \
  FUNCTION(set_matrix, heif_nclx_color_profile_set_matrix_coefficients)         \
  FUNCTION(set_colors, heif_image_set_nclx_color_profile)

#define CODEC_MEMBER(name, function) __typeof__(function) *name;
typedef struct {
  CODEC_FUNCTIONS(CODEC_MEMBER)
} CodecFunctions;
typedef struct {
  HOST_FUNCTIONS(CODEC_MEMBER)
} HostFunctions;

// Loaded by library.c before the decoder is registered.
extern CodecFunctions cheif_codec;
extern HostFunctions cheif_host;

// The decoder that libheif uses instead of its own, on threads that are in `cheif_decode`.
extern const struct heif_decoder_plugin cheif_decoder;
extern _Thread_local CHEIFDecoding *cheif_decoding;

// A coded picture: its NAL units, and its luma samples.
typedef struct {
  const uint8_t *data;
  size_t size;
  bool may_refer;
  int pictures;
  int width, height;
  uint8_t *luma;
  size_t luma_stride;
} Picture;

// Records why the picture can't be decoded; the error that is returned says nothing.
struct heif_error cheif_fail(CHEIFFailure failure);
struct heif_error cheif_damaged(int code);

// libde265's callbacks.
int cheif_get_buffer(de265_decoder_context *context, struct de265_image_spec *spec, struct de265_image *image, void *picture);
void cheif_release_buffer(de265_decoder_context *context, struct de265_image *image, void *picture);

// Whether a block still has its first contents. Coding tree blocks have at least 16 × 16 samples.
bool cheif_lacks_blocks(const Picture *picture);
