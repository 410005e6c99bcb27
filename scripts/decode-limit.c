/* Decodes images with the bare libraries, on one thread per core, and discards the pixels: the upper limit of the speed of
   verification. Makes every pixel, of 3 or 4 bytes; exits with 1 if a file can't be decoded.
   clang -O2 decode-limit.c -o decode-limit -lavif -lgif -ljpeg -lpng -lwebp -lpthread && ./decode-limit [-e] FILE-OF-PATHS
   -e: decode JPEG at an eighth of its size: reads all codes, but makes only a 64th of the pixels. */
#include <avif/avif.h>
#include <fcntl.h>
#include <gif_lib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jpeglib.h>
#include <png.h>
#include <webp/decode.h>

typedef struct { unsigned char *bytes; size_t room; } Buffer;  /* reused from image to image */
typedef struct { const unsigned char *bytes; size_t count, at; } Input;

static char **paths;
static size_t path_count;
static atomic_size_t next_path;
static int jpeg_eighths = 8;

static _Noreturn void fail(const char *path, const char *why) {
  fprintf(stderr, "%s: %s\n", path, why);
  exit(1);
}

static unsigned char *reserve(Buffer *buffer, size_t count) {
  if (buffer->room >= count) return buffer->bytes;
  free(buffer->bytes);
  if (!(buffer->bytes = malloc(count))) fail("memory", "out of memory");
  buffer->room = count;
  return buffer->bytes;
}

static Input read_file(const char *path, Buffer *file) {
  struct stat status;
  int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 || fstat(descriptor, &status) != 0) fail(path, "cannot be opened");
  size_t count = (size_t)status.st_size, done = 0;
  unsigned char *bytes = reserve(file, count);
  while (done < count) {
    ssize_t part = read(descriptor, bytes + done, count - done);
    if (part <= 0) fail(path, "cannot be read");
    done += (size_t)part;
  }
  close(descriptor);
  return (Input){bytes, count, 0};
}

static size_t take(Input *input, void *bytes, size_t count) {
  if (count > input->count - input->at) count = input->count - input->at;
  memcpy(bytes, input->bytes + input->at, count);
  input->at += count;
  return count;
}

static void decode_jpeg(const char *path, Input input, Buffer *pixels) {
  struct jpeg_decompress_struct jpeg;
  struct jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);  /* ends the process by itself */
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, input.bytes, input.count);
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = JCS_RGB;
  jpeg.scale_num = (unsigned)jpeg_eighths;
  jpeg.scale_denom = 8;
  jpeg_start_decompress(&jpeg);
  JSAMPROW row = reserve(pixels, (size_t)jpeg.output_width * 3);
  while (jpeg.output_scanline < jpeg.output_height) jpeg_read_scanlines(&jpeg, &row, 1);
  jpeg_finish_decompress(&jpeg);
  if (errors.num_warnings) fail(path, "libjpeg warns");
  jpeg_destroy_decompress(&jpeg);
}

static void read_png(png_structp png, png_bytep bytes, size_t count) {
  if (take(png_get_io_ptr(png), bytes, count) < count) png_error(png, "it is cut");
}

static void decode_png(const char *path, Input input, Buffer *pixels, Buffer *rows) {
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
  png_infop info = png_create_info_struct(png);
  if (setjmp(png_jmpbuf(png))) fail(path, "libpng cannot decode it");
  png_set_read_fn(png, &input, read_png);
  png_read_info(png, info);
  png_set_expand(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
  size_t height = png_get_image_height(png, info), stride = png_get_rowbytes(png, info);
  unsigned char *memory = reserve(pixels, height * stride);
  png_bytep *row = (png_bytep *)reserve(rows, height * sizeof *row);
  for (size_t y = 0; y < height; y++) row[y] = memory + y * stride;
  png_read_image(png, row);
  png_read_end(png, info);
  png_destroy_read_struct(&png, &info, NULL);
}

static void decode_webp(const char *path, Input input, Buffer *pixels) {
  int width, height;
  if (!WebPGetInfo(input.bytes, input.count, &width, &height)) fail(path, "libwebp cannot read its size");
  size_t count = (size_t)width * (size_t)height * 4;
  if (!WebPDecodeRGBAInto(input.bytes, input.count, reserve(pixels, count), count, width * 4)) fail(path, "libwebp cannot decode it");
}

static int read_gif(GifFileType *gif, GifByteType *bytes, int count) { return (int)take(gif->UserData, bytes, (size_t)count); }

static void decode_gif(const char *path, Input input) {
  int error;
  GifFileType *gif = DGifOpen(&input, read_gif, &error);
  if (!gif || DGifSlurp(gif) == GIF_ERROR) fail(path, "giflib cannot decode it");
  DGifCloseFile(gif, &error);
}

static void decode_avif(const char *path, Input input, Buffer *pixels) {
  avifDecoder *decoder = avifDecoderCreate();
  decoder->maxThreads = 1;
  if (avifDecoderSetIOMemory(decoder, input.bytes, input.count) || avifDecoderParse(decoder)) fail(path, "libavif cannot parse it");
  while (avifDecoderNextImage(decoder) == AVIF_RESULT_OK) {
    avifRGBImage rgb;
    avifRGBImageSetDefaults(&rgb, decoder->image);
    rgb.depth = 8;
    rgb.rowBytes = rgb.width * 4;
    rgb.pixels = reserve(pixels, (size_t)rgb.rowBytes * rgb.height);
    if (avifImageYUVToRGB(decoder->image, &rgb) != AVIF_RESULT_OK) fail(path, "libavif cannot convert it");
  }
  if (decoder->imageIndex + 1 != decoder->imageCount) fail(path, "libavif cannot decode it");
  avifDecoderDestroy(decoder);
}

static void *work(void *unused) {
  Buffer file = {0}, pixels = {0}, rows = {0};
  for (size_t index; (index = atomic_fetch_add(&next_path, 1)) < path_count;) {
    const char *path = paths[index], *extension = strrchr(path, '.');
    Input input = read_file(path, &file);
    if (!extension) fail(path, "has no extension");
    else if (!strcmp(extension, ".jpg")) decode_jpeg(path, input, &pixels);
    else if (!strcmp(extension, ".png")) decode_png(path, input, &pixels, &rows);
    else if (!strcmp(extension, ".webp")) decode_webp(path, input, &pixels);
    else if (!strcmp(extension, ".gif")) decode_gif(path, input);
    else if (!strcmp(extension, ".avif")) decode_avif(path, input, &pixels);
    else fail(path, "has an unknown extension");
  }
  free(file.bytes), free(pixels.bytes), free(rows.bytes);
  return unused;
}

int main(int count, char **arguments) {
  if (count == 3 && !strcmp(arguments[1], "-e")) jpeg_eighths = 1, arguments++, count--;
  FILE *list = count == 2 ? fopen(arguments[1], "r") : NULL;
  if (!list) fail("decode-limit [-e] FILE-OF-PATHS", "wrong usage, or cannot open the file");
  char *line = NULL;
  size_t room = 0;
  for (ssize_t length; (length = getline(&line, &room, list)) > 0;) {
    if (line[length - 1] == '\n') line[length - 1] = 0;
    if (!(paths = realloc(paths, (path_count + 1) * sizeof *paths))) fail("memory", "out of memory");
    paths[path_count++] = strdup(line);
  }
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  pthread_t threads[cores];
  for (long core = 0; core < cores; core++)
    if (pthread_create(&threads[core], NULL, work, NULL)) fail("thread", "cannot be started");
  for (long core = 0; core < cores; core++) pthread_join(threads[core], NULL);
  printf("%zu images\n", path_count);
}
