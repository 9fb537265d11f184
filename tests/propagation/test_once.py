"""Values that are made once in a process."""

from __future__ import annotations

import os
import signal
import threading
import warnings

import pytest

from graphsent.kernels.once import Once


def test_threads_wait_for_what_is_made_but_not_for_what_exists():
    calls, begun, go = [], threading.Event(), threading.Event()

    def make(name):
        calls.append(name)
        if name == "slow":
            begun.set()
            assert go.wait(20)
        return name.upper()

    once, found = Once(make), []
    assert once("quick") == "QUICK"
    threads = [threading.Thread(target=lambda: found.append(once("slow"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert begun.wait(20)
    assert once("quick") == "QUICK"
    go.set()
    for thread in threads:
        thread.join()
    assert found == ["SLOW"] * 3
    assert calls == ["quick", "slow"]


def test_after_an_error_the_value_is_made_again():
    answers = [KeyboardInterrupt(), 2]

    def make():
        answer = answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    once = Once(make)
    with pytest.raises(KeyboardInterrupt):
        once()
    assert once() == once() == 2
    assert not answers


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_processes_forked_while_a_thread_makes_a_value():
    begun, go, parent = threading.Event(), threading.Event(), os.getpid()

    def make(name):
        if os.getpid() == parent:
            begun.set()
            assert go.wait(60)
        return name

    once = Once(make)
    thread = threading.Thread(target=once, args=("slow",))
    thread.start()
    assert begun.wait(20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads
        child = os.fork()
    if not child:
        signal.alarm(20)  # ends it if it waits
        os._exit(once("slow") != "slow" or once("other") != "other")
    status = os.waitpid(child, 0)[1]
    go.set()
    thread.join()
    assert status == 0
