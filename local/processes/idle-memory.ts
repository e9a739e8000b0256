import process from "node:process";
import { setInterval } from "node:timers";

// Collects garbage in a process that waits: V8 leaves what the start and the last requests used until it needs the space.
// Needs V8's flag --expose-gc.

const everyMs = 10_000;
const quietMs = 200;
const worthBytes = 2e6;

const collect = (globalThis as { gc?: (options: object) => void }).gc;
let kept = 0;
let cpu = process.cpuUsage();

function collectIfQuiet(): void {
  const { user, system } = process.cpuUsage(cpu);
  if (user + system < quietMs * 1000 && process.memoryUsage().heapUsed > kept + worthBytes) {
    collect?.({ type: "major", execution: "sync", flavor: "last-resort" });
    kept = process.memoryUsage().heapUsed;
  }
  cpu = process.cpuUsage();
}

if (collect) setInterval(collectIfQuiet, everyMs).unref();
