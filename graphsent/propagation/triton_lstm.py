r"""What Tree-LSTMs do beside products, in Triton's language: once a level, forward and backward.

.. math::
    c = \sigma(i) * \tanh(u) + \textstyle\sum_k \sigma(f_k) * c_k, \qquad
    h = \sigma(o) * \tanh(c)

A program has one node and a block of the columns of its state. It hands the new h on to all
successors of the node, so that no level has to gather what it multiplies, and it collects the
gradients that successors have left, in the same order every time. Memories :math:`c_k` are read
where they are.

Gates are side by side in the order of the cells' weights: i, o, u, f (one for each slot), or i, u,
f without output gate. ``FORGET`` is the number of the first f. Pointers are to whole buffers, rows
of a level begin at ``first_row``, and nothing is specialized to lengths or addresses: there is one
kernel for all batches.

* ``h``, ``c``, ``dresult_h``, ``dresult_c``: (num_nodes, SIZE) by position.
* ``start_h``, ``start_c`` and their gradients: (num_sources, SIZE).
* ``rows``, ``rows_h``, ``rows_c``: the states that are read, or their gradients, (places, SIZE), a
  place for each slot of the inner nodes or for each edge.
* ``source``: (places,) node that is read there, num_nodes for none.
* ``first_sent``, ``last_sent``, ``sent``: the places where each node is read, see ``Successors``.
* ``first_edge``: (inner nodes + 1,) the first edge to each.
* ``inputs``: (inner nodes, blocks * SIZE), or one row, where ``input_stride`` is 0.
* ``bias``: (gates * SIZE,), or None.
* ``sums``, ``gates`` and their gradients: (inner nodes or edges, gates * SIZE).

Only this module imports Triton.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl


def _kernel(function: Callable[..., None]) -> Any:
    """A kernel that is not built anew for multiples of 16, or for 1."""
    parameters = inspect.signature(function).parameters.values()
    varying = [each.name for each in parameters if each.annotation is each.empty]
    return triton.jit(function, do_not_specialize=varying)


@triton.jit
def _read(pointer, inside):
    """Numbers of 32 bits at least, zeros outside."""
    value = tl.load(pointer, mask=inside, other=0.0)
    if value.dtype != tl.float64:
        value = value.to(tl.float32)
    return value


@triton.jit
def _logistic(x):
    return 1 / (1 + tl.exp(-x))


@triton.jit
def _tanh(x):
    return 2 * _logistic(2 * x) - 1


@triton.jit
def _sum_of_gate(sums, inputs, bias, columns, inside, gate, block, SIZE: tl.constexpr):
    """Of the product, the inputs and the bias, if there is one."""
    total = _read(sums + gate * SIZE + columns, inside)
    total += _read(inputs + block * SIZE + columns, inside)
    if bias is not None:
        total += _read(bias + gate * SIZE + columns, inside)
    return total


@triton.jit
def _memory(c, child, num_nodes, columns, SIZE: tl.constexpr):
    """That of a node, zeros for no node."""
    width = tl.where(child < num_nodes, SIZE, 0)
    return _read(c + child * SIZE + columns, columns < width)


@triton.jit
def _hand_on(value, rows, first_sent, last_sent, sent, node, columns, inside, SIZE: tl.constexpr):
    """Writes a node's value to the rows of all of its successors."""
    for number in range(tl.load(first_sent + node), tl.load(last_sent + node)):
        tl.store(rows + tl.load(sent + number) * SIZE + columns, value, mask=inside)


@triton.jit
def _collected(
    results, rows, first_sent, last_sent, sent, node, columns, inside, SIZE: tl.constexpr
):
    """The gradient of a node's result and those in the rows of its successors."""
    total = _read(results + node * SIZE + columns, inside)
    for number in range(tl.load(first_sent + node), tl.load(last_sent + node)):
        total += _read(rows + tl.load(sent + number) * SIZE + columns, inside)
    return total


@triton.jit
def _finish(c, sum_o, h_to, c_to, inside, OUTPUT: tl.constexpr):
    """Stores c, and returns h with the activated output gate."""
    h, o = _tanh(c), sum_o
    if OUTPUT:
        o = _logistic(sum_o)
        h *= o
    tl.store(c_to, c, mask=inside)
    tl.store(h_to, h, mask=inside)
    return h, o


@triton.jit
def _gate_gradients(dh, dc, c, i, o, u, OUTPUT: tl.constexpr):
    """Gradients of c and of the sums of i, o and u."""
    tanh_c = _tanh(c)
    do = dh * tanh_c * o * (1 - o)
    if OUTPUT:
        dh *= o
    dc += dh * (1 - tanh_c * tanh_c)
    return dc, dc * u * i * (1 - i), do, dc * i * (1 - u * u)


@triton.jit
def _load_gates(row, inside, SIZE: tl.constexpr, OUTPUT: tl.constexpr):
    """i, o and u of a row. Without output gate o is what nobody uses."""
    u = _read(row + (1 + OUTPUT) * SIZE, inside)
    return _read(row, inside), _read(row + SIZE, inside), u


@triton.jit
def _store_gates(row, i, o, u, inside, SIZE: tl.constexpr, OUTPUT: tl.constexpr):
    tl.store(row, i, mask=inside)
    if OUTPUT:
        tl.store(row + SIZE, o, mask=inside)
    tl.store(row + (1 + OUTPUT) * SIZE, u, mask=inside)


@_kernel
def start(
    start_h, start_c, h, c, rows, first_sent, last_sent, sent,
    SIZE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """States of the first level: copies them, and hands h on."""
    node = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside, at = columns < SIZE, node * SIZE + columns
    value = tl.load(start_h + at, mask=inside)
    tl.store(h + at, value, mask=inside)
    tl.store(c + at, tl.load(start_c + at, mask=inside), mask=inside)
    _hand_on(value, rows, first_sent, last_sent, sent, node, columns, inside, SIZE)


@_kernel
def start_gradient(
    dresult_h, dresult_c, rows_h, rows_c, first_sent, last_sent, sent, dstart_h, dstart_c,
    SIZE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Gradients of the states of the first level."""
    node = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside, at = columns < SIZE, node * SIZE + columns
    dh = _collected(dresult_h, rows_h, first_sent, last_sent, sent, node, columns, inside, SIZE)
    dc = _collected(dresult_c, rows_c, first_sent, last_sent, sent, node, columns, inside, SIZE)
    tl.store(dstart_h + at, dh, mask=inside)
    tl.store(dstart_c + at, dc, mask=inside)


@_kernel
def nary(
    sums, inputs, bias, source, h, c, rows, first_sent, last_sent, sent,
    first_row, num_sources, num_nodes, input_stride,
    SIZE: tl.constexpr, COUNT: tl.constexpr, OUTPUT: tl.constexpr, SHARED: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """N-ary Tree-LSTM: puts gates in the place of their sums; makes states and hands h on.

    ``SHARED``: all f have one block of the inputs.
    """
    FORGET: tl.constexpr = 2 + OUTPUT
    row = tl.program_id(0).to(tl.int64) + first_row
    node = row + num_sources
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < SIZE
    sums += row * (FORGET + COUNT) * SIZE
    inputs += row * input_stride
    i = _logistic(_sum_of_gate(sums, inputs, bias, columns, inside, 0, 0, SIZE))
    u = _tanh(_sum_of_gate(sums, inputs, bias, columns, inside, 1 + OUTPUT, 1 + OUTPUT, SIZE))
    new_c = i * u
    for k in tl.static_range(COUNT):
        block = FORGET if SHARED else FORGET + k
        f = _logistic(_sum_of_gate(sums, inputs, bias, columns, inside, FORGET + k, block, SIZE))
        child = tl.load(source + row * COUNT + k)
        new_c += f * _memory(c, child, num_nodes, columns, SIZE)
        tl.store(sums + (FORGET + k) * SIZE + columns, f, mask=inside)
    o = i
    if OUTPUT:
        o = _sum_of_gate(sums, inputs, bias, columns, inside, 1, 1, SIZE)
    at = node * SIZE + columns
    new_h, o = _finish(new_c, o, h + at, c + at, inside, OUTPUT)
    _store_gates(sums + columns, i, o, u, inside, SIZE, OUTPUT)
    _hand_on(new_h, rows, first_sent, last_sent, sent, node, columns, inside, SIZE)


@_kernel
def nary_gradient(
    dresult_h, dresult_c, rows_h, rows_c, first_sent, last_sent, sent, gates, source, c, dsums,
    first_row, num_sources, num_nodes,
    SIZE: tl.constexpr, COUNT: tl.constexpr, OUTPUT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """N-ary Tree-LSTM: gradients of the sums, and of the memories in the slots."""
    FORGET: tl.constexpr = 2 + OUTPUT
    row = tl.program_id(0).to(tl.int64) + first_row
    node = row + num_sources
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < SIZE
    at = row * (FORGET + COUNT) * SIZE + columns
    dh = _collected(dresult_h, rows_h, first_sent, last_sent, sent, node, columns, inside, SIZE)
    dc = _collected(dresult_c, rows_c, first_sent, last_sent, sent, node, columns, inside, SIZE)
    i, o, u = _load_gates(gates + at, inside, SIZE, OUTPUT)
    new_c = _read(c + node * SIZE + columns, inside)
    dc, di, do, du = _gate_gradients(dh, dc, new_c, i, o, u, OUTPUT)
    _store_gates(dsums + at, di, do, du, inside, SIZE, OUTPUT)
    for k in tl.static_range(COUNT):
        f = _read(gates + at + (FORGET + k) * SIZE, inside)
        child = tl.load(source + row * COUNT + k)
        memory = _memory(c, child, num_nodes, columns, SIZE)
        tl.store(dsums + at + (FORGET + k) * SIZE, dc * memory * f * (1 - f), mask=inside)
        tl.store(rows_c + (row * COUNT + k) * SIZE + columns, dc * f, mask=inside)


@_kernel
def child_sum(
    sums, inputs, first_edge, source, h, c, gates, rows, first_sent, last_sent, sent,
    first_row, num_sources, input_stride,
    SIZE: tl.constexpr, OUTPUT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Child-sum Tree-LSTM: each edge has sums of i, o, u and f; those of i, o, u are added up.

    Puts f in its place at the edges; stores i, o and u of the node, makes states, hands h on.
    """
    FORGET: tl.constexpr = 2 + OUTPUT
    row = tl.program_id(0).to(tl.int64) + first_row
    node = row + num_sources
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < SIZE
    inputs += row * input_stride + columns
    i, o, u = _load_gates(inputs, inside, SIZE, OUTPUT)
    input_f = _read(inputs + FORGET * SIZE, inside)
    memory = tl.zeros_like(i)
    for edge in range(tl.load(first_edge + row), tl.load(first_edge + row + 1)):
        at = edge * (FORGET + 1) * SIZE + columns
        more_i, more_o, more_u = _load_gates(sums + at, inside, SIZE, OUTPUT)
        i += more_i
        o += more_o
        u += more_u
        f = _logistic(input_f + _read(sums + at + FORGET * SIZE, inside))
        tl.store(sums + at + FORGET * SIZE, f, mask=inside)
        memory += f * _read(c + tl.load(source + edge) * SIZE + columns, inside)
    i, u = _logistic(i), _tanh(u)
    at = node * SIZE + columns
    new_h, o = _finish(i * u + memory, o, h + at, c + at, inside, OUTPUT)
    _store_gates(gates + row * FORGET * SIZE + columns, i, o, u, inside, SIZE, OUTPUT)
    _hand_on(new_h, rows, first_sent, last_sent, sent, node, columns, inside, SIZE)


@_kernel
def child_sum_gradient(
    dresult_h, dresult_c, rows_h, rows_c, first_sent, last_sent, sent, gates, sums, first_edge,
    source, c, dsums, dinputs, first_row, num_sources,
    SIZE: tl.constexpr, OUTPUT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Child-sum Tree-LSTM: gradients of inputs, of the sums and of the memories at the edges."""
    FORGET: tl.constexpr = 2 + OUTPUT
    row = tl.program_id(0).to(tl.int64) + first_row
    node = row + num_sources
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < SIZE
    dh = _collected(dresult_h, rows_h, first_sent, last_sent, sent, node, columns, inside, SIZE)
    dc = _collected(dresult_c, rows_c, first_sent, last_sent, sent, node, columns, inside, SIZE)
    i, o, u = _load_gates(gates + row * FORGET * SIZE + columns, inside, SIZE, OUTPUT)
    new_c = _read(c + node * SIZE + columns, inside)
    dc, di, do, du = _gate_gradients(dh, dc, new_c, i, o, u, OUTPUT)
    df = tl.zeros_like(dc)
    for edge in range(tl.load(first_edge + row), tl.load(first_edge + row + 1)):
        at = edge * (FORGET + 1) * SIZE + columns
        f = _read(sums + at + FORGET * SIZE, inside)
        memory = _read(c + tl.load(source + edge) * SIZE + columns, inside)
        df_of_edge = dc * memory * f * (1 - f)
        _store_gates(dsums + at, di, do, du, inside, SIZE, OUTPUT)
        tl.store(dsums + at + FORGET * SIZE, df_of_edge, mask=inside)
        tl.store(rows_c + edge * SIZE + columns, dc * f, mask=inside)
        df += df_of_edge
    dinputs += row * (FORGET + 1) * SIZE + columns
    _store_gates(dinputs, di, do, du, inside, SIZE, OUTPUT)
    tl.store(dinputs + FORGET * SIZE, df, mask=inside)
