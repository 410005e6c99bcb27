// For MAP_ANONYMOUS.
#define _GNU_SOURCE
#include "CGumbo.h"

#include <setjmp.h>
#include <stdint.h>
#include <sys/mman.h>

// Nodes grow upwards from the start of the block, everything else downwards from its end. gumbo's allocator doesn't say what it
// allocates, so a text or a vector of a node's size is among the nodes: their fields are checked before use, and only ever decide about
// limits. For the same reason up to 16 attributes more than the limit may pass.
typedef struct {
  const char *text;
  size_t count;
  CGumboLimits limits;
  char *start, *nodes_end, *rest_start;
  // The greatest offset of a start tag.
  size_t last_tag;
  unsigned attributes;
  const GumboAttribute *attribute;
  jmp_buf exit;
} Parse;

static void give_up(Parse *parse, CGumboEnd end) { longjmp(parse->exit, end); }

static int is_node(const Parse *parse, const void *address) {
  const char *byte = address;
  return byte >= parse->start && byte < parse->nodes_end && (size_t)(byte - parse->start) % sizeof(GumboNode) == 0;
}

// Checks the newest node. gumbo creates an element before it inserts the text that precedes it, so an element may have no parent yet;
// then the depth is checked at that text.
static void check_newest(Parse *parse) {
  if (parse->nodes_end == parse->start) return;
  const GumboNode *node = (const GumboNode *)(parse->nodes_end - sizeof(GumboNode));
  if (node->type == GUMBO_NODE_ELEMENT || node->type == GUMBO_NODE_TEMPLATE) {
    uintptr_t offset = (uintptr_t)node->v.element.original_tag.data - (uintptr_t)parse->text;
    if (offset < parse->count && offset > parse->last_tag) parse->last_tag = offset;
  }
  unsigned depth = 0;
  for (const GumboNode *parent = node->parent; is_node(parse, parent); parent = parent->parent) {
    if (++depth > parse->limits.depth) give_up(parse, CGUMBO_TOO_DEEP);
  }
}

// The tag isn't a node yet, so the text is cut at its last attribute: an unfinished tag at the end isn't an element.
static void give_up_in_tag(Parse *parse) {
  uintptr_t offset = (uintptr_t)parse->attribute->original_name.data - (uintptr_t)parse->text;
  if (offset < parse->count && offset > parse->last_tag) parse->last_tag = offset;
  give_up(parse, CGUMBO_TOO_MANY_ATTRIBUTES);
}

static void *allocate(void *context, size_t size) {
  Parse *parse = context;
  int is_node_size = size == sizeof(GumboNode);
  if (is_node_size) {
    check_newest(parse);
    parse->attributes = 0;
  } else if (size == sizeof(GumboAttribute) && ++parse->attributes > parse->limits.attributes) {
    give_up_in_tag(parse);
  }
  size_t room = (size_t)(parse->rest_start - parse->nodes_end);
  if (room < 16 || size > room - 16) give_up(parse, CGUMBO_TOO_LARGE);
  if (is_node_size) {
    void *node = parse->nodes_end;
    parse->nodes_end += sizeof(GumboNode);
    return node;
  }
  parse->rest_start -= (size + 7) & ~(size_t)7;
  if (size == sizeof(GumboAttribute)) parse->attribute = (const GumboAttribute *)parse->rest_start;
  return parse->rest_start;
}

// Memory isn't reused: vectors and texts double, so they leave at most as much as they use.
static void deallocate(void *context, void *block) {
  (void)context;
  (void)block;
}

// Its locals don't change after setjmp, so they survive longjmp.
static CGumboEnd run(Parse *parse, const GumboNode **document) {
  GumboOptions options = kGumboDefaultOptions;
  options.allocator = allocate;
  options.deallocator = deallocate;
  options.userdata = parse;
  options.max_errors = 0;
  int end = setjmp(parse->exit);
  if (end != 0) return (CGumboEnd)end;
  *document = gumbo_parse_with_options(&options, parse->text, parse->count)->document;
  return CGUMBO_COMPLETE;
}

CGumboTree cgumbo_parse(const char *text, size_t count, CGumboLimits limits) {
  CGumboTree tree = {.end = CGUMBO_NO_MEMORY};
  // Pages of the block that aren't used take no memory, and are zero.
  size_t reserved = (limits.bytes + 4095) & ~(size_t)4095;
  void *memory = mmap(NULL, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return tree;
  Parse parse = {.text = text, .count = count, .limits = limits};
  parse.start = parse.nodes_end = memory;
  parse.rest_start = parse.start + reserved;
  tree.memory = memory;
  tree.reserved = reserved;
  tree.end = run(&parse, &tree.document);
  tree.last_tag = parse.last_tag;
  tree.used = reserved - (size_t)(parse.rest_start - parse.nodes_end);
  return tree;
}

void cgumbo_free(CGumboTree tree) {
  if (tree.memory != NULL) munmap(tree.memory, tree.reserved);
}
