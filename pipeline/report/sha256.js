"use strict";
// sha256 of bytes as hex digits. The browser's own is missing where a page is served without encryption.
const sha256 = (() => {
  const fraction = (root) => Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
  const primes = [];
  for (let n = 2; primes.length < 64; n++) if (primes.every((prime) => n % prime)) primes.push(n);
  const rounds = primes.map((prime) => fraction(Math.cbrt(prime)));
  const turn = (word, by) => (word >>> by) | (word << (32 - by));
  const padded = (bytes) => {
    const data = new DataView(new ArrayBuffer(((bytes.length + 72) >> 6) << 6));
    bytes.forEach((byte, place) => data.setUint8(place, byte));
    data.setUint8(bytes.length, 0x80);
    data.setUint32(data.byteLength - 8, Math.floor(bytes.length / 2 ** 29));
    data.setUint32(data.byteLength - 4, bytes.length << 3);
    return data;
  };
  const schedule = (data, start) => {
    const words = Array.from({ length: 16 }, (_, n) => data.getInt32(start + 4 * n));
    for (let n = 16; n < 64; n++) {
      const [a, b] = [words[n - 15], words[n - 2]];
      const low = turn(a, 7) ^ turn(a, 18) ^ (a >>> 3), high = turn(b, 17) ^ turn(b, 19) ^ (b >>> 10);
      words.push((words[n - 16] + low + words[n - 7] + high) | 0);
    }
    return words;
  };
  const mix = (state, words) => {
    let [a, b, c, d, e, f, g, h] = state;
    words.forEach((word, n) => {
      const first = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + rounds[n] + word;
      const second = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    });
    return [a, b, c, d, e, f, g, h].map((value, n) => (state[n] + value) | 0);
  };
  return (bytes) => {
    const data = padded(bytes);
    let state = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
    for (let start = 0; start < data.byteLength; start += 64) state = mix(state, schedule(data, start));
    return state.map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
  };
})();
