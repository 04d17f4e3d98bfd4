#include "CLibmicrohttpd.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

/* The address as the kernel takes it; 0 when the text is none. */
static int parse_address(const hb_http_options *options, struct sockaddr_storage *address) {
  struct sockaddr_in *ipv4 = (struct sockaddr_in *)address;
  struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)address;
  memset(address, 0, sizeof *address);
  if (inet_pton(AF_INET, options->address, &ipv4->sin_addr) == 1) {
    ipv4->sin_family = AF_INET;
    ipv4->sin_port = htons(options->port);
    return 1;
  }
  if (inet_pton(AF_INET6, options->address, &ipv6->sin6_addr) == 1) {
    ipv6->sin6_family = AF_INET6;
    ipv6->sin6_port = htons(options->port);
    return 1;
  }
  return 0;
}

/* Leaves percent escapes alone: decoded here, an escaped slash would look like a real one, and an escaped NUL would cut
   the text short. Swift decodes, after the path is split. */
static size_t keep_escapes(void *context, struct MHD_Connection *connection, char *text) {
  (void)context;
  (void)connection;
  return strlen(text);
}

struct MHD_Daemon *hb_http_start(const hb_http_options *options, MHD_AccessHandlerCallback handler,
                                 MHD_RequestCompletedCallback completed, MHD_NotifyConnectionCallback connected,
                                 void *context, hb_http_failure *failure) {
  struct sockaddr_storage address;
  if (!parse_address(options, &address)) {
    *failure = HB_HTTP_BAD_ADDRESS;
    return NULL;
  }
  unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_ALLOW_SUSPEND_RESUME;
  if (address.ss_family == AF_INET6) flags |= MHD_USE_IPv6;
  /* A pool of one is not a pool to the library: it wants the option left out. */
  struct MHD_OptionItem pool[] = {
      {MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)options->thread_count, NULL},
      {MHD_OPTION_END, 0, NULL},
  };
  struct MHD_OptionItem *pool_options = options->thread_count > 1 ? pool : pool + 1;
  struct MHD_OptionItem tls[] = {
      {MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->certificate},
      {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->private_key},
      {MHD_OPTION_END, 0, NULL},
  };
  struct MHD_OptionItem *tls_options = tls + 2;
  if (options->certificate != NULL) {
    flags |= MHD_USE_TLS;
    tls_options = tls;
  }
  struct MHD_Daemon *daemon = MHD_start_daemon(
      flags, options->port, NULL, NULL, handler, context,
      MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&address,
      MHD_OPTION_CONNECTION_LIMIT, options->connection_limit,
      MHD_OPTION_CONNECTION_TIMEOUT, options->idle_timeout_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->connection_memory_bytes,
      MHD_OPTION_NOTIFY_COMPLETED, completed, context,
      MHD_OPTION_NOTIFY_CONNECTION, connected, context,
      MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL,
      MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_ARRAY, pool_options,
      MHD_OPTION_ARRAY, tls_options,
      MHD_OPTION_END);
  *failure = daemon == NULL ? HB_HTTP_NOT_STARTED : HB_HTTP_OK;
  return daemon;
}

uint16_t hb_http_port(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
  return info == NULL ? 0 : info->port;
}

int hb_http_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

int hb_http_client_number(struct MHD_Connection *connection, uint64_t *high, uint64_t *low) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == NULL || info->client_addr == NULL) return 0;
  if (info->client_addr->sa_family == AF_INET) {
    *high = 0;
    *low = UINT64_C(0xFFFF) << 32 | ntohl(((const struct sockaddr_in *)info->client_addr)->sin_addr.s_addr);
    return 1;
  }
  if (info->client_addr->sa_family != AF_INET6) return 0;
  const uint8_t *bytes = ((const struct sockaddr_in6 *)info->client_addr)->sin6_addr.s6_addr;
  *high = *low = 0;
  for (int index = 0; index < 8; index++) {
    *high = *high << 8 | bytes[index];
    *low = *low << 8 | bytes[8 + index];
  }
  return 1;
}

void hb_http_client_address(struct MHD_Connection *connection, char *text) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  text[0] = 0;
  if (info == NULL || info->client_addr == NULL) return;
  const void *address = info->client_addr->sa_family == AF_INET6
                            ? (const void *)&((const struct sockaddr_in6 *)info->client_addr)->sin6_addr
                            : (const void *)&((const struct sockaddr_in *)info->client_addr)->sin_addr;
  if (inet_ntop(info->client_addr->sa_family, address, text, HB_HTTP_ADDRESS_BYTES) == NULL) text[0] = 0;
}

int hb_http_quiesce(struct MHD_Daemon *daemon) { return MHD_quiesce_daemon(daemon); }
