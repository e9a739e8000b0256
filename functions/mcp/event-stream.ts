/** A server-sent event; id is the value for Last-Event-ID. */
export type ServerEvent = { id: string; event: string; data: unknown };

const encoder = new TextEncoder();
const heartbeatMs = 15_000;
const maxQueued = 1_000;
const open = new Set<EventStream>();
let heart: ReturnType<typeof setInterval> | undefined;

/** A streaming response. A slow reader is disconnected and can resume. */
export class EventStream {
  readonly body: ReadableStream<Uint8Array>;
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined;

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
      { highWaterMark: maxQueued },
    );
    this.onClose = ended;
    open.add(this);
    heart ??= setInterval(sendHeartbeats, heartbeatMs);
  }

  private readonly onClose: () => void;

  get isOpen(): boolean {
    return this.controller !== undefined;
  }

  send({ id, event, data }: ServerEvent): void {
    this.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  /** A comment line, which keeps proxies from closing an idle connection. */
  comment(text: string): void {
    this.write(`: ${text}\n\n`);
  }

  close(): void {
    const { controller } = this;
    if (!controller) return;
    this.onClose();
    controller.close();
  }

  private write(text: string): void {
    if (!this.controller) return;
    this.controller.enqueue(encoder.encode(text));
    if ((this.controller.desiredSize ?? 0) <= 0) this.close();
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
  for (const stream of open) stream.comment("still here");
}

export function closeStreams(): void {
  for (const stream of [...open]) stream.close();
}
