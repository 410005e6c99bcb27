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
// The same with namespaces resolved: names are preceded by the namespace's URI and `separator`, if they have one.
XML_Parser _Nullable cexpat_create_ns(const char *_Nullable encoding, char separator, CExpatMemory *_Nonnull memory);
void cexpat_free(XML_Parser _Nonnull parser, CExpatMemory *_Nonnull memory);

// XML_Parse, which fails with XML_ERROR_NO_MEMORY if the parser exceeds its limit.
enum XML_Status cexpat_parse(
    XML_Parser _Nonnull parser, CExpatMemory *_Nonnull memory, const char *_Nullable bytes, int count, int is_last);

// The encoding that a parser needs regardless of the declaration: that of a byte order mark, or UTF-8 for the common misnomer "utf8".
// NULL: the declaration applies.
const char *_Nullable cexpat_encoding(const void *_Nullable bytes, size_t count);

// Lets a parser read the one- and two-byte encodings that iconv knows, besides its own.
void cexpat_use_iconv(XML_Parser _Nonnull parser);

#endif
