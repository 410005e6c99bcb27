// hiredis 0.14 or later (Debian: libhiredis-dev), used to connect and to parse replies.
#include <hiredis/hiredis.h>

// The maximum number of elements of an array in a reply. hiredis 0.14 trusts any length that a server declares, and aborts the
// process if there isn't enough memory.
enum { REDIS_MAXIMUM_ELEMENTS = 1 << 20 };

#if HIREDIS_MAJOR >= 1
static inline redisReader *redis_create_reader(void) {
  redisReader *reader = redisReaderCreate();
  if (reader) reader->maxelements = REDIS_MAXIMUM_ELEMENTS;
  return reader;
}
#else
// hiredis' own functions, found through a reader's privdata, with a limit added to one of them.
static inline redisReplyObjectFunctions *redis_own_functions(const redisReadTask *task) {
  return (redisReplyObjectFunctions *)task->privdata;
}
static void *redis_create_string(const redisReadTask *task, char *text, size_t length) {
  return redis_own_functions(task)->createString(task, text, length);
}
static void *redis_create_array(const redisReadTask *task, int elements) {
  return elements > REDIS_MAXIMUM_ELEMENTS ? NULL : redis_own_functions(task)->createArray(task, elements);
}
static void *redis_create_integer(const redisReadTask *task, long long value) {
  return redis_own_functions(task)->createInteger(task, value);
}
static void *redis_create_nil(const redisReadTask *task) { return redis_own_functions(task)->createNil(task); }

static inline redisReader *redis_create_reader(void) {
  static redisReplyObjectFunctions bounded = {redis_create_string, redis_create_array, redis_create_integer, redis_create_nil,
                                              freeReplyObject};
  redisReader *reader = redisReaderCreate();
  if (reader) {
    reader->privdata = reader->fn;
    reader->fn = &bounded;
  }
  return reader;
}
#endif
