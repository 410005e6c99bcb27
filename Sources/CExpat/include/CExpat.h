#ifndef CEXPAT_H
#define CEXPAT_H

// Expat 2.4 or later, with a memory limit per parser: Expat itself keeps names of elements and attributes until the end, and a
// comment until its end, without a limit. Also iconv, which the Glibc module map lacks.

#include <expat.h>
#include <iconv.h>
#include <stddef.h>

// The memory that a parser uses and may use. It must not move while the parser exists.
typedef struct {
  size_t used, maximum;
} CExpatMemory;

// NULL if there is no memory. `encoding` overrides the declaration in the text; NULL: the declaration applies.
XML_Parser _Nullable cexpat_create(const char *_Nullable encoding, CExpatMemory *_Nonnull memory);
void cexpat_free(XML_Parser _Nonnull parser, CExpatMemory *_Nonnull memory);

// XML_Parse, which fails with XML_ERROR_NO_MEMORY if the parser exceeds its limit.
enum XML_Status cexpat_parse(
    XML_Parser _Nonnull parser, CExpatMemory *_Nonnull memory, const char *_Nullable bytes, int count, int is_last);

#endif
