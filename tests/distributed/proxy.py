"""A network between two tasks that a test cuts, heals and slows down."""

import contextlib
import socket
import threading
import time


class Proxy:
    """Listens at an address and passes on to another what comes, in both directions.

    While the network is cut nothing is passed on, and nothing is lost: as with a real one, whose ends send
    again what was not acknowledged. New connections are accepted, and get no answer.
    """

    def __init__(self, address):
        host, _, port = address.removeprefix("grpc://").rpartition(":")
        self._to = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "localhost:%d" % self._listener.getsockname()[1]
        self._open = threading.Event()
        self._open.set()
        self.delay = 0.0  # seconds that each piece takes
        self.count = 0  # bytes that were passed on
        self._over = False
        self._sockets = []
        self._threads = []
        self._start(self._accept)

    def _start(self, function, *args):
        thread = threading.Thread(target=function, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def cut(self):
        self._open.clear()

    def heal(self):
        self._open.set()

    def hang_up(self):
        """Ends the connections that there are."""
        for s in self._sockets:
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(near)
            self._start(self._connect, near)

    def _connect(self, near):
        self._open.wait()
        try:
            far = socket.create_connection(self._to)
        except OSError:
            near.close()
            return
        self._sockets.append(far)
        if self._over:
            far.close()
        for s in (near, far):  # what adds delays of its own is `delay`
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._start(self._pass_on, near, far)
        self._pass_on(far, near)

    def _pass_on(self, source, to):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 16):
                self.count += len(piece)
                if self.delay:
                    time.sleep(self.delay)
                self._open.wait()
                to.sendall(piece)
        for s in (source, to):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._over = True
        self._open.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()
        for thread in self._threads:
            thread.join()
        for s in self._sockets:
            s.close()
