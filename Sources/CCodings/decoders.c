#include "CCodings.h"

#include <CLoading.h>
#include <pthread.h>
#include <stdlib.h>

// The structures and values of zstd.h and brotli/decode.h that are part of their binary interfaces.
typedef struct {
  void *bytes;
  size_t size, position;
} Buffer;
enum { BROTLI_ERROR, BROTLI_SUCCESS };
enum { ZSTD_WINDOW_LOG_MAX = 100 };
// Content codings use windows of at most 8 MB (RFC 9659).
enum { WINDOW_LOG = 23 };

typedef struct {
  void *(*create)(void *allocate, void *release, void *context);
  void (*destroy)(void *state);
  int (*decompress)(void *state, size_t *input_size, const uint8_t **input, size_t *output_size, uint8_t **output, size_t *total);
  int (*error)(const void *state);
  const char *(*describe)(int error);
} Brotli;

typedef struct {
  void *(*create)(void);
  size_t (*destroy)(void *state);
  size_t (*set)(void *state, int parameter, int value);
  size_t (*decompress)(void *state, Buffer *output, Buffer *input);
  unsigned (*is_error)(size_t result);
  const char *(*describe)(size_t result);
} Zstd;

static Brotli brotli;
static Zstd zstd;
static bool has_brotli, has_zstd;

static void load(void) {
  static const char *const brotli_names[] = {"BrotliDecoderCreateInstance", "BrotliDecoderDestroyInstance",
                                             "BrotliDecoderDecompressStream", "BrotliDecoderGetErrorCode", "BrotliDecoderErrorString"};
  static const char *const zstd_names[] = {"ZSTD_createDCtx",       "ZSTD_freeDCtx", "ZSTD_DCtx_setParameter",
                                           "ZSTD_decompressStream", "ZSTD_isError",  "ZSTD_getErrorName"};
  char error[CLOADING_ERROR_SIZE];
  has_brotli = cloading_load(CLOADING_FILE("brotlidec", "1"), brotli_names, 5, (void **)&brotli, error);
  has_zstd = cloading_load(CLOADING_FILE("zstd", "1"), zstd_names, 6, (void **)&zstd, error);
}

struct CCodingsDecoder {
  CCodingsKind kind;
  void *state;
};

bool ccodings_has(CCodingsKind kind) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return kind == CCODINGS_BROTLI ? has_brotli : has_zstd;
}

CCodingsDecoder *ccodings_create(CCodingsKind kind) {
  if (!ccodings_has(kind)) return NULL;
  CCodingsDecoder *decoder = malloc(sizeof *decoder);
  if (decoder == NULL) return NULL;
  decoder->kind = kind;
  decoder->state = kind == CCODINGS_BROTLI ? brotli.create(NULL, NULL, NULL) : zstd.create();
  if (decoder->state == NULL) {
    free(decoder);
    return NULL;
  }
  if (kind == CCODINGS_ZSTD) zstd.set(decoder->state, ZSTD_WINDOW_LOG_MAX, WINDOW_LOG);
  return decoder;
}

void ccodings_free(CCodingsDecoder *decoder) {
  if (decoder->kind == CCODINGS_BROTLI) {
    brotli.destroy(decoder->state);
  } else {
    zstd.destroy(decoder->state);
  }
  free(decoder);
}

CCodingsStatus ccodings_step(CCodingsDecoder *decoder, const uint8_t **input, size_t *input_size, uint8_t *output, size_t output_size,
                             size_t *written, const char **error) {
  if (decoder->kind == CCODINGS_BROTLI) {
    size_t left = output_size;
    int result = brotli.decompress(decoder->state, input_size, input, &left, &output, NULL);
    *written = output_size - left;
    if (result == BROTLI_ERROR) *error = brotli.describe(brotli.error(decoder->state));
    return result == BROTLI_ERROR ? CCODINGS_INVALID : result == BROTLI_SUCCESS ? CCODINGS_END : CCODINGS_MORE;
  }
  Buffer in = {(void *)*input, *input_size, 0}, out = {output, output_size, 0};
  size_t result = zstd.decompress(decoder->state, &out, &in);
  *input += in.position;
  *input_size -= in.position;
  *written = out.position;
  if (zstd.is_error(result)) {
    *error = zstd.describe(result);
    return CCODINGS_INVALID;
  }
  return result == 0 ? CCODINGS_END : CCODINGS_MORE;
}
