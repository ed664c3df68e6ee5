// The engine in a worker: its module is compiled once, and each run has a memory of its own.
const WORKER_SOURCE = `"use strict";
let compiled = null;
let shown = 0;
onmessage = async ({ data }) => {
  if (data.engine) { compiled = WebAssembly.compile(data.engine); compiled.catch(() => {}); return; }
  try {
    let last = 0;
    const report_progress = (share) => {
      const now = performance.now();
      if (now - last > 60) { last = now; postMessage({ number: data.number, progress: share }); }
    };
    const { exports } = await WebAssembly.instantiate(await compiled, { env: { report_progress } });
    const request = new TextEncoder().encode(data.network);
    const start = exports.reserve(request.length);
    new Uint8Array(exports.memory.buffer, start, request.length).set(request);
    let ended = false;
    let failure = "";
    try { ended = Boolean(exports.run(BigInt(data.seed))); } catch (error) { failure = String(error); }
    const from = exports.answer_start(), length = exports.answer_length();
    const answer = new Uint8Array(exports.memory.buffer, from, length).slice();
    if (ended) postMessage({ number: data.number, answer }, [answer.buffer]);
    else postMessage({ number: data.number, failure: new TextDecoder().decode(answer) || failure });
  } catch (error) {
    postMessage({ number: data.number, failure: String(error) });
  }
};`;

class StoppedRun extends Error {}

class PageEngine {
  constructor(bytes) {
    this.bytes = bytes;
    this.number = 0;
    this.waiting = new Map();
    this.address = URL.createObjectURL(new Blob([WORKER_SOURCE], { type: "text/javascript" }));
    this.startWorker();
  }

  startWorker() {
    this.worker = new Worker(this.address);
    this.worker.postMessage({ engine: this.bytes });
    this.worker.onmessage = ({ data }) => {
      const run = this.waiting.get(data.number);
      if (!run) return;
      if (data.progress !== undefined) { run.progress(data.progress); return; }
      this.waiting.delete(data.number);
      if (data.answer) run.resolve(data.answer); else run.reject(new Error(data.failure));
    };
    this.worker.onerror = (event) => this.endAll(new Error(event.message || "the worker did not start"));
  }

  // Runs a network, an object, with a seed: the answer of the engine's module.
  run(network, seed, progress) {
    const number = ++this.number;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject, progress });
      this.worker.postMessage({ number, network: JSON.stringify(network), seed });
    });
  }

  stop() {
    this.worker.terminate();
    this.endAll(new StoppedRun());
    this.startWorker();
  }

  endAll(reason) {
    const runs = [...this.waiting.values()];
    this.waiting.clear();
    for (const run of runs) run.reject(reason);
  }
}

async function unpackHolder(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent.trim()), (sign) => sign.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}
