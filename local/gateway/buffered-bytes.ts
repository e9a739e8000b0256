import type { GatewayLimits } from "./limits.ts";

/** What holds bytes until it is closed: a response, or the answer of a function. */
export interface Holder {
  once(event: "close", listener: () => void): unknown;
  destroy(): unknown;
}

/** Counts bytes of bodies and answers that are in memory, here or in a function. */
export class BufferedBytes {
  /** The oldest of an address first. */
  #of = new Map<string, { bytes: number; holders: Map<Holder, number> }>();
  #total = 0;

  constructor(private readonly limits: Pick<GatewayLimits, "heldBytes" | "heldBytesPerAddress">) {}

  /**
   * Returns false above the limit of the address; otherwise counts the bytes until the holder is closed. Above the
   * limit of all, the oldest holders of the address that holds most are closed, so that few cannot keep out others.
   */
  hold(address: string, bytes: number, holder: Holder): boolean {
    const { heldBytes, heldBytesPerAddress } = this.limits;
    const own = (this.#of.get(address)?.bytes ?? 0) + bytes;
    if (own > heldBytesPerAddress) return false;
    while (this.#total + bytes > heldBytes) {
      const [most, entry] = this.#most();
      if (!entry || most === address || entry.bytes <= own) return false;
      const [oldest] = entry.holders.keys();
      if (!oldest) return false;
      this.#release(most, oldest);
      oldest.destroy();
    }
    this.#add(address, bytes, holder);
    holder.once("close", () => this.#release(address, holder));
    return true;
  }

  #most() {
    let most: [string, { bytes: number; holders: Map<Holder, number> } | undefined] = ["", undefined];
    for (const entry of this.#of) if (entry[1].bytes > (most[1]?.bytes ?? 0)) most = entry;
    return most;
  }

  #add(address: string, bytes: number, holder: Holder): void {
    const entry = this.#of.get(address) ?? { bytes: 0, holders: new Map() };
    this.#of.set(address, entry);
    entry.holders.set(holder, (entry.holders.get(holder) ?? 0) + bytes);
    entry.bytes += bytes;
    this.#total += bytes;
  }

  #release(address: string, holder: Holder): void {
    const entry = this.#of.get(address);
    const bytes = entry?.holders.get(holder);
    if (!entry || bytes === undefined) return;
    entry.holders.delete(holder);
    entry.bytes -= bytes;
    this.#total -= bytes;
    if (entry.holders.size === 0) this.#of.delete(address);
  }
}
