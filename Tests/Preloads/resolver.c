/* Replaces the resolver of a program that preloads it. Names end in:
     .down     the name server doesn't respond (EAI_AGAIN)
     .broken   the name server fails (EAI_FAIL)
     .none     the name doesn't exist (EAI_NONAME)
     .asleep   the call never returns
     .many     hN.many is the loopback address 127.1.(N / 250).(N % 250 + 1)
   Other names use the real resolver. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int ends_in(const char *name, const char *end) {
  size_t length = strlen(name), wanted = strlen(end);
  return length > wanted && strcmp(name + length - wanted, end) == 0;
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  if (!real) real = (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
  char address[32];
  if (name) {
    if (ends_in(name, ".down")) return EAI_AGAIN;
    if (ends_in(name, ".broken")) return EAI_FAIL;
    if (ends_in(name, ".none")) return EAI_NONAME;
    while (ends_in(name, ".asleep")) pause();
    if (ends_in(name, ".many")) {
      int number = atoi(name + 1);
      snprintf(address, sizeof address, "127.1.%d.%d", number / 250, number % 250 + 1);
      name = address;
    }
  }
  return real(name, service, hints, found);
}
