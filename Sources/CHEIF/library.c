#include "CHEIF.h"

#if __has_include(<libheif/heif.h>) && __has_include(<libde265/de265.h>)

#include "CHEIFCodec.h"

#include <CLoading.h>
#include <pthread.h>
#include <stdio.h>

static CHEIFFunctions functions;
static bool is_loaded;
static char error_message[CLOADING_ERROR_SIZE];

static bool load_functions(void) {
#define NAME(name, function) #function,
  static const char *const names[] = {CHEIF_FUNCTIONS(NAME)};
  static const char *const host_names[] = {HOST_FUNCTIONS(NAME)};
  static const char *const codec_names[] = {CODEC_FUNCTIONS(NAME)};
#define LOAD(library, names, functions) \
  cloading_load(library, names, sizeof names / sizeof *names, (void **)functions, error_message)
  return LOAD(CHEIF_LIBRARY, names, &functions) && LOAD(CHEIF_LIBRARY, host_names, &cheif_host) &&
         LOAD(CHEIF_CODEC_LIBRARY, codec_names, &cheif_codec);
}

static void load(void) {
  if (!load_functions()) return;
  // libde265 before version 1.1 prints if it doesn't accept the sizes of blocks in a sequence parameter set.
  cloading_silence("libde265.so.");
  struct heif_error error = cheif_host.register_decoder(&cheif_decoder);
  is_loaded = error.code == heif_error_Ok;
  if (!is_loaded) snprintf(error_message, sizeof error_message, CHEIF_LIBRARY ": %s", error.message);
}

static void load_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
}

const CHEIFFunctions *cheif_functions(void) {
  load_once();
  return is_loaded ? &functions : NULL;
}

const char *cheif_error(void) {
  load_once();
  return error_message;
}

const char *cheif_codec_text(int code) { return cheif_codec.error_text((de265_error)code); }

struct heif_error cheif_decode(const struct heif_image_handle *handle, struct heif_image **image, CHEIFDecoding *decoding) {
  cheif_decoding = decoding;
  // Planes have the sizes and depths of their pictures, which interleaved pixels of libheif 1.15 silently assume to be equal.
  struct heif_error error = functions.decodeImage(handle, image, heif_colorspace_RGB, heif_chroma_444, NULL);
  cheif_decoding = NULL;
  return error;
}

#endif
