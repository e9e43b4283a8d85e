// scryptROMix of RFC 7914: the part of scrypt that Python would take half a minute for.
// Python in the browser is built without OpenSSL, and so without hashlib.scrypt; see tryit.py.

const turned = (value, by) => (value << by) | (value >>> (32 - by));

function quarter(x, a, b, c, d) {
  x[b] ^= turned(x[a] + x[d], 7);
  x[c] ^= turned(x[b] + x[a], 9);
  x[d] ^= turned(x[c] + x[b], 13);
  x[a] ^= turned(x[d] + x[c], 18);
}

// Salsa20 with eight rounds, in place.
function salsa(x, before) {
  before.set(x);
  for (let round = 0; round < 8; round += 2) {
    for (let i = 0; i < 4; i += 1) quarter(x, 5 * i, (5 * i + 4) % 16, (5 * i + 8) % 16, (5 * i + 12) % 16);
    for (let i = 0; i < 4; i += 1) {
      const row = 4 * i;
      quarter(x, row + i, row + ((i + 1) % 4), row + ((i + 2) % 4), row + ((i + 3) % 4));
    }
  }
  for (let i = 0; i < 16; i += 1) x[i] += before[i];
}

// block: Uint8Array of 128 r bytes; n: a power of two. Returns as many bytes.
export function romix(block, n, r) {
  const words = 32 * r;
  const given = new DataView(block.buffer, block.byteOffset, block.byteLength);
  const x = Uint32Array.from({ length: words }, (_, i) => given.getUint32(4 * i, true));
  const next = new Uint32Array(words), part = new Uint32Array(16), before = new Uint32Array(16);

  function mix() {
    part.set(x.subarray(words - 16));
    for (let i = 0; i < 2 * r; i += 1) {
      for (let k = 0; k < 16; k += 1) part[k] ^= x[16 * i + k];
      salsa(part, before);
      next.set(part, 16 * ((i >> 1) + (i % 2 ? r : 0))); // even parts first, then odd ones
    }
    x.set(next);
  }

  const kept = new Uint32Array(n * words);
  for (let i = 0; i < n; i += 1) {
    kept.set(x, i * words);
    mix();
  }
  for (let i = 0; i < n; i += 1) {
    const from = (x[words - 16] & (n - 1)) * words;
    for (let k = 0; k < words; k += 1) x[k] ^= kept[from + k];
    mix();
  }
  const out = new DataView(new ArrayBuffer(4 * words));
  x.forEach((word, i) => out.setUint32(4 * i, word, true));
  return new Uint8Array(out.buffer);
}
