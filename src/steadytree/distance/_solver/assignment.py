r"""The assignment problem of eq. (distance), exact in whole numbers, compiled by numba.

Match each of n rows (the smaller tree's paths) to its own column out of m >= n (the larger
tree's) at least total cost. Shortest augmenting paths with dual variables u, v; what makes
it quick here:

- A start from the columns. Rows compete for the same few columns (every path wants the
  widest partner), so row minima leave nearly all rows free. Column minima spread well: the
  columns whose minimum is among the smallest get :math:`v_j = \min_i c_{ij} - t < 0`, with
  t near the n-th smallest minimum.
- A small core. Only columns with v < 0 or a partner are scanned; of all others a row needs
  just the cheapest, its *exit*. The core has about n columns however large m is.
- An unmatched column must end with v = 0. Where the start set v < 0 too boldly, a search
  from that column (over the core, transposed for it) gives it a row or raises v to 0.
- Scans without branches: costs are multiples of 2**shift, and the column number in the low
  bits turns "where is the minimum" into "what is the minimum". With ``shift=0`` (very
  large trees or weights) the place is looked up.

The argument lists are long and repeat each other on purpose: gathered in one tuple, with the
loops that open ``_auction`` and ``_start`` shared, small trees took 5 % longer.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

from steadytree.distance._solver.pack import LANES
from steadytree.distance._solver.searches import (
    COLUMN,
    DUAL_U,
    DUAL_V,
    EXIT,
    EXIT_AT,
    FAR,
    ORIGINAL,
    OUTSIDE,
    PACKED_U,
    PACKED_V,
    REACH,
    ROW,
    TREE,
    compiled,
    find_exit,
    inlined,
    join_core,
    lower,
    match_rows,
    minimum,
    place_reduced,
    settle_columns,
    signed,
    unsigned,
)

# Share of n whose column minima are below the start's threshold: more matches at once,
# but more columns that must be raised again. Measured flat between 0.8 and 1.
CORE_SHARE = 0.9
# From this many rows on, an auction improves the start: it halves the cells that the
# searches look at in trees of 600 leaves and gains nothing below 100.
AUCTION_FROM = 96


@compiled
def _threshold(mem, m, wanted):
    """Return t so that about (and at most) ``wanted`` of the column minima are below it."""
    low, high = mem[0], mem[0]
    for j in range(1, m):
        x = mem[j]
        low = x if x < low else low
        high = x if x > high else high
    for _ in range(12):
        middle = (low + high) >> 1
        below = signed(0)
        for j in range(m):
            below += signed(mem[j] < middle)
        if below > wanted:
            high = middle
        else:
            low = middle
            if below == wanted:
                break
    return low


@compiled
def _split(mem, width, stride, m, limit, mask):
    """Columns with a minimum below the limit form the core; its size."""
    v, original, outside = DUAL_V * width, ORIGINAL * width, OUTSIDE * width
    size = signed(0)
    for j in range(m):
        x = mem[j]
        if x < limit:
            mem[original + size] = j
            mem[v + size] = x - limit
            mem[outside + j] = -FAR
            size += 1
        else:
            mem[outside + j] = -(j & mask)
    for j in range(m, stride):
        mem[outside + j] = -FAR
    return size


@compiled
def _gather(mem, width, cost, stride, core, pitch, n, size, padded):
    """Copy the core's columns, by four rows."""
    original = ORIGINAL * width
    for i in range(0, n, 4):
        i1, i2, i3 = min(i + 1, n - 1), min(i + 2, n - 1), min(i + 3, n - 1)
        c0, c1 = cost + i * stride, cost + i1 * stride
        c2, c3 = cost + i2 * stride, cost + i3 * stride
        t0, t1, t2, t3 = core + i * pitch, core + i1 * pitch, core + i2 * pitch, core + i3 * pitch
        for a in range(size):
            j = mem[unsigned(original + a)]
            mem[unsigned(t0 + a)] = mem[unsigned(c0 + j)]
            mem[unsigned(t1 + a)] = mem[unsigned(c1 + j)]
            mem[unsigned(t2 + a)] = mem[unsigned(c2 + j)]
            mem[unsigned(t3 + a)] = mem[unsigned(c3 + j)]
        for k in range(i, min(i + 4, n)):
            for a in range(size, padded):
                mem[core + k * pitch + a] = 0


@compiled
def _auction(mem, width, cost, stride, table, pitch, n, size, shift, step):
    """Rows bid for columns until each holds one; lowers v, and the core may grow.

    A bid lowers v of the cheapest column to where the second cheapest is as good, and by
    ``step`` more, which keeps rows from taking turns at ties. Only the duals are kept: they
    are close to the best ones, and the exact searches take over from there.
    """
    mask = (signed(1) << shift) - 1
    v, packed_v, row_of = DUAL_V * width, PACKED_V * width, ROW * width
    way_out, exit_at, outside = EXIT * width, EXIT_AT * width, OUTSIDE * width
    waiting = TREE * width
    padded = (size + (LANES - 1)) & -LANES
    for a in range(size):
        mem[packed_v + a] = mem[v + a] - (a & mask)
        mem[row_of + a] = -1
    for a in range(size, padded):
        mem[packed_v + a] = -FAR
    for i in range(n):
        mem[waiting + i] = n - 1 - i
    count = signed(n)
    bids = 20 * n
    while count > 0 and bids > 0:
        bids -= 1
        count -= 1
        i = mem[waiting + count]
        at = table + i * pitch
        key = minimum(mem, at, packed_v, padded)
        value = (key >> shift) << shift
        leave = mem[way_out + i]
        if leave < value and mem[outside + mem[exit_at + i]] == -FAR:
            leave = find_exit(mem, width, cost, stride, i, shift)
        if leave < value:
            a = size
            join_core(mem, width, cost, stride, table, pitch, n, size, i, mask)
            size += 1
            padded = (size + (LANES - 1)) & -LANES
            second = min(value, find_exit(mem, width, cost, stride, i, shift))
            value = leave
        else:
            a = key & mask if shift > 0 else place_reduced(mem, at, packed_v, padded, key)
            mem[packed_v + a] = -FAR
            key = minimum(mem, at, packed_v, padded)
            second = min((key >> shift) << shift, leave)
        # Far below any price that helps, but safe from overflow.
        dual = max(mem[v + a] - (second - value) - step, -(FAR >> 2))
        mem[v + a] = dual
        mem[packed_v + a] = dual - (a & mask)
        loser = mem[row_of + a]
        mem[row_of + a] = i
        if loser >= 0:
            mem[waiting + count] = loser
            count += 1
    return size


@compiled
def _start(mem, width, cost, stride, table, pitch, n, size, padded, shift, square):
    """Row duals; rows take their cheapest column if free, then columns their next row."""
    mask = (signed(1) << shift) - 1
    u, v, packed_u, packed_v = DUAL_U * width, DUAL_V * width, PACKED_U * width, PACKED_V * width
    row_of, column_of = ROW * width, COLUMN * width
    way_out, exit_at, outside = EXIT * width, EXIT_AT * width, OUTSIDE * width
    for a in range(size):
        mem[packed_v + a] = mem[v + a] - (a & mask)
        mem[row_of + a] = -1
    for a in range(size, padded):
        mem[packed_v + a] = -FAR
    for i in range(n):
        at = table + i * pitch
        key = minimum(mem, at, packed_v, padded)
        value = (key >> shift) << shift
        mem[column_of + i] = -1
        leave = mem[way_out + i]
        if leave < value and mem[outside + mem[exit_at + i]] == -FAR:
            leave = find_exit(mem, width, cost, stride, i, shift)
        if leave < value:
            value = leave
        else:
            a = key & mask if shift > 0 else place_reduced(mem, at, packed_v, padded, key)
            if mem[row_of + a] < 0:
                mem[row_of + a] = i
                mem[column_of + i] = a
        mem[u + i] = value
        mem[packed_u + i] = value - (i & mask)
    # The cheapest row of every column, all columns at once; two buffers take turns.
    source, into = REACH * width, (REACH + 1) * width
    for a in range(padded):
        mem[source + a] = FAR
    for i in range(n):
        lower(mem, table + i * pitch, mem[packed_u + i], source, into, padded)
        source, into = into, source
    for a in range(size):
        if mem[row_of + a] < 0 and (square or mem[v + a] < 0):
            key = mem[source + a]
            value = (key >> shift) << shift
            if square or value < 0:
                i = key & mask
                if shift == 0:
                    i = signed(0)
                    while mem[table + i * pitch + a] - mem[u + i] != key:
                        i += 1
                if mem[column_of + i] < 0:
                    mem[column_of + i] = a
                    mem[row_of + a] = i
            else:
                value = signed(0)
            mem[v + a] = value
            mem[packed_v + a] = value - (a & mask)


@inlined
def solve_rectangular(mem, width, cost, stride, core, flip, n, m, shift):
    """Least total of an assignment of n rows to m >= n columns, divided by 2**shift.

    Parameters
    ----------
    mem : int64 array
        Its first m numbers are the column minima of the costs. On return the columns of
        the rows are at ``COLUMN * width``, and from two rows on their duals at
        ``DUAL_U * width``.
    width : int
        At least max(n, m) + 2 * LANES.
    cost, stride : int
        Row i of the costs is at ``cost + i * stride``: multiples of 2**shift below 2**59
        in size; stride is a multiple of LANES from m on, the padding holds anything below
        2**59.
    core, flip : int
        Where the core and its transpose may be put, ``(n + 2 * LANES) * (m + 2 * LANES)`` each.
    n, m, shift : int
        shift = 0, or 2**shift >= max(n, m).
    """
    column_of = COLUMN * width
    if n == 1:
        best = mem[0]
        mem[column_of] = 0
        for j in range(1, m):
            if mem[j] < best:
                best = mem[j]
                mem[column_of] = j
        return best >> shift
    mask = (signed(1) << shift) - 1
    square = n == m
    compact = m > 12 and 5 * m > 6 * n
    limit = signed(0)
    if not square:
        limit = (_threshold(mem, m, signed(CORE_SHARE * n)) >> shift) << shift
    if compact:
        size = _split(mem, width, stride, m, limit, mask)
        padded = (size + (LANES - 1)) & -LANES
        pitch = stride if n >= AUCTION_FROM else (min(m, size + n) + (LANES - 1)) & -LANES
        table = core
        _gather(mem, width, cost, stride, core, pitch, n, size, padded)
    else:
        # Nearly all columns: they are their own core.
        size, padded, pitch, table = m, stride, stride, cost
        for j in range(m):
            x = mem[j]
            mem[DUAL_V * width + j] = x if square else (x - limit if x < limit else 0)
            mem[ORIGINAL * width + j] = j
    # No column outside the core costs less than the limit. That will do as a row's exit until
    # it matters: the place after the last column counts as inside, so it is then looked for.
    mem[OUTSIDE * width + width - 1] = -FAR if compact else 0
    for i in range(n):
        mem[EXIT * width + i] = limit if compact else FAR
        mem[EXIT_AT * width + i] = width - 1
    if n >= AUCTION_FROM:
        low, high = mem[0], mem[0]
        for j in range(1, m):
            low, high = min(low, mem[j]), max(high, mem[j])
        # A small part of the spread; of a square problem, where minima spread less, a larger.
        step = max((high - low) >> (shift + (5 if square else 6)), 1) << shift
        size = _auction(mem, width, cost, stride, table, pitch, n, size, shift, step)
        padded = (size + (LANES - 1)) & -LANES
    _start(mem, width, cost, stride, table, pitch, n, size, padded, shift, square)
    size = match_rows(mem, width, cost, stride, table, pitch, n, size, shift)
    if not square:
        settle_columns(mem, width, table, pitch, flip, n, size, shift)
    total = signed(0)
    for i in range(n):
        a = mem[column_of + i]
        total += mem[table + i * pitch + a] >> shift
        mem[column_of + i] = mem[ORIGINAL * width + a]
    return total


def index_bits(columns: int, largest: float) -> int:
    """Low bits that hold a column number, or 0 where costs leave no room for them.

    Searches add up to four costs; the sum must stay below 2**61.
    """
    bits = int(columns - 1).bit_length()
    return bits if bits <= 12 and 4 * largest * 2.0**bits < 2.0**61 else 0
