// libcurl's option functions are variadic, which Swift can't call; each of these wrappers has a fixed argument type.
#include <curl/curl.h>
#include <string.h>

// Options of a transfer: numbers (`long`), text (copied by libcurl), and objects, buffers and header lists (owned by the caller).
static inline CURLcode curl_set_long(CURL *easy, CURLoption option, long value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}
static inline CURLcode curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

// Callbacks of a transfer, each with its context: body bytes, header lines, opening and closing a socket, a connection about to be used.
typedef size_t (*curl_bytes_callback)(char *bytes, size_t one, size_t count, void *context);
static inline CURLcode curl_set_body_callback(CURL *easy, curl_bytes_callback call, void *context) {
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
  return curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, call);
}
static inline CURLcode curl_set_header_callback(CURL *easy, curl_bytes_callback call, void *context) {
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
  return curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, call);
}
static inline CURLcode curl_set_open_socket_callback(CURL *easy, curl_opensocket_callback call, void *context) {
  curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
  return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, call);
}
static inline CURLcode curl_set_close_socket_callback(CURL *easy, curl_closesocket_callback call, void *context) {
  curl_easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, context);
  return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, call);
}
static inline CURLcode curl_set_prerequest_callback(CURL *easy, curl_prereq_callback call, void *context) {
  curl_easy_setopt(easy, CURLOPT_PREREQDATA, context);
  return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, call);
}

// Properties of a transfer: status and error numbers (`long`), byte counts and times (`curl_off_t`), text (owned by libcurl), lists
// (freed by the caller), and the pointer stored with it.
static inline CURLcode curl_get_long(CURL *easy, CURLINFO info, long *value) { return curl_easy_getinfo(easy, info, value); }
static inline CURLcode curl_get_offset(CURL *easy, CURLINFO info, curl_off_t *value) {
  return curl_easy_getinfo(easy, info, value);
}
static inline CURLcode curl_get_text(CURL *easy, CURLINFO info, char **value) { return curl_easy_getinfo(easy, info, value); }
static inline CURLcode curl_get_list(CURL *easy, CURLINFO info, struct curl_slist **value) {
  return curl_easy_getinfo(easy, info, value);
}
// Sets `end` to the time when the server's certificate expires; -1 if the transfer has none, since its connection was open before.
static inline CURLcode curl_get_certificate_end(CURL *easy, curl_off_t *end) {
  struct curl_certinfo *certificates = NULL;
  *end = -1;
  CURLcode code = curl_easy_getinfo(easy, CURLINFO_CERTINFO, &certificates);
  if (code != CURLE_OK || !certificates || certificates->num_of_certs < 1) return code;
  // The first one is the server's own.
  for (struct curl_slist *line = certificates->certinfo[0]; line; line = line->next) {
    static const char name[] = "Expire date:";
    if (strncmp(line->data, name, sizeof name - 1) == 0) *end = curl_getdate(line->data + sizeof name - 1, NULL);
  }
  return code;
}
static inline CURLcode curl_get_pointer(CURL *easy, CURLINFO info, void **value) { return curl_easy_getinfo(easy, info, value); }

// Options of a multi handle: numbers, and the two callbacks of its socket interface.
static inline CURLMcode curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
  return curl_multi_setopt(multi, option, value);
}
static inline CURLMcode curl_multi_set_socket_callback(CURLM *multi, curl_socket_callback call, void *context) {
  curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
  return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, call);
}
static inline CURLMcode curl_multi_set_timer_callback(CURLM *multi, curl_multi_timer_callback call, void *context) {
  curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
  return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, call);
}

// Data shared between transfers, and the callbacks that lock it.
static inline CURLSHcode curl_share_set_data(CURLSH *share, curl_lock_data data) {
  return curl_share_setopt(share, CURLSHOPT_SHARE, data);
}
static inline void curl_share_set_locks(
  CURLSH *share, curl_lock_function lock, curl_unlock_function unlock, void *context) {
  curl_share_setopt(share, CURLSHOPT_USERDATA, context);
  curl_share_setopt(share, CURLSHOPT_LOCKFUNC, lock);
  curl_share_setopt(share, CURLSHOPT_UNLOCKFUNC, unlock);
}
