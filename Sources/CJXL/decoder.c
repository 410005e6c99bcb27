#define _GNU_SOURCE
#include "CJXL.h"

// libjxl 0.7 uses the memory manager that it is given for its own state only, so a file of some bytes can make it allocate any amount,
// by splines or by hidden frames larger than the image; and it aborts the process if it gets no memory. So its calls of the
// allocators are counted here, and left by a jump before they exceed the limit.

#if __has_include(<jxl/decode.h>)

#include <CLoading.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>

struct CJXLDecoder {
  JxlDecoder *decoder;
  size_t used, allowed;
  uint64_t deadline;
  // The large blocks in use, which a jump may leave without an owner; it loses smaller ones, some kilobytes.
  void *blocks;
  bool has_jumped;
  jmp_buf exit;
};

#if defined(__GLIBC__)

#include <malloc.h>
#include <search.h>

// Only these are worth a jump; smaller ones may belong to the initialisation of something shared, which a jump would leave locked.
static const size_t large_block = 64 << 10;

static _Thread_local CJXLDecoder *current;

static int compare(const void *left, const void *right) { return left < right ? -1 : left > right; }

static void *counted_malloc(size_t size) {
  CJXLDecoder *decoder = current;
  if (decoder == NULL) return malloc(size);
  if (size >= large_block) {
    if (size > decoder->allowed - decoder->used) longjmp(decoder->exit, CJXL_TOO_LARGE);
    if (ccodec_is_late(decoder->deadline)) longjmp(decoder->exit, CJXL_TOO_LATE);
  }
  void *block = malloc(size);
  if (block == NULL) longjmp(decoder->exit, CJXL_OUT_OF_MEMORY);
  const size_t usable = malloc_usable_size(block);
  decoder->used = usable < decoder->allowed - decoder->used ? decoder->used + usable : decoder->allowed;
  if (size >= large_block) tsearch(block, &decoder->blocks, compare);
  return block;
}

static void counted_free(void *block) {
  CJXLDecoder *decoder = current;
  if (decoder != NULL && block != NULL) {
    const size_t usable = malloc_usable_size(block);
    decoder->used -= usable < decoder->used ? usable : decoder->used;
    if (usable >= large_block) tdelete(block, &decoder->blocks, compare);
  }
  free(block);
}

// What C++ calls for `new` and `delete`, whose defaults are `malloc` and `free`.
void cjxl_count_memory(const char *library) {
  const CLoadingReplacement replacements[] = {
      {"malloc", (void *)counted_malloc}, {"_Znwm", (void *)counted_malloc}, {"_Znam", (void *)counted_malloc},
      {"_ZnwmRKSt9nothrow_t", (void *)counted_malloc}, {"free", (void *)counted_free}, {"_ZdlPv", (void *)counted_free},
      {"_ZdaPv", (void *)counted_free}, {"_ZdlPvm", (void *)counted_free}, {"_ZdaPvm", (void *)counted_free},
  };
  cloading_replace(library, replacements, sizeof replacements / sizeof *replacements);
}

static void free_blocks(CJXLDecoder *decoder) {
  if (decoder->has_jumped) tdestroy(decoder->blocks, free);
}

#else

static _Thread_local CJXLDecoder *current;
void cjxl_count_memory(const char *library) { (void)library; }
static void free_blocks(CJXLDecoder *decoder) { (void)decoder; }

#endif

CJXLDecoder *cjxl_create(size_t most_bytes, uint64_t deadline) {
  CJXLDecoder *decoder = calloc(1, sizeof *decoder);
  if (decoder == NULL) return NULL;
  *decoder = (CJXLDecoder){.decoder = cjxl_functions()->create(NULL), .allowed = most_bytes, .deadline = deadline};
  if (decoder->decoder != NULL) return decoder;
  free(decoder);
  return NULL;
}

void cjxl_destroy(CJXLDecoder *decoder) {
  // Nothing is too much or too late now.
  decoder->allowed = SIZE_MAX;
  decoder->deadline = 0;
  current = decoder;
  if (setjmp(decoder->exit) == 0) cjxl_functions()->destroy(decoder->decoder);
  current = NULL;
  free_blocks(decoder);
  free(decoder);
}

JxlDecoder *cjxl_decoder(const CJXLDecoder *decoder) { return decoder->decoder; }

int cjxl_process(CJXLDecoder *decoder) {
  int status = setjmp(decoder->exit);
  if (status == 0) {
    current = decoder;
    status = (int)cjxl_functions()->processInput(decoder->decoder);
  } else {
    decoder->has_jumped = true;
  }
  current = NULL;
  return status;
}

#endif
