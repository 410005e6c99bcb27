#include "CExpat.h"

#include <stdlib.h>
#ifdef __APPLE__
#include <malloc/malloc.h>
#define malloc_usable_size malloc_size
#else
#include <malloc.h>
#endif

// Expat's memory functions have no context argument, so each call of Expat sets it here first.
static _Thread_local CExpatMemory *current;

static CExpatMemory *begin(CExpatMemory *memory) {
  CExpatMemory *previous = current;
  current = memory;
  return previous;
}

static void *count(void *block) {
  if (block != NULL) current->used += malloc_usable_size(block);
  return block;
}

static void *allocate(size_t size) {
  return size > current->maximum - current->used ? NULL : count(malloc(size));
}

static void release(void *block) {
  if (block != NULL) current->used -= malloc_usable_size(block);
  free(block);
}

static void *reallocate(void *block, size_t size) {
  size_t before = block == NULL ? 0 : malloc_usable_size(block);
  if (size > current->maximum - current->used + before) return NULL;
  void *moved = realloc(block, size);
  if (moved == NULL) return NULL;
  current->used -= before;
  return count(moved);
}

// XML_ParserCreate_MM resolves namespaces only if there is a separator.
static XML_Parser create(const char *encoding, CExpatMemory *memory, const char *separator) {
  static const XML_Memory_Handling_Suite functions = {allocate, reallocate, release};
  CExpatMemory *previous = begin(memory);
  XML_Parser parser = XML_ParserCreate_MM(encoding, &functions, separator);
  begin(previous);
  return parser;
}

XML_Parser cexpat_create(const char *encoding, CExpatMemory *memory) { return create(encoding, memory, NULL); }

XML_Parser cexpat_create_ns(const char *encoding, char separator, CExpatMemory *memory) {
  return create(encoding, memory, &separator);
}

void cexpat_free(XML_Parser parser, CExpatMemory *memory) {
  CExpatMemory *previous = begin(memory);
  XML_ParserFree(parser);
  begin(previous);
}

enum XML_Status cexpat_parse(XML_Parser parser, CExpatMemory *memory, const char *bytes, int count, int is_last) {
  CExpatMemory *previous = begin(memory);
  enum XML_Status status = XML_Parse(parser, bytes, count, is_last);
  begin(previous);
  return status;
}
