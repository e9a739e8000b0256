/** A server-sent event; id is the value for Last-Event-ID. */
export type ServerEvent = { id: string; event: string; data: unknown };

const encoder = new TextEncoder();
const heartbeatMs = 15_000;
const maxQueuedBytes = 256 * 1024;
const open = new Set<EventStream>();
let heart: ReturnType<typeof setInterval> | undefined;

export const encodeEvent = ({ id, event, data }: ServerEvent) =>
  encoder.encode(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);

/** A streaming response. A reader that stops reading is disconnected and can resume. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  private hasWritten = false;

  constructor(onClose: () => void = () => {}) {
    const ended = () => {
      this.forget();
      onClose();
    };
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        cancel: ended,
      },
      new ByteLengthQueuingStrategy({ highWaterMark: maxQueuedBytes }),
    );
    this.onClose = ended;
    open.add(this);
    heart ??= setInterval(sendHeartbeats, heartbeatMs);
  }

  private readonly onClose: () => void;

  get isOpen(): boolean {
    return this.controller !== undefined;
  }

  /** Whether to wait with further events until more was read. */
  get isFull(): boolean {
    return (this.controller?.desiredSize ?? 0) <= 0;
  }

  write(chunk: Uint8Array): void {
    this.controller?.enqueue(chunk);
    this.hasWritten = true;
  }

  /** A comment line, which keeps proxies from closing an idle connection. Closes if nothing was read since the last. */
  beat(): void {
    if (!this.isFull) this.write(encoder.encode(": still here\n\n"));
    else if (!this.hasWritten) this.close();
    this.hasWritten = false;
  }

  close(): void {
    const { controller } = this;
    if (!controller) return;
    this.onClose();
    controller.close();
  }

  private forget(): void {
    this.controller = undefined;
    open.delete(this);
    if (open.size === 0) {
      clearInterval(heart);
      heart = undefined;
    }
  }
}

function sendHeartbeats(): void {
  for (const stream of [...open]) stream.beat();
}

export function closeStreams(): void {
  for (const stream of [...open]) stream.close();
}
