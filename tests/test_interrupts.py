"""Signals that end the work: seen wherever they arrive, never lost, and never half-way a file."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator

import pytest

from steadytree._progress import (
    check_interrupt,
    interrupts_wait,
    remember_interrupt,
    stopped_by,
)


@pytest.fixture
def usual_interrupts() -> Iterator[None]:
    """Whatever the process that runs the tests does: under nohup, hang-ups are ignored."""
    usual = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("usual_interrupts")
def test_an_interrupt_that_got_lost_is_remembered() -> None:
    """As one that arrives while a compiled loop is loaded."""
    check_interrupt()  # nothing was asked
    with remember_interrupt():
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
    with remember_interrupt():
        check_interrupt()  # the next run starts afresh
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("usual_interrupts")
def test_what_stopped_a_run_does_not_stop_the_next_where_interrupts_are_ignored() -> None:
    with remember_interrupt(), contextlib.suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with remember_interrupt():
        check_interrupt()


@pytest.mark.usefixtures("usual_interrupts")
def test_who_ignores_interrupts_goes_on_doing_so() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with remember_interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        check_interrupt()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.usefixtures("usual_interrupts")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_all_that_end_a_run_arrive_as_an_interrupt(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    arrived = False
    with remember_interrupt():
        try:
            os.kill(os.getpid(), number)
            time.sleep(1)
        except KeyboardInterrupt:
            arrived = True
    assert arrived
    assert stopped_by() == number
    assert signal.getsignal(number) == before


@pytest.mark.usefixtures("usual_interrupts")
def test_a_step_that_has_to_be_whole_is() -> None:
    steps = []
    with remember_interrupt():
        with interrupts_wait():
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("whole")
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
    assert steps == ["whole"]


@pytest.mark.usefixtures("usual_interrupts")
def test_within_another_run_nothing_is_forgotten() -> None:
    with remember_interrupt():
        with remember_interrupt(), contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        with pytest.raises(KeyboardInterrupt):
            check_interrupt()
