/* Measures the speed of the bare libraries: fetches every URL of a list and stores or discards the bodies, using only libcurl and LMDB.
     cc -O2 scripts/bench-limit.c -o bench-limit -lcurl -llmdb -lxxhash -lpthread
     ./bench-limit LIST TRANSFERS FOLDER|head|get|probe [--threads N] [CA-FILE | insecure]
   Each of N threads (1 by default) drives libcurl's multi interface over epoll with its share of the transfers. Another one writes the
   bodies that arrived meanwhile to LMDB, in one synced transaction; with a method instead of a folder bodies are discarded. A probe
   requests the first 64 KiB. It sends prewarm's headers and ignores those of responses; nothing is retried, reported or evicted.
   With a CA file it uses HTTP/2; with `insecure` it uses HTTP/1.1 and doesn't verify certificates. */
#include <curl/curl.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <xxhash.h>

static void require(bool good, const char *what) {
  if (good) return;
  fprintf(stderr, "bench-limit: %s failed\n", what);
  exit(1);
}

/* A body to write. */
typedef struct Body {
  struct Body *next;
  XXH128_hash_t key;
  size_t size, room;
  char *bytes;
} Body;

/* The bodies waiting to be written. */
static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  Body *first, **end;
  bool closed;
} waiting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &waiting.first, false};

/* Adds a body; NULL if no more will come. */
static void hand_over(Body *body) {
  pthread_mutex_lock(&waiting.lock);
  if (body) {
    *waiting.end = body;
    waiting.end = &body->next;
  } else {
    waiting.closed = true;
  }
  pthread_cond_signal(&waiting.changed);
  pthread_mutex_unlock(&waiting.lock);
}

/* Waits for bodies and takes all of them; NULL once it is closed and empty. */
static Body *take_all(void) {
  pthread_mutex_lock(&waiting.lock);
  while (!waiting.first && !waiting.closed) pthread_cond_wait(&waiting.changed, &waiting.lock);
  Body *all = waiting.first;
  waiting.first = NULL;
  waiting.end = &waiting.first;
  pthread_mutex_unlock(&waiting.lock);
  return all;
}

static void *write_all(void *folder) {
  MDB_env *environment;
  mkdir(folder, 0755);
  require(!mdb_env_create(&environment), "mdb_env_create");
  require(!mdb_env_set_mapsize(environment, 64ul << 30), "mdb_env_set_mapsize");
  require(!mdb_env_open(environment, folder, MDB_NOTLS | MDB_NORDAHEAD, 0644), "mdb_env_open");
  for (Body *body; (body = take_all());) {
    MDB_txn *transaction;
    MDB_dbi table;
    require(!mdb_txn_begin(environment, NULL, 0, &transaction), "mdb_txn_begin");
    require(!mdb_dbi_open(transaction, NULL, 0, &table), "mdb_dbi_open");
    while (body) {
      MDB_val key = {sizeof body->key, &body->key}, value = {body->size, body->bytes};
      require(!mdb_put(transaction, table, &key, &value, 0), "mdb_put");
      Body *written = body;
      body = body->next;
      free(written->bytes);
      free(written);
    }
    require(!mdb_txn_commit(transaction), "mdb_txn_commit");
  }
  mdb_env_close(environment);
  return NULL;
}

/* The list, from which all threads take URLs. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *list;
static const char *authorities;
/* How URLs are only checked; NULL if bodies are stored. */
static const char *method;
static struct curl_slist *headers;

/* A thread that makes transfers. */
typedef struct {
  pthread_t thread;
  CURLM *multi;
  int descriptor;  /* of epoll */
  long timeout_ms; /* what libcurl wants to be woken after */
  long transfers, failed;
} Engine;

static int watch_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *known) {
  (void)easy;
  Engine *engine = context;
  static char seen;
  struct epoll_event event = {.data.fd = socket};
  if (what != CURL_POLL_OUT) event.events |= EPOLLIN;
  if (what != CURL_POLL_IN) event.events |= EPOLLOUT;
  if (what == CURL_POLL_REMOVE) return epoll_ctl(engine->descriptor, EPOLL_CTL_DEL, socket, NULL), 0;
  require(!epoll_ctl(engine->descriptor, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event), "epoll_ctl");
  if (!known) curl_multi_assign(engine->multi, socket, &seen);
  return 0;
}

static int note_timeout(CURLM *multi, long milliseconds, void *context) {
  (void)multi;
  ((Engine *)context)->timeout_ms = milliseconds;
  return 0;
}

static size_t receive(char *bytes, size_t one, size_t count, void *context) {
  Body *body = *(Body **)context;
  size_t size = one * count;
  if (method) return size;
  if (body->size + size > body->room) {
    body->room = (body->size + size) * 2;
    body->bytes = realloc(body->bytes, body->room);
    require(body->bytes, "realloc");
  }
  memcpy(body->bytes + body->size, bytes, size);
  body->size += size;
  return size;
}

/* Starts the next URL of the list; returns false at its end. */
static bool start(CURLM *multi, CURL *easy, Body **slot) {
  char url[8192];
  pthread_mutex_lock(&list_lock);
  bool has_next = fgets(url, sizeof url, list);
  pthread_mutex_unlock(&list_lock);
  if (!has_next) return false;
  url[strcspn(url, "\n")] = 0;
  if (!method) {
    *slot = calloc(1, sizeof **slot);
    require(*slot, "calloc");
    (*slot)->key = XXH3_128bits(url, strlen(url));
  }
  curl_easy_setopt(easy, CURLOPT_URL, url);
  return curl_multi_add_handle(multi, easy) == CURLM_OK;
}

static CURL *make_transfer(Body **slot) {
  CURL *easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 131072L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, slot);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, slot);
  curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "identity");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
  if (method && !strcmp(method, "head")) curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
  if (method && !strcmp(method, "probe")) curl_easy_setopt(easy, CURLOPT_RANGE, "0-65535");
  if (authorities && !strcmp(authorities, "insecure")) {
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  } else if (authorities) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, authorities);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L); /* one connection for all of them */
  }
  return easy;
}

static void *fetch_all(void *context) {
  Engine *engine = context;
  long active = 0;
  int running, left;
  CURLM *multi = engine->multi = curl_multi_init();
  engine->descriptor = epoll_create1(0);
  engine->timeout_ms = -1;
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, engine->transfers * 2);
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, engine);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, note_timeout);
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, engine);

  Body **slots = calloc(engine->transfers, sizeof *slots);
  while (active < engine->transfers && start(multi, make_transfer(&slots[active]), &slots[active])) active++;
  while (active) {
    struct epoll_event events[64];
    int count = epoll_wait(engine->descriptor, events, 64, engine->timeout_ms < 0 ? 1000 : (int)engine->timeout_ms);
    for (int i = 0; i < count; i++) {
      uint32_t what = events[i].events;
      int ready = (what & EPOLLOUT ? CURL_CSELECT_OUT : 0) | (what & (EPOLLIN | EPOLLHUP | EPOLLERR) ? CURL_CSELECT_IN : 0);
      curl_multi_socket_action(multi, events[i].data.fd, ready, &running);
    }
    if (count == 0 || engine->timeout_ms == 0) {
      if (!engine->timeout_ms) engine->timeout_ms = 1; /* spares a busy loop until libcurl says more */
      curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
      CURL *easy = message->easy_handle;
      CURLcode result = message->data.result;
      Body **slot;
      long status;
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &slot);
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      curl_multi_remove_handle(multi, easy);
      if (result || status / 100 != 2) engine->failed++;
      else if (!method) hand_over(*slot);
      if (!start(multi, easy, slot)) active--;
    }
  }
  return NULL;
}

int main(int argc, char **argv) {
  require(argc >= 4 && (list = fopen(argv[1], "r")), "reading the list");
  long transfers = atol(argv[2]), threads = 1, failed = 0;
  char **rest = argv + 4;
  if (argc > 5 && !strcmp(argv[4], "--threads")) {
    threads = atol(argv[5]);
    rest += 2;
  }
  authorities = *rest;
  if (!strcmp(argv[3], "head") || !strcmp(argv[3], "get") || !strcmp(argv[3], "probe")) method = argv[3];
  require(threads > 0 && threads <= transfers, "reading the number of threads");
  curl_global_init(CURL_GLOBAL_ALL);
  headers = curl_slist_append(NULL, "Accept: image/avif,image/webp,image/jxl,image/heic,image/svg+xml,image/*;q=0.8");
  headers = curl_slist_append(headers, "User-Agent: prewarm/0.1.0");
  pthread_t writer;
  require(method || !pthread_create(&writer, NULL, write_all, argv[3]), "pthread_create");
  Engine *engines = calloc(threads, sizeof *engines);
  for (long i = 0; i < threads; i++) {
    engines[i].transfers = transfers / threads + (i < transfers % threads);
    require(!pthread_create(&engines[i].thread, NULL, fetch_all, &engines[i]), "pthread_create");
  }
  for (long i = 0; i < threads; i++) {
    pthread_join(engines[i].thread, NULL);
    failed += engines[i].failed;
  }
  hand_over(NULL);
  if (!method) pthread_join(writer, NULL);
  if (failed) fprintf(stderr, "bench-limit: %ld transfers failed\n", failed);
  return failed != 0;
}
