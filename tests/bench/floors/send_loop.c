/* The floor of a fan-out: nothing but send() of the same bytes to one socket after another.
 *
 * usage   send_loop COUNT   prints its port, takes COUNT connections, then reads orders from stdin
 * order   EVENTS BYTES PAUSE_US...: so many events of that size to every socket, and a pause from the beginning of
 *         each to the next one for each of them; answers "done"
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define BYTES_MAX 65536

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void pause_from(struct timespec *at, long pause_us) {
  at->tv_nsec += pause_us * 1000;
  at->tv_sec += at->tv_nsec / 1000000000L;
  at->tv_nsec %= 1000000000L;
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, at, NULL);
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: send_loop COUNT\n");
    return 2;
  }
  int count = atoi(argv[1]), one = 1;
  int listening = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  if (listening < 0 || bind(listening, (struct sockaddr *)&address, size) || listen(listening, 1024)) fail("listen");
  if (getsockname(listening, (struct sockaddr *)&address, &size)) fail("getsockname");
  printf("%d\n", ntohs(address.sin_port));
  fflush(stdout);
  int *sockets = calloc(count, sizeof *sockets);
  for (int i = 0; i < count; i++) {
    if ((sockets[i] = accept(listening, NULL, NULL)) < 0) fail("accept");
    setsockopt(sockets[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  static char event[BYTES_MAX];
  memset(event, 'x', sizeof event);
  long events, bytes, pause_us;
  while (scanf("%ld %ld", &events, &bytes) == 2 && bytes <= BYTES_MAX) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    for (long n = 0; n < events; n++) {
      for (int i = 0; i < count; i++)
        if (send(sockets[i], event, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) != bytes) fail("send");
      if (scanf("%ld", &pause_us) != 1) fail("scanf");
      pause_from(&at, pause_us);
    }
    printf("done\n");
    fflush(stdout);
  }
  return 0;
}
