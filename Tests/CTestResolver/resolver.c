#define _GNU_SOURCE
#include "resolver.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct entry {
  char *name;
  char *next; // the answer to the next query
  struct entry *rest;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *entries;

static struct entry *find(const char *name) {
  for (struct entry *entry = entries; entry; entry = entry->rest)
    if (strcmp(entry->name, name) == 0) return entry;
  return NULL;
}

void test_resolver_set(const char *name, const char *answers) {
  pthread_mutex_lock(&lock);
  struct entry *entry = find(name);
  if (!entry) {
    entry = calloc(1, sizeof *entry);
    entry->name = strdup(name);
    entry->rest = entries;
    entries = entry;
  }
  entry->next = strdup(answers);
  pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void read_environment(void) {
  char *setting = getenv("PREWARM_TEST_RESOLVER"), *equals = setting ? strchr(setting, '=') : NULL;
  if (!equals) return;
  char *name = strndup(setting, equals - setting);
  test_resolver_set(name, equals + 1);
  free(name);
}

// The list for this query, which the caller must free; NULL for other names.
static char *take_answer(const char *name) {
  char *answer = NULL;
  pthread_mutex_lock(&lock);
  struct entry *entry = name ? find(name) : NULL;
  if (entry) {
    char *end = strchr(entry->next, ';');
    answer = end ? strndup(entry->next, end - entry->next) : strdup(entry->next);
    if (end) entry->next = end + 1;
  }
  pthread_mutex_unlock(&lock);
  return answer;
}

typedef int (*getaddrinfo_call)(const char *, const char *, const struct addrinfo *, struct addrinfo **);

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  getaddrinfo_call real = (getaddrinfo_call)dlsym(RTLD_NEXT, "getaddrinfo");
  char *answer = take_answer(name);
  if (!answer) return real(name, service, hints, result);
  struct addrinfo *first = NULL, **last = &first;
  int status = EAI_NONAME;
  char *state = NULL;
  for (char *address = strtok_r(answer, ",", &state); address; address = strtok_r(NULL, ",", &state)) {
    // Link lists of libc's own, so that its freeaddrinfo can free them.
    struct addrinfo *part = NULL;
    if (real(address, service, hints, &part) != 0) continue;
    status = 0;
    *last = part;
    while (*last) last = &(*last)->ai_next;
  }
  free(answer);
  *result = first;
  return status;
}

typedef int (*connect_call)(int, const struct sockaddr *, socklen_t);
typedef int (*name_call)(int, struct sockaddr *, socklen_t *);

// The original addresses of sockets that were redirected to 127.0.0.1, by descriptor.
#define SOCKETS 4096
static struct sockaddr_in led[SOCKETS];
static pthread_mutex_t led_mutex = PTHREAD_MUTEX_INITIALIZER;

static void lead(int descriptor, struct sockaddr_in address) {
  if (descriptor >= SOCKETS) return;
  pthread_mutex_lock(&led_mutex);
  led[descriptor] = address;
  pthread_mutex_unlock(&led_mutex);
}

int connect(int descriptor, const struct sockaddr *address, socklen_t length) {
  connect_call real = (connect_call)dlsym(RTLD_NEXT, "connect");
  if (address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in) && descriptor < SOCKETS) {
    struct sockaddr_in other = *(const struct sockaddr_in *)address;
    if (ntohl(other.sin_addr.s_addr) >> 24 == 11) {
      lead(descriptor, other);
      other.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      return real(descriptor, (struct sockaddr *)&other, sizeof other);
    }
  }
  lead(descriptor, (struct sockaddr_in){0});
  return real(descriptor, address, length);
}

int getpeername(int descriptor, struct sockaddr *address, socklen_t *length) {
  name_call real = (name_call)dlsym(RTLD_NEXT, "getpeername");
  int status = real(descriptor, address, length);
  struct sockaddr_in *peer = (struct sockaddr_in *)address;
  if (status != 0 || *length < sizeof *peer || peer->sin_family != AF_INET || descriptor >= SOCKETS) return status;
  // A later socket with the same number has another peer, which the port reveals.
  pthread_mutex_lock(&led_mutex);
  if (peer->sin_addr.s_addr == htonl(INADDR_LOOPBACK) && led[descriptor].sin_port == peer->sin_port) *peer = led[descriptor];
  pthread_mutex_unlock(&led_mutex);
  return status;
}
