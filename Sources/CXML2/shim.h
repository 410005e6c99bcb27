// libxml2 2.9 or later (Debian: libxml2-dev). Nothing needs a wrapper: its push parser is plain functions and structs.
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
