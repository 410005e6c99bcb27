/* Measures the speed of the bare libraries: fetches every URL of a list and stores the bodies, using only libcurl and LMDB.
     cc -O2 scripts/bench-limit.c -o bench-limit -lcurl -llmdb -lxxhash -lpthread
     ./bench-limit LIST TRANSFERS FOLDER [CA-FILE]
   One thread drives libcurl's multi interface over epoll. A second one writes the bodies that arrived meanwhile to LMDB, in one
   synced transaction. Headers are ignored, and nothing is retried, reported or evicted. With a CA file it uses HTTP/2. */
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

static FILE *list;
static int descriptor;       /* of epoll */
static long timeout_ms = -1; /* what libcurl wants to be woken after */

static int watch_socket(CURL *easy, curl_socket_t socket, int what, void *context, void *known) {
  (void)easy, (void)context;
  static char seen;
  struct epoll_event event = {.data.fd = socket};
  if (what != CURL_POLL_OUT) event.events |= EPOLLIN;
  if (what != CURL_POLL_IN) event.events |= EPOLLOUT;
  if (what == CURL_POLL_REMOVE) return epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, NULL), 0;
  require(!epoll_ctl(descriptor, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event), "epoll_ctl");
  if (!known) curl_multi_assign(context, socket, &seen);
  return 0;
}

static int note_timeout(CURLM *multi, long milliseconds, void *context) {
  (void)multi, (void)context;
  timeout_ms = milliseconds;
  return 0;
}

static size_t receive(char *bytes, size_t one, size_t count, void *context) {
  Body *body = *(Body **)context;
  size_t size = one * count;
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
  static char url[8192];
  if (!fgets(url, sizeof url, list)) return false;
  url[strcspn(url, "\n")] = 0;
  *slot = calloc(1, sizeof **slot);
  require(*slot, "calloc");
  (*slot)->key = XXH3_128bits(url, strlen(url));
  curl_easy_setopt(easy, CURLOPT_URL, url);
  return curl_multi_add_handle(multi, easy) == CURLM_OK;
}

static CURL *make_transfer(Body **slot, const char *authorities) {
  CURL *easy = curl_easy_init();
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, 131072L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, slot);
  curl_easy_setopt(easy, CURLOPT_PRIVATE, slot);
  if (authorities) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, authorities);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L); /* one connection for all of them */
  }
  return easy;
}

int main(int argc, char **argv) {
  require(argc >= 4 && (list = fopen(argv[1], "r")), "reading the list");
  long transfers = atol(argv[2]), failed = 0, active = 0;
  int running, left;
  pthread_t writer;
  curl_global_init(CURL_GLOBAL_ALL);
  CURLM *multi = curl_multi_init();
  descriptor = epoll_create1(0);
  curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, transfers * 2);
  curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, multi);
  curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, note_timeout);
  require(!pthread_create(&writer, NULL, write_all, argv[3]), "pthread_create");

  Body **slots = calloc(transfers, sizeof *slots);
  while (active < transfers && start(multi, make_transfer(&slots[active], argc > 4 ? argv[4] : NULL), &slots[active])) active++;
  while (active) {
    struct epoll_event events[64];
    int count = epoll_wait(descriptor, events, 64, timeout_ms < 0 ? 1000 : (int)timeout_ms);
    for (int i = 0; i < count; i++) {
      uint32_t what = events[i].events;
      int ready = (what & EPOLLOUT ? CURL_CSELECT_OUT : 0) | (what & (EPOLLIN | EPOLLHUP | EPOLLERR) ? CURL_CSELECT_IN : 0);
      curl_multi_socket_action(multi, events[i].data.fd, ready, &running);
    }
    if (count == 0 || timeout_ms == 0) curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &left));) {
      CURL *easy = message->easy_handle;
      CURLcode result = message->data.result;
      Body **slot;
      long status;
      curl_easy_getinfo(easy, CURLINFO_PRIVATE, &slot);
      curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
      curl_multi_remove_handle(multi, easy);
      if (result || status != 200) failed++;
      else hand_over(*slot);
      if (!start(multi, easy, slot)) active--;
    }
  }
  hand_over(NULL);
  pthread_join(writer, NULL);
  if (failed) fprintf(stderr, "bench-limit: %ld transfers failed\n", failed);
  return failed != 0;
}
