/* A small face of GNU libmicrohttpd without its variadic functions, which Swift cannot call. */
#ifndef HANDBILL_CLIBMICROHTTPD_H
#define HANDBILL_CLIBMICROHTTPD_H

#include <microhttpd.h>
#include <stddef.h>
#include <stdint.h>

typedef struct hb_http_options {
  const char *address; /* an IPv4 or IPv6 address in text */
  uint16_t port;       /* 0: any free one */
  unsigned int thread_count;
  unsigned int connection_limit;
  unsigned int idle_timeout_seconds;
  size_t connection_memory_bytes; /* holds the request's line and headers */
  const char *certificate;        /* PEM, with what is between it and the authority; NULL: without TLS */
  const char *private_key;        /* PEM */
} hb_http_options;

typedef enum hb_http_failure {
  HB_HTTP_OK = 0,
  HB_HTTP_BAD_ADDRESS = 1,
  HB_HTTP_NOT_STARTED = 2 /* errno says why */
} hb_http_failure;

/* Starts a daemon with a pool of threads that wait with epoll, and whose connections can be suspended. */
struct MHD_Daemon *hb_http_start(const hb_http_options *options, MHD_AccessHandlerCallback handler,
                                 MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback connected,
                                 void *context, hb_http_failure *failure);

/* The port listened on; 0 when it is not known. */
uint16_t hb_http_port(struct MHD_Daemon *daemon);

/* The connection's socket; -1 when it is not known. */
int hb_http_socket(struct MHD_Connection *connection);

/* Writes the other side's IP address as text, at most HB_HTTP_ADDRESS_BYTES with the NUL at the end; empty when it is not
   known. */
#define HB_HTTP_ADDRESS_BYTES 64
void hb_http_client_address(struct MHD_Connection *connection, char *text);

/* The other side's IP address as a number of 128 bits, an IPv4 address as the part of IPv6 that stands for it. Returns 0
   when it is not known. */
int hb_http_client_number(struct MHD_Connection *connection, uint64_t *high, uint64_t *low);

/* Stops taking new connections; those that are open go on. The socket returned, unless it is negative, is to be
   closed after MHD_stop_daemon: threads may use it until then. */
int hb_http_quiesce(struct MHD_Daemon *daemon);

/* How Swift names the members of the library's enumerations depends on their spelling; these names are ours. */
static const enum MHD_Result hb_http_yes = MHD_YES;
static const enum MHD_Result hb_http_no = MHD_NO;
static const enum MHD_ValueKind hb_http_header_kind = MHD_HEADER_KIND;
static const enum MHD_ValueKind hb_http_query_kind = MHD_GET_ARGUMENT_KIND;
static const enum MHD_ConnectionNotificationCode hb_http_connection_started = MHD_CONNECTION_NOTIFY_STARTED;
static const enum MHD_ResponseMemoryMode hb_http_copy = MHD_RESPMEM_MUST_COPY;

#endif
