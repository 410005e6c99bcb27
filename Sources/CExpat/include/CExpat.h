#ifndef CEXPAT_H
#define CEXPAT_H

// Expat 2.4 or later, whose parsers hold no more memory than they are given: names of elements and attributes are kept until the end,
// and a comment until its own, without a limit of Expat's. Beside it iconv, which the Glibc module map leaves out.

#include <expat.h>
#include <iconv.h>
#include <stddef.h>

// What one parser holds and may hold. It stays where it is for as long as the parser lives.
typedef struct {
  size_t used, maximum;
} CExpatMemory;

// NULL where there is no memory. `encoding` counts over what the text says; NULL: the text counts.
XML_Parser _Nullable cexpat_create(const char *_Nullable encoding, CExpatMemory *_Nonnull memory);
void cexpat_free(XML_Parser _Nonnull parser, CExpatMemory *_Nonnull memory);

// XML_Parse, which ends in XML_ERROR_NO_MEMORY where the parser would hold more than it may.
enum XML_Status cexpat_parse(
    XML_Parser _Nonnull parser, CExpatMemory *_Nonnull memory, const char *_Nullable bytes, int count, int is_last);

#endif
