"""Links: private connections between two processes of weft on one host, by the side of gRPC.

A link is a Unix socket, whose name is random and is told by the worker service to whoever may ask it. A link
carries one step at a time, and whoever gives up a step hangs up: the other side cancels it then. Where there
is no link, or none any more, everything goes through gRPC.

Nobody reads a link but the thread that waits for what comes over it, so that no thread has to wake another.
"""

from __future__ import annotations

import os
import secrets
import select
import socket
import struct
import sys
import threading
from collections.abc import Callable
from typing import Any

from weft.distributed import link_frames
from weft.distributed.link_frames import Frame

# Whether tasks of weft on one host have links.
enabled = sys.platform == "linux"

# What the frames are.
RUN, TENSOR, TENSORS, DEAD_TENSOR, DONE = 1, 2, 3, 4, 5

_GREETING = b"weft link 1\n"
_BUFFER = 1 << 16  # for what is small, and for the beginning of what is large
_ROOM = 4 << 20  # that the kernel may give for bytes under way
_MOST_PIECES = 512  # in one call
_MOST_IDLE = 16  # links that are kept to a task
_GREETING_SECONDS = 5.0


class HungUp(ConnectionError):
    """The other side has ended the link, or this one has."""


class Link:
    """A connection. One thread at a time reads it, and one writes."""

    def __init__(self, sock: socket.socket):
        sock.settimeout(None)
        for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            sock.setsockopt(socket.SOL_SOCKET, option, _ROOM)
        self._sock = sock
        self._buffer = bytearray(_BUFFER)
        self._view = memoryview(self._buffer)
        self._start = self._end = 0  # what has been received and not been taken
        self._unsent: list[Any] | None = None  # of a frame whose sender reads meanwhile
        self.closed = False

    def fileno(self) -> int:
        return self._sock.fileno()

    @property
    def has_more(self) -> bool:
        """Whether something has been received that was not read yet."""
        return self._end > self._start

    def send(
        self,
        kind: int,
        text: str = "",
        message: bytes = b"",
        tensors: Any = (),
        meanwhile: Callable[[], bool] | None = None,
    ) -> None:
        """Sends a frame. While the other side does not take it, `meanwhile` reads what comes from there, until
        it says that there is no more."""
        pieces = link_frames.written(kind, text, message, tensors)
        try:
            self._send_all(pieces, meanwhile)
        except BaseException:
            self.closed = True  # in the middle of a frame: nobody can use it again
            raise

    def _send_all(self, pieces: list[Any], meanwhile: Callable[[], bool] | None) -> None:
        self._send_some(pieces)
        poll = None
        while pieces:
            if poll is None:
                poll = select.poll()
                poll.register(self._sock, select.POLLOUT | (select.POLLIN if meanwhile else 0))
            event = poll.poll()[0][1]
            if event != select.POLLIN:
                self._send_some(pieces)
            elif meanwhile is not None:
                self._unsent = pieces
                try:
                    more = meanwhile()
                finally:
                    self._unsent = None
                if not more:
                    meanwhile = None
                    poll.modify(self._sock, select.POLLOUT)

    def _send_some(self, pieces: list[Any]) -> None:
        """Sends what the kernel takes at once."""
        try:
            while pieces:
                sent = self._sock.sendmsg(pieces[:_MOST_PIECES], (), socket.MSG_DONTWAIT)
                while pieces and sent >= len(pieces[0]):
                    sent -= len(pieces.pop(0))
                if sent:
                    pieces[0] = memoryview(pieces[0])[sent:]
        except BlockingIOError:
            pass
        except OSError as e:
            raise HungUp(str(e)) from None

    def read(self) -> Frame:
        """The next frame; waits for it."""
        view = self._view
        while self._end - self._start < link_frames.HEAD_SIZE:
            if self._start:
                left = self._end - self._start
                view[:left] = bytes(view[self._start : self._end])
                self._start, self._end = 0, left
            self._end += self._received(view[self._end :])
        head = view[self._start : self._start + link_frames.HEAD_SIZE]
        self._start += link_frames.HEAD_SIZE
        try:
            kind, text, message, count, table = link_frames.sizes(head)
            body = memoryview(self._take(text + message + table))
            at = text + message
            tensors = link_frames.tensors(body[at:], count, self._fill) if count else []
            return Frame(kind, str(body[:text], "utf-8"), bytes(body[text:at]), tensors)
        except HungUp:
            raise
        except Exception as e:  # of a peer that does not keep to the format
            self.close()
            raise HungUp(f"the link has brought what is no frame: {e}") from None

    def _take(self, size: int) -> Any:
        """The next bytes; valid until the next are taken."""
        if size <= self._end - self._start:
            out = self._view[self._start : self._start + size]
            self._start += size
            # What is filled from the buffer while these are read lies behind them.
            return out
        whole = bytearray(size)
        self._fill(memoryview(whole))
        return whole

    def _fill(self, memory: memoryview) -> None:
        """Receives into memory."""
        have = min(self._end - self._start, len(memory))
        memory[:have] = self._view[self._start : self._start + have]
        self._start += have
        while have < len(memory):
            have += self._received(memory[have:], socket.MSG_WAITALL)

    def _received(self, memory: memoryview, flags: int = 0) -> int:
        try:
            if self._unsent:
                self._send_until_more(self._unsent)
            count = self._sock.recv_into(memory, 0, 0 if self._unsent else flags)
        except OSError as e:
            raise HungUp(str(e)) from None
        if not count:
            raise HungUp("the other side has hung up")
        return count

    def _send_until_more(self, pieces: list[Any]) -> None:
        """Goes on sending until there is something to receive, or nothing left to send: the other side may be
        in the middle of a frame too, and wait for this."""
        poll = select.poll()
        poll.register(self._sock, select.POLLIN | select.POLLOUT)
        while pieces and not poll.poll()[0][1] & ~select.POLLOUT:
            self._send_some(pieces)

    def stop_reading(self) -> None:
        """Ends the wait of whoever reads, who finds the link hung up. What is sent still arrives."""
        self._shutdown(socket.SHUT_RD)

    def hang_up(self) -> None:
        """Ends the link for both sides, and the waits of those who use it."""
        self.closed = True
        self._shutdown(socket.SHUT_RDWR)

    def _shutdown(self, how: int) -> None:
        try:
            self._sock.shutdown(how)
        except OSError:
            pass

    def close(self) -> None:
        """Frees the link; nobody uses it any more."""
        self.closed = True
        self._shutdown(socket.SHUT_RDWR)  # who still waits in it must not wait for ever
        self._sock.close()

    def __del__(self) -> None:
        self._sock.close()


def _same_user(sock: socket.socket) -> bool:
    """Whether a process of the same user is at the other end."""
    packed = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return struct.unpack("3i", packed)[1] == os.getuid()


# -- the side that opens links ----------------------------------------------------------------------------


class Links:
    """The links to one task: those that no step uses, and new ones as they are needed."""

    def __init__(self, name: str):
        self.name = name
        self._idle: list[Link] = []
        self._lock = threading.Lock()

    def take(self) -> Link | None:
        """A link for a step; None where the task cannot be reached by one."""
        while True:
            with self._lock:
                link = self._idle.pop() if self._idle else None
            if link is None:
                return self._open()
            if _is_quiet(link):
                return link
            link.close()

    def _open(self) -> Link | None:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Nothing here waits for the other side, which may have stopped: the step has a limit of time.
            sock.setblocking(False)
            sock.connect("\0" + self.name)
            if _same_user(sock):
                sock.sendall(_GREETING)
                return Link(sock)
        except OSError:  # another host, another network, or a task that has gone or takes no more
            pass
        sock.close()
        return None

    def give_back(self, link: Link) -> None:
        """Keeps a link for another step."""
        with self._lock:
            if not link.closed and len(self._idle) < _MOST_IDLE:
                self._idle.append(link)
                return
        link.close()

    def close(self) -> None:
        """Ends the links that no step uses."""
        with self._lock:
            idle, self._idle = self._idle, []
        for link in idle:
            link.close()


def _is_quiet(link: Link) -> bool:
    """Whether an idle link is as it was left: nothing has come, not even its end."""
    poll = select.poll()
    poll.register(link, select.POLLIN)
    return not link.has_more and not poll.poll(0)


# -- the side that is called ------------------------------------------------------------------------------


class LinkListener:
    """What takes links at a server, and hands each to `serve` in a thread of its own. It also tells each link's
    `on_hang_up` when the other side has gone while nobody reads."""

    def __init__(self, serve: Callable[[Any, Link], None], start: Callable[..., Any]):
        self._serve, self._start = serve, start
        self.name = f"weft-{secrets.token_hex(16)}"
        self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._sock.bind("\0" + self.name)
        self._sock.listen(128)
        self._epoll = select.epoll()
        self._epoll.register(self._sock, select.EPOLLIN)
        self._served: dict[int, Any] = {}
        self._lock = threading.Lock()
        self._stopped = False
        threading.Thread(target=self._watch, daemon=True, name="weft-links").start()

    def _watch(self) -> None:
        while True:
            for fd, _ in self._epoll.poll():
                if fd == self._sock.fileno():
                    if self._stopped:
                        self._sock.close()
                        self._epoll.close()
                        return
                    self._accept()
                    continue
                with self._lock:
                    served = self._served.get(fd)
                if served is not None:
                    served.on_hang_up()

    def _accept(self) -> None:
        try:
            sock, _ = self._sock.accept()
        except OSError:
            return
        self._start(self._greet, sock)

    def _greet(self, sock: socket.socket) -> None:
        try:
            sock.settimeout(_GREETING_SECONDS)
            if not _same_user(sock):
                raise OSError("a stranger")
            if sock.recv(len(_GREETING), socket.MSG_WAITALL) != _GREETING:
                raise OSError("no greeting")
        except OSError:
            sock.close()
            return
        self._serve(self, Link(sock))

    def watch(self, link: Link, served: Any) -> None:
        """Begins to watch for the end of a link."""
        with self._lock:
            if self._stopped:
                link.close()
                return
            self._served[link.fileno()] = served
            self._epoll.register(link, select.EPOLLRDHUP | select.EPOLLET)

    def forget(self, link: Link) -> None:
        """Closes a link."""
        with self._lock:
            if self._served.pop(link.fileno(), None) is not None and not self._stopped:
                self._epoll.unregister(link)
            link.close()

    def stop(self) -> None:
        """Hangs up all links, and takes no more."""
        with self._lock:
            self._stopped = True
            served = list(self._served.values())
        self._sock.shutdown(socket.SHUT_RDWR)  # wakes the thread that watches
        for one in served:
            one.link.hang_up()
