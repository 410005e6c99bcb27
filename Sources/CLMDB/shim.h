// LMDB, the key-value store under the disk cache. The header is used as it is.
#include <lmdb.h>
