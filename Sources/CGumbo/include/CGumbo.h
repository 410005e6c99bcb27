#ifndef CGUMBO_H
#define CGUMBO_H

// gumbo 0.10.1 with limits. By itself it has none:
// - its memory is up to 90 times the text's: 128 bytes for an element, 104 for an attribute, and more for their vectors and texts;
// - each tag walks the open elements, so a megabyte of <div> takes minutes;
// - each attribute is compared with the others of its tag, so a million attributes take minutes;
// - gumbo_destroy_output recurses per level, so it overflows the stack.
// A tree here has one block of memory, which is freed at once. A parse that exceeds a limit is given up inside gumbo's allocator.

#include <gumbo.h>
#include <stddef.h>

typedef struct {
  // The memory of a tree.
  size_t bytes;
  // The number of nested elements.
  unsigned depth;
  // The number of attributes of a tag.
  unsigned attributes;
} CGumboLimits;

typedef enum { CGUMBO_COMPLETE, CGUMBO_TOO_LARGE, CGUMBO_TOO_DEEP, CGUMBO_TOO_MANY_ATTRIBUTES, CGUMBO_NO_MEMORY } CGumboEnd;

typedef struct {
  CGumboEnd end;
  // The offset of the last start tag in the tree, or one in the tag with too many attributes. If the parse was given up, the text
  // before it has a tree within the limits.
  size_t last_tag;
  // The memory that gumbo used.
  size_t used;
  // NULL unless complete. It points into the text and into the tree's memory.
  const GumboNode *_Nullable document;
  void *_Nullable memory;
  size_t reserved;
} CGumboTree;

CGumboTree cgumbo_parse(const char *_Nonnull text, size_t count, CGumboLimits limits);
void cgumbo_free(CGumboTree tree);

#endif
