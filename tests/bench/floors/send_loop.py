"""What `send_loop.c` does, where there is no C compiler: the same orders, by `socket.send`. A little dearer than C."""

import socket
import sys
import time


def main() -> None:
    """Take so many connections as the command line says, then carry out orders."""
    count = int(sys.argv[1])
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listening:
        print(listening.getsockname()[1], flush=True)
        sockets = [listening.accept()[0] for _ in range(count)]
    for sock in sockets:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)
    for line in sys.stdin:
        _, size, *pauses_us = map(int, line.split())
        event, at_s = b"x" * size, time.monotonic()
        for pause_us in pauses_us:
            for sock in sockets:
                sock.send(event)
            at_s += pause_us / 1e6
            time.sleep(max(0.0, at_s - time.monotonic()))
        print("done", flush=True)


if __name__ == "__main__":
    main()
