// Runs in every document before its own scripts: the same chances and no motion in each session.
(() => {
  const stream = (state) => () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const chance = stream(SEED);
  const bits = stream(~SEED);
  Math.random = () => (chance() * 2097152 + (chance() >>> 11)) / 9007199254740992;
  if (self.Crypto) {
    Crypto.prototype.getRandomValues = function (array) {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
      for (let i = 0; i < bytes.length; i += 1) bytes[i] = bits() & 255;
      return array;
    };
    Crypto.prototype.randomUUID = function () {
      const hex = [0, 0, 0, 0].map(() => bits().toString(16).padStart(8, "0")).join("");
      const variant = "89ab"[bits() & 3];
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
    };
  }
  // Shortened and not removed: pages wait for the events that end an animation.
  const still = new CSSStyleSheet();
  still.replaceSync(`*, *::before, *::after {
    animation-duration: 1ms !important; animation-delay: 0s !important;
    animation-iteration-count: 1 !important;
    transition-duration: 1ms !important; transition-delay: 0s !important;
    scroll-behavior: auto !important; caret-color: transparent !important;
  }`);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, still];
})();
